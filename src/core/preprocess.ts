// The preprocessing contract of a model, and the loop that carries it out.
import type { FitPolicy } from './letterbox.ts';

export interface PreprocessContract {
  readonly fit: FitPolicy;
  readonly channels: 'rgb' | 'bgr';
  /** Per channel in the network's order: input = (value - mean) / std, with value in 0..255. */
  readonly mean: readonly [number, number, number];
  readonly std: readonly [number, number, number];
  /** Grey value of the padding in 0..255, before mean and std. */
  readonly pad: number;
}
