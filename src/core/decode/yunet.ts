// YuNet faces: class, objectness and box in three outputs per stride; the score is their geometric mean.
import type { YunetLayout } from '../head-layout.ts';
import type { CandidateBuffer } from './candidate-buffer.ts';
import type { PreparedFloor } from './floor.ts';
import { type HeadReader, PLAIN } from './head-reader.ts';
import { floatsOf } from './outputs.ts';

type YunetLevel = YunetLayout['levels'][number];

interface YunetMaps {
  readonly cls: Float32Array;
  readonly obj: Float32Array;
  readonly bbox: Float32Array;
}

export function createYunetReader(layout: YunetLayout): HeadReader {
  return {
    ...PLAIN,
    read(outputs, floor, into) {
      let firstAnchor = 0;
      let dropped = 0;
      for (const level of layout.levels) {
        const cells = level.columns * level.rows;
        const maps = {
          cls: floatsOf(outputs, level.cls, [1, cells, 1]),
          obj: floatsOf(outputs, level.obj, [1, cells, 1]),
          bbox: floatsOf(outputs, level.bbox, [1, cells, 4]),
        };
        dropped += readLevel(level, firstAnchor, maps, floor, into);
        firstAnchor += cells;
      }
      return dropped;
    },
  };
}

function readLevel(
  { columns, rows, stride }: YunetLevel,
  firstAnchor: number,
  { cls, obj, bbox }: YunetMaps,
  floor: PreparedFloor,
  into: CandidateBuffer,
): number {
  let dropped = 0;
  for (let cell = 0; cell < columns * rows; cell++) {
    const product = cls[cell]! * obj[cell]!;
    if (!Number.isFinite(product)) {
      dropped++;
      continue;
    }
    const score = Math.fround(Math.sqrt(Math.min(1, Math.max(0, product))));
    if (!floor.passes(0, score)) continue;
    into.place(firstAnchor + cell, 0, score);
    const column = cell % columns;
    const row = (cell - column) / columns;
    const first = 4 * cell;
    const kept = into.keepCenter(
      (column + bbox[first]!) * stride,
      (row + bbox[first + 1]!) * stride,
      Math.exp(bbox[first + 2]!) * stride,
      Math.exp(bbox[first + 3]!) * stride,
    );
    if (!kept) dropped++;
  }
  return dropped;
}
