// The class branch by itself: at the anchors that lie on an object, is the class as sure as it is right, and how wide and
// how long are its logits?
import { classificationCalibration, iou, softmaxTemperature } from 'edge-detect/core';
import type { LabelledPicture } from 'edge-detect/data';
import type { Figures } from '../common/seeded-tables.ts';
import type { HeadRows, PictureRows } from './network.ts';
import { normOf, probabilitiesOf } from './row-maps.ts';

/** An anchor whose box lies on a labelled object. */
export interface ObjectAnchor {
  readonly path: string;
  readonly anchor: number;
  readonly classId: number;
}

/** Least IoU of the anchor's box with the object, and most anchors an object has. */
const LEAST_IOU = 0.5;
const MOST_ANCHORS = 10;

/** The boxes are the host's in every head, so that all heads are judged by the same rows. */
export function objectAnchors(pictures: readonly LabelledPicture[], rows: HeadRows): readonly ObjectAnchor[] {
  return pictures.flatMap((picture) => {
    const found = rows.get(picture.path);
    return found === undefined ? [] : anchorsOfPicture(picture, found);
  });
}

function anchorsOfPicture({ path, objects }: LabelledPicture, rows: PictureRows): readonly ObjectAnchor[] {
  const { boxes, letterbox } = rows;
  const { frame, scaleX, scaleY, padLeft, padTop } = letterbox;
  const best = new Map<number, { readonly overlap: number; readonly classId: number }>();
  for (const { crowd, difficult, classId, x1, y1, x2, y2 } of objects) {
    if (crowd || difficult) continue;
    const truth = {
      x1: x1 * frame.width * scaleX + padLeft,
      y1: y1 * frame.height * scaleY + padTop,
      x2: x2 * frame.width * scaleX + padLeft,
      y2: y2 * frame.height * scaleY + padTop,
    };
    const overlaps: { readonly anchor: number; readonly overlap: number }[] = [];
    for (let anchor = 0; 4 * anchor < boxes.length; anchor++) {
      const overlap = overlapWith(truth, boxes, anchor);
      if (overlap >= LEAST_IOU) overlaps.push({ anchor, overlap });
    }
    overlaps.sort((a, b) => b.overlap - a.overlap || a.anchor - b.anchor);
    for (const { anchor, overlap } of overlaps.slice(0, MOST_ANCHORS)) {
      if (overlap > (best.get(anchor)?.overlap ?? 0)) best.set(anchor, { overlap, classId });
    }
  }
  return [...best].map(([anchor, { classId }]) => ({ path, anchor, classId }));
}

interface Sides {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

function overlapWith(truth: Sides, boxes: Float32Array, anchor: number): number {
  const [x1, y1, x2, y2] = [0, 1, 2, 3].map((side) => boxes[4 * anchor + side]!) as [
    number,
    number,
    number,
    number,
  ];
  // Most anchors lie elsewhere: this is asked for millions of pairs.
  if (x2 <= truth.x1 || x1 >= truth.x2 || y2 <= truth.y1 || y1 >= truth.y2) return 0;
  return iou(truth, { x1, y1, x2, y2 });
}

/** Logits of the anchors, float32[M, C]. */
export function rowsAt(
  anchors: readonly ObjectAnchor[],
  classCount: number,
  logitsOf: (path: string) => Float32Array,
): Float32Array {
  const out = new Float32Array(anchors.length * classCount);
  anchors.forEach(({ path, anchor }, place) => {
    const from = anchor * classCount;
    out.set(logitsOf(path).subarray(from, from + classCount), place * classCount);
  });
  return out;
}

/** Bins of the paper, and those of the script that sums up its tables. */
const BINS = 15;
const FEWER_BINS = 10;

/**
 * @param logits float32[M, C]
 * @returns nothing but nulls where there is no anchor
 */
export function classFigures(logits: Float32Array, labels: readonly number[], classCount: number): Figures {
  const probabilities = probabilitiesOf(logits, classCount);
  const measured = classificationCalibration(probabilities, labels, { classCount, bins: BINS });
  const fewer = classificationCalibration(probabilities, labels, { classCount, bins: FEWER_BINS });
  const widths = rowWidths(logits, classCount);
  return {
    range: meanOf(widths.ranges),
    norm: meanOf(widths.norms),
    'norm without mean': meanOf(widths.centredNorms),
    accuracy: measured === undefined ? null : accuracyOf(probabilities, labels, classCount),
    ece: measured?.topClass.error ?? null,
    'ece 10 bins': fewer?.topClass.error ?? null,
    'confidence - accuracy': measured?.topClass.signed ?? null,
    nll: measured?.nll ?? null,
  };
}

/** Range, length, and length without the mean of every row. */
function rowWidths(logits: Float32Array, classCount: number) {
  const [ranges, norms, centredNorms]: [number[], number[], number[]] = [[], [], []];
  for (let offset = 0; offset < logits.length; offset += classCount) {
    const row = logits.subarray(offset, offset + classCount);
    const mean = row.reduce((sum, logit) => sum + logit, 0) / classCount;
    ranges.push(Math.max(...row) - Math.min(...row));
    norms.push(normOf(logits, offset, classCount));
    centredNorms.push(
      normOf(
        row.map((logit) => logit - mean),
        0,
        classCount,
      ),
    );
  }
  return { ranges, norms, centredNorms };
}

function accuracyOf(probabilities: Float32Array, labels: readonly number[], classCount: number): number {
  const right = labels.filter((label, row) => {
    const own = probabilities.subarray(row * classCount, (row + 1) * classCount);
    return own.indexOf(Math.max(...own)) === label;
  });
  return right.length / labels.length;
}

/** Temperature of least NLL; 1 where none is best (too few anchors). */
export function fittedTemperature(
  logits: Float32Array,
  labels: readonly number[],
  classCount: number,
): number {
  return softmaxTemperature(logits, labels, classCount) ?? 1;
}

function meanOf(values: ArrayLike<number>): number | null {
  if (values.length === 0) return null;
  let sum = 0;
  for (let at = 0; at < values.length; at++) sum += values[at]!;
  return sum / values.length;
}
