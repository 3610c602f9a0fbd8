// Keeps an adapted class layer from inflating its logits beyond those of a reference (Murugesan et al. 2024): the
// one-sided range penalty, and ZS-Norm, which rescales the range of a row to that of the reference.
import { ConfigError, FEWEST_SCALED_CLASSES, type LogitRange, rescaleLogits } from '#core';
import { rescaledRow } from './losses/rescaled-row.ts';
import type { ClassLoss, Numbers } from './losses/types.ts';

/**
 * Σ relu(l − max_ref) + relu(min_ref − l) over a row; adds `scale` times its slope (±1) to the gradient. The penalty
 * of a batch is λ times the MEAN over rows and classes, so `scale` is λ / (rows · C).
 */
export function addRangePenalty(
  row: { logits: Numbers; offset: number; stride: number; gradient: Numbers; scale: number },
  { least, greatest }: Readonly<LogitRange>,
  classes: number,
): number {
  const { logits, offset, stride, gradient, scale } = row;
  let excess = 0;
  for (let index = 0; index < classes; index++) {
    const at = offset + index * stride;
    const logit = logits[at]!;
    if (logit > greatest) {
      excess += logit - greatest;
      gradient[at]! += scale;
    } else if (logit < least) {
      excess += least - logit;
      gradient[at]! -= scale;
    } else if (Number.isNaN(logit)) excess = Number.NaN;
  }
  return excess;
}

/**
 * A class loss of the rescaled logits, differentiated through least and greatest logit (its gradient is orthogonal to
 * 1 and to l). Set `range` before every row.
 *
 * @throws ConfigError below three classes: with two the rescaled row is always (max_ref, min_ref) and nothing is
 * learned, with one there is no range
 */
export function withRangeNorm(loss: ClassLoss, classes: number, range: Readonly<LogitRange>): ClassLoss {
  if (classes < FEWEST_SCALED_CLASSES) {
    throw new ConfigError(
      `logit range 'zs-norm' needs at least ${FEWEST_SCALED_CLASSES} classes, found ${classes}`,
      {
        hint: "use 'penalty' or 'off': with two classes its gradient is always 0, with one there is no range",
      },
    );
  }
  const scaled = new Float64Array(classes);
  const inner = new Float64Array(classes);
  return {
    name: loss.name,
    weightFrozen: loss.weightFrozen,
    rowInto(row) {
      const { logits, offset, stride, gradient, gradientOffset, gradientStride } = row;
      const scale = rescaleLogits(scaled, { logits, offset, stride, classes }, range);
      const result = rescaledRow(loss, row, scaled, inner);
      let sum = 0;
      let along = 0;
      let lowest = 0;
      let highest = 0;
      for (let index = 0; index < classes; index++) {
        const logit = logits[offset + index * stride]!;
        if (logit < logits[offset + lowest * stride]!) lowest = index;
        if (logit > logits[offset + highest * stride]!) highest = index;
        sum += inner[index]!;
        gradient[gradientOffset + index * gradientStride] = scale * inner[index]!;
      }
      if (scale === 0) return result;
      const least = logits[offset + lowest * stride]!;
      for (let index = 0; index < classes; index++) {
        along += inner[index]! * (logits[offset + index * stride]! - least);
      }
      const stretch = (scale * along) / (logits[offset + highest * stride]! - least);
      gradient[gradientOffset + highest * gradientStride]! -= stretch;
      gradient[gradientOffset + lowest * gradientStride]! += stretch - scale * sum;
      return result;
    },
  };
}
