// Fits detector heads whose score is a distribution.
export type { AssignerConfig } from './assign/task-aligned.ts';
export type { WeightAverage } from './average.ts';
export type { LossTerms } from './criterion.ts';
export type {
  ClassLossConfig,
  CriterionConfig,
  LogitRangeConfig,
  LossWeights,
  QualityLossConfig,
  RangeReference,
  TargetPolicy,
} from './criterion-config.ts';
export { CRITERION_DEFAULTS, PUBLISHED_CRITERION, SMOOTHED_LABELS } from './criterion-config.ts';
export type { DistillContext, DistilledHead, DistillRequest } from './distill/distill-head.ts';
export { distillHead } from './distill/distill-head.ts';
export type { ChosenEngine, EngineRequest } from './engines/choose.ts';
export { chooseEngine } from './engines/choose.ts';
export type {
  BackwardResult,
  Engine,
  EnginePlan,
  ForwardOptions,
  ForwardResult,
  ForwardState,
  ParameterValues,
  Tensor,
  Tensors,
} from './engines/engine.ts';
export type { CacheProgress } from './features/feature-source.ts';
export type {
  ObjectFeatures,
  ObjectFeaturesContext,
  ObjectFeaturesRequest,
} from './features/object-features.ts';
export { objectFeatures } from './features/object-features.ts';
export { addRangePenalty, withRangeNorm } from './logit-range.ts';
export type { EpochEvent, RunState, TrainingEvent } from './loop.ts';
export type { SigmoidLossName } from './losses/sigmoid.ts';
export { createSigmoidLoss } from './losses/sigmoid.ts';
export type { SoftmaxLossName, SoftmaxLossOptions } from './losses/softmax.ts';
export { createSoftmaxLoss } from './losses/softmax.ts';
export { createTwoHotLoss, scorePosition } from './losses/two-hot.ts';
export type {
  ClassLoss,
  FrozenFactors,
  LogitLoss,
  LogitRow,
  LossRow,
  Numbers,
  SigmoidLoss,
} from './losses/types.ts';
export type { Optimizer, OptimizerConfig, OptimizerState } from './optimizer.ts';
export { clipGradients, createOptimizer } from './optimizer.ts';
export type { TrainRequest } from './options.ts';
export type { AugmentConfig } from './pictures/augment-config.ts';
export { createDuskPainter, drawDusk } from './pictures/dusk.ts';
export type { ResumedRun } from './run/resume.ts';
export { resumeRun } from './run/resume.ts';
export type { RunFiles } from './run/run-files.ts';
export type { RunEvent, StartFacts, TrainContext } from './train.ts';
export { trainDetector } from './train.ts';
export type { ValidationResult } from './validate.ts';
