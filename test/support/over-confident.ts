// A detector whose scores are far too high, with its ground truth.
import { createRandom } from '#core';

/** One object a picture, two detections: one on it in a share of the pictures, one false; scores far too high. */
export function overConfident(pictures: number, seed: number) {
  const random = createRandom(seed);
  const truthBoxes: number[] = [];
  const found: { box: number[]; score: number }[] = [];
  for (let picture = 0; picture < pictures; picture++) {
    const [x, y] = [random.between(0, 300), random.between(0, 300)];
    truthBoxes.push(x, y, x + 60, y + 60);
    const honest = random.between(0.05, 0.9);
    const shift = random.next() < honest ? random.between(0, 15) : 500;
    found.push({ box: [x + shift, y, x + shift + 60, y + 60], score: honest ** 0.3 });
    const low = random.between(0.01, 0.1);
    found.push({ box: [900, 900, 950, 950], score: low ** 0.3 });
  }
  return {
    truth: {
      starts: Int32Array.from({ length: pictures + 1 }, (_, picture) => picture),
      boxes: Float64Array.from(truthBoxes),
      classIds: new Int32Array(pictures),
      areas: new Float64Array(pictures).fill(3600),
      kinds: new Uint8Array(pictures),
    },
    detections: {
      starts: Int32Array.from({ length: pictures + 1 }, (_, picture) => 2 * picture),
      boxes: Float64Array.from(found.flatMap(({ box }) => box)),
      classIds: new Int32Array(2 * pictures),
      scores: Float64Array.from(found, ({ score }) => score),
    },
  };
}
