// A made-up evaluation of the size of COCO's validation set: seeded, with the skew of classes and the many low-scored
// boxes of a real one.
import type { DetectionTable, Random, TruthTable } from '#core';
import { createRandom, TRUTH_KIND } from '#core';

export interface SetSize {
  readonly pictures: number;
  readonly objects: number;
  readonly detections: number;
  readonly classCount: number;
}

/** What COCO val2017 has; detections as a detector leaves them at a score of .001 after suppression. */
export const COCO_SIZE: SetSize = {
  pictures: 5000,
  objects: 36_000,
  detections: 250_000,
  classCount: 80,
};

const WIDTH = 640;
const HEIGHT = 480;
const CROWD_SHARE = 0.01;
/** Detections per object that lie on it or near it; the rest lies anywhere. */
const NEAR = 3;

export interface EvaluationSet {
  readonly truth: TruthTable;
  readonly detections: DetectionTable;
  readonly classCount: number;
}

/** Equal for equal seeds. */
export function cocoSizedSet(size: SetSize = COCO_SIZE, seed = 1): EvaluationSet {
  const random = createRandom(seed);
  const truth = makeTruth(size, random);
  return { truth, detections: makeDetections(size, truth, random), classCount: size.classCount };
}

function makeTruth({ pictures, objects, classCount }: SetSize, random: Random): TruthTable {
  const starts = spread(pictures, objects, random);
  const boxes = new Float64Array(4 * objects);
  const classIds = new Int32Array(objects);
  const areas = new Float64Array(objects);
  const kinds = new Uint8Array(objects);
  for (let row = 0; row < objects; row++) {
    const [width, height] = [sideOf(WIDTH, random), sideOf(HEIGHT, random)];
    const [x, y] = [random.between(0, WIDTH - width), random.between(0, HEIGHT - height)];
    boxes.set([x, y, x + width, y + height], 4 * row);
    classIds[row] = skewedClass(classCount, random);
    areas[row] = width * height * random.between(0.5, 1);
    kinds[row] = random.next() < CROWD_SHARE ? TRUTH_KIND.crowd : TRUTH_KIND.object;
  }
  return { starts, boxes, classIds, areas, kinds };
}

function makeDetections(size: SetSize, truth: TruthTable, random: Random): DetectionTable {
  const starts = spread(size.pictures, size.detections, random);
  const boxes = new Float64Array(4 * size.detections);
  const classIds = new Int32Array(size.detections);
  const scores = new Float64Array(size.detections);
  for (let picture = 0; picture < size.pictures; picture++) {
    const first = truth.starts[picture]!;
    const objects = truth.starts[picture + 1]! - first;
    for (let row = starts[picture]!; row < starts[picture + 1]!; row++) {
      const place = row - starts[picture]!;
      const near = place < NEAR * objects;
      const object = first + (near ? place % objects : 0);
      if (near) jitterInto(boxes, 4 * row, truth.boxes.subarray(4 * object, 4 * object + 4), random);
      else strewInto(boxes, 4 * row, random);
      const sameClass = near && random.next() < 0.8;
      classIds[row] = sameClass ? truth.classIds[object]! : skewedClass(size.classCount, random);
      const score = sameClass ? random.next() : 0.4 * random.next() ** 3;
      scores[row] = Math.fround(Math.max(0.001, score));
    }
  }
  return { starts, boxes, classIds, scores };
}

/** Starts of `pictures` groups of random sizes that hold `count` rows together. */
function spread(pictures: number, count: number, random: Random): Int32Array {
  const starts = new Int32Array(pictures + 1);
  for (let row = 0; row < count; row++) starts[1 + random.integer(pictures)]!++;
  for (let picture = 0; picture < pictures; picture++) starts[picture + 1]! += starts[picture]!;
  return starts;
}

function skewedClass(classCount: number, random: Random): number {
  return Math.floor(classCount * random.next() ** 3);
}

function sideOf(limit: number, random: Random): number {
  return 8 + (limit - 16) * random.next() ** 3;
}

function jitterInto(target: Float64Array, at: number, box: Float64Array, random: Random): void {
  const [width, height] = [box[2]! - box[0]!, box[3]! - box[1]!];
  const x = box[0]! + 0.1 * width * random.normal();
  const y = box[1]! + 0.1 * height * random.normal();
  const [w, h] = [width * random.between(0.85, 1.15), height * random.between(0.85, 1.15)];
  target.set([x, y, x + w, y + h], at);
}

function strewInto(target: Float64Array, at: number, random: Random): void {
  const [w, h] = [sideOf(WIDTH, random), sideOf(HEIGHT, random)];
  const [x, y] = [random.between(0, WIDTH - w), random.between(0, HEIGHT - h)];
  target.set([x, y, x + w, y + h], at);
}
