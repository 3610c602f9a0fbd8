// A class loss of logits that were rescaled first: what LogitNorm and the range norm have in common.
import type { ClassLoss, LogitRow, LossRow } from './types.ts';

/**
 * The loss of `scaled` with target, scale and frozen factors of `row`.
 * @param gradient receives d loss / d scaled, float64[C]; the caller carries it on to the logits of `row`
 */
export function rescaledRow(
  loss: ClassLoss,
  { target, scale, frozen }: LogitRow,
  scaled: Float64Array,
  gradient: Float64Array,
): LossRow {
  return loss.rowInto({
    logits: scaled,
    offset: 0,
    stride: 1,
    target,
    gradient,
    gradientOffset: 0,
    gradientStride: 1,
    scale,
    ...(frozen && { frozen }),
  });
}
