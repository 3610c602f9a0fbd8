// Fits detector heads whose score is a distribution.
export type {
  Engine,
  EnginePlan,
  ForwardOptions,
  ForwardResult,
  ForwardState,
  Tensor,
  Tensors,
} from './engines/engine.ts';
