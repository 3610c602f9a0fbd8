// The shared kernel: pure maths on typed arrays, no I/O, no clock, no console.
export type { Box, BoxVariance, Space } from './box.ts';
export { boxArea, clipBox, iou } from './box.ts';
export type { Candidates, HeadOutputs, HeadTensor } from './candidates.ts';
export type { Decoder, DecoderOptions, ScoreFloor, ScoreLaw } from './decode/decoder.ts';
export type { Capabilities, Detection, ScoreDistribution, ScoreMixture } from './detection.ts';
export {
  ConfigError,
  DataError,
  DeviceError,
  EdgeDetectError,
  ModelError,
  SourceError,
  UsageError,
} from './errors.ts';
export type {
  BoxDistributionTap,
  CornersLayout,
  EdgeDetectLayout,
  EndToEndLayout,
  FastestDetLayout,
  GflLayout,
  HeadKind,
  HeadLayout,
  Level,
  NmsOutputsLayout,
  RawDflLayout,
  YoloV5Layout,
  YoloV8Layout,
  YoloxLayout,
  YunetLayout,
} from './head-layout.ts';
export type { FitPolicy, Letterbox } from './letterbox.ts';
export { createLetterbox, DEFAULT_FIT, toFrame, toInput, varianceToFrame } from './letterbox.ts';
export type { Postprocessed, PostprocessOptions, Postprocessor } from './postprocess.ts';
export { POSTPROCESS_DEFAULTS } from './postprocess.ts';
export type { InputArray, InputLayout, InputType, InputWriter, PreprocessContract } from './preprocess.ts';
export type { Size } from './shapes.ts';
export { formatShape } from './shapes.ts';
export type {
  BoxUncertaintySuppression,
  HardSuppression,
  SoftSuppression,
  SuppressionPolicy,
  UncertaintySuppression,
} from './suppression.ts';
export {
  BOX_UNCERTAINTY_SUPPRESSION,
  HARD_SUPPRESSION,
  SOFT_SUPPRESSION,
  suppressionRequirement,
  UNCERTAINTY_SUPPRESSION,
} from './suppression.ts';
export type {
  FixedThreshold,
  PerClassThreshold,
  Requirement,
  ScoredCandidate,
  StdThreshold,
  TailMassThreshold,
  ThresholdPolicy,
  ThresholdReach,
  VarianceThreshold,
} from './threshold.ts';
export {
  accepts,
  equivalentFixedThreshold,
  PUBLISHED_THRESHOLD,
  scoreFloor,
  thresholdOf,
  thresholdReach,
  thresholdRequirement,
  whyUnavailable,
} from './threshold.ts';
