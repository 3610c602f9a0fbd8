// LogitNorm (Wei et al. 2022): a loss of z / (τ ‖z‖), so that confidence cannot be bought by the length of the logits.
// It acts in training only; the exported graph takes the softmax of the plain logits.
import { ConfigError } from '#core';
import { rescaledRow } from './rescaled-row.ts';
import type { ClassLoss } from './types.ts';

/** Added to the norm, so that logits of 0 give a gradient and not 0 / 0. */
const EPS = 1e-7;

/**
 * @param classes C
 * @param temperature τ > 0; 0.04 is the value of the paper
 */
export function withLogitNorm(loss: ClassLoss, classes: number, temperature: number): ClassLoss {
  if (!(temperature > 0 && Number.isFinite(temperature))) {
    throw new ConfigError(`the temperature of LogitNorm is ${temperature}, expected a number above 0`, {
      hint: '0.04 is the usual value; leave it out to train without LogitNorm',
    });
  }
  const scaled = new Float64Array(classes);
  const inner = new Float64Array(classes);
  return {
    name: loss.name,
    weightFrozen: loss.weightFrozen,
    rowInto(row) {
      const { logits, offset, stride, gradient, gradientOffset, gradientStride } = row;
      let squares = 0;
      for (let index = 0; index < classes; index++) squares += logits[offset + index * stride]! ** 2;
      const norm = Math.sqrt(squares);
      const divisor = temperature * (norm + EPS);
      for (let index = 0; index < classes; index++)
        scaled[index] = logits[offset + index * stride]! / divisor;
      const result = rescaledRow(loss, row, scaled, inner);
      let along = 0;
      for (let index = 0; index < classes; index++) along += inner[index]! * logits[offset + index * stride]!;
      const pull = norm > 0 ? along / (norm * (norm + EPS)) : 0;
      for (let index = 0; index < classes; index++) {
        gradient[gradientOffset + index * gradientStride] =
          (inner[index]! - pull * logits[offset + index * stride]!) / divisor;
      }
      return result;
    },
  };
}
