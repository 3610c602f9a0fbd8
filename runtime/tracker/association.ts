// Pairs tracks with boxes by overlap.
import type { Detection } from '#core';
import { createAssigner } from './assignment.ts';
import { boxOfMotionInto, type Motion } from './motion.ts';

/** What is paired of a track. */
interface Expected {
  readonly motion: Motion;
  readonly classId: number;
}

interface PairOptions {
  /** Multiply the overlap with the score of the box. */
  readonly fuse: boolean;
  /** Pairs cost 1 - overlap; only those below the limit are made. */
  readonly limit: number;
}

/** Holds buffers, so one serves many frames. */
export interface Association {
  /** The cheapest pairs, by place of the track. */
  pair<Track extends Expected>(
    tracks: readonly Track[],
    detections: readonly Detection[],
    options: PairOptions,
  ): readonly (readonly [Track, Detection])[];
}

/** @param perClass only a box of the track's class is paired with it */
export function createAssociation(perClass: boolean): Association {
  const assigner = createAssigner();
  let boxes = new Float64Array(0);
  let costs = new Float64Array(0);
  return {
    pair(tracks, detections, { fuse, limit }) {
      const [rows, columns] = [tracks.length, detections.length];
      if (rows === 0 || columns === 0) return [];
      if (boxes.length < 4 * rows) boxes = new Float64Array(8 * rows);
      if (costs.length < rows * columns) costs = new Float64Array(2 * rows * columns);
      for (let row = 0; row < rows; row++) boxOfMotionInto(boxes, row, tracks[row]!.motion);
      for (let column = 0; column < columns; column++) {
        const detection = detections[column]!;
        const weight = fuse ? detection.score : 1;
        for (let row = 0; row < rows; row++) {
          const isRival = perClass && tracks[row]!.classId !== detection.classId;
          costs[row * columns + column] = isRival ? 1 : 1 - weight * overlap(boxes, row, detection);
        }
      }
      const columnOfRow = assigner.solve({ rows, columns, values: costs }, limit);
      const pairs: (readonly [(typeof tracks)[number], Detection])[] = [];
      for (let row = 0; row < rows; row++) {
        const column = columnOfRow[row]!;
        if (column >= 0) pairs.push([tracks[row]!, detections[column]!]);
      }
      return pairs;
    },
  };
}

/** IoU in [0, 1] of row `place` and a detection; `iou` of the core wants objects, and there are thousands of pairs. */
function overlap(boxes: Float64Array, place: number, { box }: Detection): number {
  const [x1, y1, x2, y2] = [
    boxes[4 * place]!,
    boxes[4 * place + 1]!,
    boxes[4 * place + 2]!,
    boxes[4 * place + 3]!,
  ];
  const width = Math.min(x2, box.x2) - Math.max(x1, box.x1);
  const height = Math.min(y2, box.y2) - Math.max(y1, box.y1);
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  return shared / ((x2 - x1) * (y2 - y1) + (box.x2 - box.x1) * (box.y2 - box.y1) - shared);
}
