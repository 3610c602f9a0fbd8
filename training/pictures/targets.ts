// The ground truth of pictures side by side as the criterion reads it.
import type { Targets } from '../criterion.ts';
import type { PictureTargets } from './types.ts';

export function joinTargets(pictures: readonly PictureTargets[]): Targets {
  return {
    starts: startsOf(pictures.map(({ classIds }) => classIds.length)),
    boxes: concatenated(pictures.map(({ boxes }) => boxes)),
    classIds: Int32Array.from(pictures.flatMap(({ classIds }) => [...classIds])),
    ignoreStarts: startsOf(pictures.map(({ ignoreBoxes }) => ignoreBoxes.length / 4)),
    ignoreBoxes: concatenated(pictures.map(({ ignoreBoxes }) => ignoreBoxes)),
  };
}

function startsOf(counts: readonly number[]): Int32Array {
  const starts = new Int32Array(counts.length + 1);
  counts.forEach((count, index) => {
    starts[index + 1] = starts[index]! + count;
  });
  return starts;
}

function concatenated(parts: readonly Float32Array[]): Float32Array {
  const joined = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    joined.set(part, place);
    place += part.length;
  }
  return joined;
}
