// The range of a row of class logits, and rows rescaled to the range of a reference (Murugesan et al., 2024): what
// ZS-Norm differentiates, and what SaLS does to a finished network.

/** Least and greatest logit of a row. */
export interface LogitRange {
  least: number;
  greatest: number;
}

/** C logits of one anchor: from `offset`, step `stride`. */
export interface LogitRowView {
  readonly logits: Float32Array | Float64Array;
  readonly offset: number;
  readonly stride: number;
  readonly classes: number;
}

/** A row whose logits lie closer together has no range that could be scaled: this is the noise of float32. */
export const NO_LOGIT_RANGE = 1e-6;

/** Below three classes a rescaled row says nothing that its reference does not. */
export const FEWEST_SCALED_CLASSES = 3;

export function logitRangeInto(range: LogitRange, { logits, offset, stride, classes }: LogitRowView): void {
  range.least = logits[offset]!;
  range.greatest = range.least;
  for (let index = 1; index < classes; index++) {
    const logit = logits[offset + index * stride]!;
    if (logit < range.least) range.least = logit;
    if (logit > range.greatest) range.greatest = logit;
  }
}

/**
 * l' = (R_ref / R)(l − min l) + min_ref, written to `target` (section 3.3 of the paper). A row without range goes to the
 * centre of the reference. With `shrinkOnly` a row narrower than its reference stays as it is, and a wider one shrinks
 * around its own centre: the formula alone sharpens what the reference was surer of.
 *
 * @returns factor of the range, R_ref / R (at most 1 with `shrinkOnly`), or 0 for a row without range
 */
export function rescaleLogits(
  target: Float64Array,
  row: LogitRowView,
  { least, greatest }: Readonly<LogitRange>,
  { shrinkOnly = false }: { readonly shrinkOnly?: boolean } = {},
): number {
  const { logits, offset, stride, classes } = row;
  const own = { least: 0, greatest: 0 };
  logitRangeInto(own, row);
  const range = own.greatest - own.least;
  const ownCentre = (own.least + own.greatest) / 2;
  if (range <= NO_LOGIT_RANGE) {
    target.fill(shrinkOnly ? ownCentre : (least + greatest) / 2, 0, classes);
    return 0;
  }
  const factor = (greatest - least) / range;
  const scale = shrinkOnly ? Math.min(1, factor) : factor;
  const bottom = shrinkOnly ? ownCentre - (scale * range) / 2 : least;
  for (let index = 0; index < classes; index++) {
    target[index] = scale * (logits[offset + index * stride]! - own.least) + bottom;
  }
  return scale;
}
