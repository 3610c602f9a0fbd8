// Boxes whose sides are laws over whole cells (GFL, YOLOv8): distance = cell size · Σ i p_i from the cell's centre.
import type { BoxCodec, Numbers } from './types.ts';

const SIDES = 4;

export function createDflSides(bins: number): BoxCodec {
  const law = new Float64Array(bins);
  const moments = { mean: 0, total: 0 };
  function readSide(raw: Numbers, first: number, stride: number): void {
    let peak = -Infinity;
    for (let bin = 0; bin < bins; bin++) {
      const logit = raw[first + bin * stride]!;
      if (!(logit <= peak)) peak = logit;
    }
    let total = 0;
    let weighted = 0;
    for (let bin = 0; bin < bins; bin++) {
      const mass = Math.exp(raw[first + bin * stride]! - peak);
      law[bin] = mass;
      total += mass;
      weighted += bin * mass;
    }
    moments.mean = weighted / total;
    moments.total = total;
  }
  return {
    channels: SIDES * bins,
    decodeInto({ raw, offset, stride, column, row, cellPx }, target, at, variances) {
      for (let side = 0; side < SIDES; side++) {
        readSide(raw, offset + side * bins * stride, stride);
        const centre = (side & 1) === 0 ? column + 0.5 : row + 0.5;
        target[at + side] = (side < 2 ? centre - moments.mean : centre + moments.mean) * cellPx;
        if (!variances) continue;
        let variance = 0;
        for (let bin = 0; bin < bins; bin++) variance += (bin - moments.mean) ** 2 * law[bin]!;
        variances[side] = (variance / moments.total) * cellPx * cellPx;
      }
    },
    backwardInto({ raw, offset, stride, cellPx }, dCorners, scale, gradient) {
      for (let side = 0; side < SIDES; side++) {
        const first = offset + side * bins * stride;
        readSide(raw, first, stride);
        const dMean = (side < 2 ? -scale : scale) * cellPx * dCorners[side]!;
        for (let bin = 0; bin < bins; bin++) {
          gradient[first + bin * stride]! += (dMean * law[bin]! * (bin - moments.mean)) / moments.total;
        }
      }
    },
  };
}
