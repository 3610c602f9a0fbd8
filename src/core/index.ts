// The shared kernel: pure maths on typed arrays, no I/O, no clock, no console.
export type { AnchorTable } from './anchors.ts';
export { anchorCount, createAnchorTable, levelsFor, levelsWithCount, STRIDE_SETS } from './anchors.ts';
export type {
  AveragePrecision,
  AveragePrecisionOptions,
  ClassAveragePrecision,
  MeanCurves,
} from './average-precision.ts';
export { evaluateDetections } from './average-precision.ts';
export type { Estimate, Figure, NoVerdict, Resampling, Stratum } from './bootstrap.ts';
export { bootstrapFigures, LEAST_GROUPS, negated, noVerdict, sureSign } from './bootstrap.ts';
export type { Confidences, DrawnCalibration } from './bootstrap-calibration.ts';
export { drawnCalibration } from './bootstrap-calibration.ts';
export type { PictureOutcomes, Tally } from './bootstrap-outcomes.ts';
export {
  drawnAp,
  drawnAtPrecision,
  drawnBestF1,
  drawnRates,
  outcomesPerClass,
  pooledOutcomes,
  rescored,
  tallyAt,
} from './bootstrap-outcomes.ts';
export type { Box, BoxVariance, Space } from './box.ts';
export { boxArea, clipBox, iou } from './box.ts';
export type { BinEdges, CalibrationBin, CalibrationError } from './calibration.ts';
export { calibrationError } from './calibration.ts';
export type {
  CalibrationConvention,
  DetectionCalibrationOptions,
  DetectionEce,
  LocalisationEce,
  PerClassError,
} from './calibration-detection.ts';
export { ANY_OVERLAP, detectionEce, localisationEce } from './calibration-detection.ts';
export type { CalibrationTarget, Calibrator, CalibratorOptions } from './calibration-fit.ts';
export { calibrateDetections, fitCalibrator } from './calibration-fit.ts';
export type { CalibrationMap, IsotonicMap, PlattMap } from './calibration-map.ts';
export { calibrateScore, calibrationSlope, fitIsotonic, fitPlatt } from './calibration-map.ts';
export type { Candidates, HeadOutputs, HeadTensor } from './candidates.ts';
export type { Decoder, DecoderOptions, ScoreFloor, ScoreLaw } from './decode/decoder.ts';
export { createDecoder } from './decode/index.ts';
export type { Capabilities, Detection, ScoreDistribution, ScoreMixture } from './detection.ts';
export {
  binMean,
  binTailMass,
  binVariance,
  excessVariance,
  scoreMean,
  scoreQuantile,
  scoreStd,
  scoreTailMass,
  scoreVariance,
  sideVariancePx,
  softmaxInto,
  twoHotVariance,
} from './distribution.ts';
export type { ValueGroup } from './drift-distance.ts';
export type { CameraEffect, ComparedPictures, Effect, RatioPerPicture } from './drift-effects.ts';
export { conditionEffect, strataOf } from './drift-effects.ts';
export type { PairedDrift, ScorePairs } from './drift-pairs.ts';
export { LEAST_PAIRS, pairedDrift } from './drift-pairs.ts';
export type { DistanceFigure, DistributionShift } from './drift-shift.ts';
export { distributionShift } from './drift-shift.ts';
export type { Flicker, FlickerThreshold, ScoreTrack } from './drift-tracks.ts';
export { flicker } from './drift-tracks.ts';
export {
  ConfigError,
  DataError,
  DeviceError,
  EdgeDetectError,
  ModelError,
  SourceError,
  UsageError,
} from './errors.ts';
export type { HalfReader } from './float16.ts';
export { createHalfReader, fromHalfArray, fromHalfBits, toHalfArray, toHalfBits } from './float16.ts';
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
export { HEAD_KINDS } from './head-layout.ts';
export type { LawShape } from './law-shape.ts';
export { classifyLaw } from './law-shape.ts';
export type { FitPolicy, Letterbox } from './letterbox.ts';
export { createLetterbox, DEFAULT_FIT, toFrame, toInput, varianceToFrame } from './letterbox.ts';
export type { LightLadder, LightMeasurement, LightPolicy, LightState } from './light.ts';
export { firstLight, nextLight, thresholdInLight } from './light.ts';
export type { LightCues, LightMeasure } from './light-cues.ts';
export { INFRARED_VALUE, LIGHT_LADDER, measureLight } from './light-cues.ts';
export type { DetectionTable, TruthTable } from './match-groups.ts';
export { TRUTH_KIND } from './match-groups.ts';
export type { Matches } from './matching.ts';
export { matchDetections } from './matching.ts';
export type { EntropySplit, VarianceSplit } from './mc-dropout.ts';
export { splitEntropy, splitVariance } from './mc-dropout.ts';
export type { Bimodality, MeanVariance, SplitFit } from './mixture.ts';
export type {
  ClassificationCalibration,
  ClassificationCalibrationOptions,
} from './classification-calibration.ts';
export { classificationCalibration, softmaxTemperature } from './classification-calibration.ts';
export type {
  PrecisionOptions,
  PrecisionTest,
  PrecisionThreshold,
  RecallThreshold,
  RiskThreshold,
} from './conformal.ts';
export { precisionThreshold, recallThreshold, riskThreshold } from './conformal.ts';
export type { ConformalOptions, ConformalSlice, ConformalThresholds } from './conformal-slices.ts';
export { conformalThresholds } from './conformal-slices.ts';
export {
  bimodality,
  meanVarianceHead,
  mixtureHead,
  mixtureMean,
  mixtureTailMass,
  mixtureVariance,
  splitFit,
} from './mixture.ts';
export { nearest } from './nearest.ts';
export type { Kept, Suppressor, SuppressorOptions } from './nms.ts';
export { boxUncertainty, createSuppressor } from './nms.ts';
export type { Postprocessed, PostprocessOptions, Postprocessor } from './postprocess.ts';
export { createPostprocessor, POSTPROCESS_DEFAULTS } from './postprocess.ts';
export type { OperatingPoint, OutcomesByScore } from './precision-recall.ts';
export { cocoPrecisionInto, OUTCOME, trapezoidAp } from './precision-recall.ts';
export type { InputArray, InputLayout, InputType, InputWriter, PreprocessContract } from './preprocess.ts';
export { createInputWriter } from './preprocess.ts';
export { qualityBiasInit } from './quality-bias.ts';
export type { Random, RandomState } from './random.ts';
export { createRandom, deriveSeed } from './random.ts';
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
export type { ThresholdsChoice, ThresholdsFile } from './thresholds-file.ts';
export {
  parseThresholdsFile,
  toLightPolicy,
  toSuppression,
  toThresholdPolicy,
} from './thresholds-file.ts';
export type {
  CorrelationRows,
  PartialCorrelation,
  VarianceCheck,
  VarianceCheckOptions,
  VarianceGroup,
} from './variance-check.ts';
export { checkVariance, partialCorrelation } from './variance-check.ts';
  FusionSuppression,
  VoteSuppression,
  FUSION_SUPPRESSION,
  VOTE_SUPPRESSION,
  ConformalGuarantee,
  ConformalThreshold,
  describeGuarantee,
