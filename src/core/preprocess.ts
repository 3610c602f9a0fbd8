// The preprocessing contract of a model, and the loop that carries it out.
import type { FitPolicy, Letterbox } from './letterbox.ts';
import type { Size } from './shapes.ts';

export interface PreprocessContract {
  readonly fit: FitPolicy;
  readonly channels: 'rgb' | 'bgr';
  /** Per channel in the network's order: input = (value - mean) / std, with value in 0..255. */
  readonly mean: readonly [number, number, number];
  readonly std: readonly [number, number, number];
  /** Grey value of the padding in 0..255, before mean and std. */
  readonly pad: number;
}

/** Element type of the network's input; float16 travels as its bits. */
export type InputType = 'float32' | 'float16' | 'uint8';

/** `nchw` is planar [3, H, W], `nhwc` interleaved [H, W, 3]. */
export type InputLayout = 'nchw' | 'nhwc';

export type InputArray = Float32Array | Uint16Array | Uint8Array;

/** Fills input tensors of one model; the tables of its contract are computed once. */
export interface InputWriter {
  readonly type: InputType;
  readonly layout: InputLayout;
  /** A new array for an input of this size, filled with padding. */
  create(input: Size): InputArray;
  fillPaddingInto(target: InputArray, input: Size): void;
  /** Writes only the rectangle of the picture. @param content rgb24 [content.height, content.width, 3] */
  writeContentInto(target: InputArray, content: Uint8Array, letterbox: Letterbox): void;
}
