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
export { binomialInterval, binomialUpper } from './binomial.ts';
export type { Estimate, Figure, NoVerdict, Resampling, Stratum } from './bootstrap.ts';
export { bootstrapFigures, negated, noVerdict, sureSign } from './bootstrap.ts';
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
export type { BoxSigma, BoxSigmaOptions, Coverage, SigmaCalibration } from './box-sigma.ts';
export { boxSigma, sigmaCalibration } from './box-sigma.ts';
export type {
  BinConvention,
  BinEdges,
  CalibrationBin,
  CalibrationError,
} from './calibration.ts';
export { adaptiveCalibrationError, brierScore, calibrationError, logLoss } from './calibration.ts';
export { calibrateDetections, calibrateLaw } from './calibration-apply.ts';
export type {
  CalibrationCell,
  CellCalibrationError,
  CellConvention,
  CellDimension,
  DetectionCells,
  DetectionCellsOptions,
} from './calibration-cells.ts';
export { cellCalibrationError, detectionCells } from './calibration-cells.ts';
export type { CrossFit } from './calibration-cross-fit.ts';
export { crossCalibrate, crossFitRows, foldsOfGroups } from './calibration-cross-fit.ts';
export type {
  CalibrationConvention,
  DetectionCalibrationOptions,
  DetectionEce,
  LocalisationEce,
  PerClassError,
} from './calibration-detection.ts';
export { ANY_OVERLAP, detectionEce, localisationEce } from './calibration-detection.ts';
export type { Calibrator, ClassCalibration, MapOptions } from './calibration-fit.ts';
export { fitCalibrator, fitCalibratorToRows } from './calibration-fit.ts';
export { fitIsotonic } from './calibration-isotonic.ts';
export { fitBeta, fitPlatt, fitTemperature } from './calibration-logistic.ts';
export type {
  BetaMap,
  CalibrationMap,
  IsotonicMap,
  PlattMap,
  TemperatureMap,
} from './calibration-map.ts';
export { CALIBRATION_KINDS, calibrateScore, calibrationSlope } from './calibration-map.ts';
export type { ObjectCalibration, ObjectCalibrationOptions } from './calibration-objects.ts';
export { objectCalibration } from './calibration-objects.ts';
export type { CalibrationRows, CalibrationRowsOptions, CalibrationTarget } from './calibration-rows.ts';
export { CALIBRATION_TARGETS, calibrationRows } from './calibration-rows.ts';
export type {
  CalibrationData,
  CalibratorOrigin,
  FittedSuppression,
  StoredCalibrator,
} from './calibration-stored.ts';
export {
  parseStoredCalibrator,
  toCalibrator,
  toStoredCalibrator,
  whyOtherSuppression,
} from './calibration-stored.ts';
export { formatCalibratorFile, parseCalibratorFile } from './calibrator-file.ts';
export type { Candidates, HeadOutputs, HeadTensor } from './candidates.ts';
export type {
  ClassificationCalibration,
  ClassificationCalibrationOptions,
} from './classification-calibration.ts';
export { classificationCalibration, softmaxTemperature } from './classification-calibration.ts';
export type { ConfidenceCurve, ConfidenceCurves, ConfidenceCurvesOptions } from './confidence-curves.ts';
export { confidenceCurves } from './confidence-curves.ts';
export type {
  MissRateThreshold,
  ObjectRecallThreshold,
  PrecisionOptions,
  PrecisionTest,
  PrecisionThreshold,
} from './conformal.ts';
export { missRateThreshold, objectRecallThreshold, precisionThreshold } from './conformal.ts';
export type {
  ConformalOptions,
  ConformalSample,
  ConformalSamples,
  ConformalSlice,
  ConformalThresholds,
} from './conformal-slices.ts';
export { conformalSamples, conformalThresholds, sampleThresholds } from './conformal-slices.ts';
export type { ConfusionMatrix, ConfusionOptions } from './confusion-matrix.ts';
export { confusionMatrix } from './confusion-matrix.ts';
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
export { pairedDrift } from './drift-pairs.ts';
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
export type { FittedLadder, LitState } from './light-fit.ts';
export { fitLightLadder, LEAST_LIT_PICTURES, LEAST_RIGHTLY } from './light-fit.ts';
export type { LogitRange, LogitRowView } from './logit-range.ts';
export {
  FEWEST_SCALED_CLASSES,
  logitRangeInto,
  NO_LOGIT_RANGE,
  rescaleLogits,
} from './logit-range.ts';
export type { ClassLrp, LrpError, LrpSummary } from './lrp.ts';
export { lrpErrors } from './lrp.ts';
export type { DetectionTable, TruthTable } from './match-groups.ts';
export { TRUTH_KIND } from './match-groups.ts';
export type { BoxExtent, Matches } from './matching.ts';
export { matchDetections } from './matching.ts';
export type { EntropySplit, VarianceSplit } from './mc-dropout.ts';
export { splitEntropy, splitVariance } from './mc-dropout.ts';
export type { Bimodality, MeanVariance, SplitFit } from './mixture.ts';
export {
  bimodality,
  meanVarianceHead,
  mixtureHead,
  mixtureMean,
  mixtureTailMass,
  mixtureVariance,
  splitFit,
} from './mixture.ts';
export type { MixtureBimodality } from './mixture-shape.ts';
export { mixtureBimodality } from './mixture-shape.ts';
export { MotionMeter, type MotionRule, type MotionState } from './motion-meter.ts';
export { nearest } from './nearest.ts';
export type { Kept, Suppressor, SuppressorOptions } from './nms.ts';
export { boxUncertainty, createSuppressor } from './nms.ts';
export type {
  ChosenThreshold,
  ClassOperatingPoint,
  OperatingGoal,
  OperatingPoints,
  OperatingPointsOptions,
  WhyNoThreshold,
} from './operating-points.ts';
export { operatingPoints } from './operating-points.ts';
export type { Postprocessed, PostprocessOptions, Postprocessor } from './postprocess.ts';
export { createPostprocessor, POSTPROCESS_DEFAULTS } from './postprocess.ts';
export type { OperatingPoint, OutcomesByScore } from './precision-recall.ts';
export { cocoPrecisionInto, OUTCOME, trapezoidAp } from './precision-recall.ts';
export type { InputArray, InputLayout, InputType, InputWriter, PreprocessContract } from './preprocess.ts';
export { createInputWriter } from './preprocess.ts';
export { qualityBiasInit } from './quality-bias.ts';
export type { Random, RandomState } from './random.ts';
export { createRandom, deriveSeed } from './random.ts';
export type { Point, Region } from './region.ts';
export { crossesItself, crossing, isInside, regionArea } from './region.ts';
export type { ScoreScale } from './score-scale.ts';
export type { Size } from './shapes.ts';
export { formatShape } from './shapes.ts';
export type {
  BoxUncertaintySuppression,
  FusionSuppression,
  HardSuppression,
  SoftSuppression,
  SuppressionPolicy,
  UncertaintySuppression,
  VoteSuppression,
} from './suppression.ts';
export {
  BOX_UNCERTAINTY_SUPPRESSION,
  FUSION_SUPPRESSION,
  HARD_SUPPRESSION,
  SOFT_SUPPRESSION,
  suppressionRequirement,
  UNCERTAINTY_SUPPRESSION,
  VOTE_SUPPRESSION,
} from './suppression.ts';
export type { SuppressionSetting } from './suppression-file.ts';
export { parseFittedSuppression, toFittedSuppression } from './suppression-file.ts';
export type {
  ConformalGuarantee,
  ConformalThreshold,
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
  describeGuarantee,
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
export type { ThresholdsFileParts } from './thresholds-file-format.ts';
export { buildThresholdsFile, formatThresholdsFile } from './thresholds-file-format.ts';
export type {
  CorrelationRows,
  PartialCorrelation,
  VarianceCheck,
  VarianceCheckOptions,
  VarianceGroup,
} from './variance-check.ts';
export { checkVariance, partialCorrelation } from './variance-check.ts';
export type { ClassVocPrecision, VocOptions, VocPrecision } from './voc-average-precision.ts';
export { vocAveragePrecision } from './voc-average-precision.ts';
