// The first bias of the quality layer: a detector that has learnt nothing should say "almost surely no object".

/** Expectation of the quality under the first bias. */
const FIRST_EXPECTATION = 0.01;

/**
 * Logits of a law over `bins` anchors i / (bins − 1) whose expectation is 0.01: one weight x on bin 0, equal weights on
 * all others, so E = (bins / 2) / (x + bins − 1). (Equal logits everywhere, the habitual constant bias, would do nothing
 * under softmax.)
 * @returns float32[bins]
 */
export function qualityBiasInit(bins: number): Float32Array {
  const logits = new Float32Array(bins);
  logits[0] = Math.log(bins / (2 * FIRST_EXPECTATION) - bins + 1);
  return logits;
}
