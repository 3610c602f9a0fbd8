// Boxes between decoding and suppression: a struct of arrays, reused from frame to frame.

/** What a session returned under one name. float16 is widened before it comes here. */
export interface HeadTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array | Int32Array | BigInt64Array | Uint8Array;
}

/** Outputs of one run for one picture, by output name (N = 1). */
export type HeadOutputs = ReadonlyMap<string, HeadTensor>;

export interface Candidates {
  count: number;
  /** Float32[capacity * 4], x1 y1 x2 y2 in input px. */
  readonly boxes: Float32Array;
  /** Float32[capacity] in [0, 1]. */
  readonly scores: Float32Array;
  /** Int32[capacity]. */
  readonly classIds: Int32Array;
  /** Int32[capacity]: the location in the head that a candidate came from. */
  readonly anchors: Int32Array;
  /** Float32[capacity] in [0, 0.25]; absent where the head has no score distribution. */
  readonly scoreVariances?: Float32Array;
  /** Float32[capacity]: the epistemic part of `scoreVariances`; absent where the head has no dropout passes. */
  readonly scoreVariancesEpistemic?: Float32Array;
  /** Float32[capacity * 4] in input px²; absent where the head has none or nobody asked. */
  readonly boxVariances?: Float32Array;
}
