// The ground truth of the committed clips, and detections made from it with seeded faults: jitter, misses, doubtful
// scores where an object is hidden, false alarms.
import { readFileSync } from 'node:fs';
import type { Box, BoxVariance, Detection } from '#core';
import { createRandom, type Random } from '#core';
import type { Identified } from './track-metrics.ts';

export interface StreetObject extends Identified {
  readonly classId: number;
  readonly className: string;
  /** Share in [0, 1] that other things hide. */
  readonly occluded: number;
}

export interface StreetTruth {
  readonly framesPerSecond: number;
  readonly frames: readonly (readonly StreetObject[])[];
}

export function streetTruth(): StreetTruth {
  const path = new URL('../../samples/clips/street.truth.jsonl', import.meta.url);
  const [head, ...lines] = readFileSync(path, 'utf8').trim().split('\n');
  const { fps, classes } = JSON.parse(head!) as { fps: number; classes: string[] };
  const frames = lines.map((line) => {
    const { objects } = JSON.parse(line) as {
      objects: {
        class: string;
        x1: number;
        y1: number;
        x2: number;
        y2: number;
        id: number;
        occluded: number;
      }[];
    };
    return objects.map(({ class: className, id, occluded, x1, y1, x2, y2 }) => ({
      className,
      classId: classes.indexOf(className),
      id,
      occluded,
      box: { x1, y1, x2, y2 },
    }));
  });
  return { framesPerSecond: fps, frames };
}

export interface Faults {
  readonly seed: number;
  /** Share of the objects that are not found. */
  readonly misses: number;
  /** Standard deviation of an edge as a share of its side. */
  readonly jitter: number;
  /** False alarms per frame. */
  readonly alarms: number;
  /** A quarter of the edges err four times as much, and this is stated as their variance. */
  readonly unevenEdges?: 'stated' | 'unstated';
}

export function faultyDetections(
  objects: readonly StreetObject[],
  faults: Faults,
  random: Random,
): Detection[] {
  const found: Detection[] = [];
  for (const { box, classId, className, occluded } of objects) {
    if (random.next() < faults.misses) continue;
    const { shaken, variance } = shake(box, faults, random);
    const score = Math.min(0.99, Math.max(0.02, 0.85 - 0.9 * occluded + 0.1 * random.normal()));
    found.push({
      box: shaken,
      classId,
      className,
      score,
      rawScore: score,
      ...(faults.unevenEdges === 'stated' && { boxVariance: variance }),
    });
  }
  for (let alarms = faults.alarms; random.next() < alarms; alarms--) {
    const [x, y, side] = [random.between(0, 600), random.between(80, 350), random.between(10, 60)];
    const score = random.between(0.1, 0.45);
    const box = { x1: x, y1: y, x2: x + side, y2: y + side };
    found.push({ box, classId: 0, className: 'car', score, rawScore: score });
  }
  return found.sort((a, b) => b.score - a.score);
}

function shake(
  { x1, y1, x2, y2 }: Box<'frame'>,
  { jitter, unevenEdges }: Faults,
  random: Random,
): { readonly shaken: Box<'frame'>; readonly variance: BoxVariance<'frame'> } {
  const sigma = (side: number) => jitter * side * (unevenEdges !== undefined && random.next() < 0.25 ? 4 : 1);
  const [width, height] = [x2 - x1, y2 - y1];
  const sigmas = { x1: sigma(width), y1: sigma(height), x2: sigma(width), y2: sigma(height) };
  const left = x1 + sigmas.x1 * random.normal();
  const top = y1 + sigmas.y1 * random.normal();
  return {
    shaken: {
      x1: left,
      y1: top,
      x2: Math.max(left + 2, x2 + sigmas.x2 * random.normal()),
      y2: Math.max(top + 2, y2 + sigmas.y2 * random.normal()),
    },
    variance: { x1: sigmas.x1 ** 2, y1: sigmas.y1 ** 2, x2: sigmas.x2 ** 2, y2: sigmas.y2 ** 2 },
  };
}

/** All frames with faults, from one seed. */
export function faultyStreet(truth: StreetTruth, faults: Faults): readonly (readonly Detection[])[] {
  const random = createRandom(faults.seed);
  return truth.frames.map((objects) => faultyDetections(objects, faults, random));
}
