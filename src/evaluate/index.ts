// A model, or saved detections, over a data set, judged by core's kernels.

// What pages of reports are made of, for pages of one's own.
export type { MetricPanel, ReportBlock, ReportSection } from '#report';
export { htmlReport, metricDots } from '#report';
export type { BenchContext, BenchEntry, BenchReport, BenchRequest, Spread } from './bench/bench-models.ts';
export { benchModels } from './bench/bench-models.ts';
export { benchResults, writeBench } from './bench/write-bench.ts';
export type { CalibrateRequest, ModelCalibration } from './calibrate/calibrate-model.ts';
export { calibrateModel } from './calibrate/calibrate-model.ts';
export { writeConformal } from './calibrate/conformal-file.ts';
export type { HeldOut } from './calibrate/conformal-study.ts';
export type { PictureGrouping } from './calibrate/picture-folds.ts';
export { calibrationResults, writeCalibration } from './calibrate/write-calibration.ts';
export { writeCalibrator } from './calibrate/write-calibrator.ts';
export type { ClassMatching, ClassMatchingOptions } from './class-matching.ts';
export { matchClasses } from './class-matching.ts';
export { isClip } from './compare/clip-frames.ts';
export type { CompareOptions, CompareReport, SliceComparison, SliceReport } from './compare/compare.ts';
export { compareSlices } from './compare/compare.ts';
export type { CompareClipsRequest } from './compare/compare-clips.ts';
export { compareClips } from './compare/compare-clips.ts';
export type { CompareContext, CompareRequest, ModelComparison } from './compare/compare-model.ts';
export { compareModel } from './compare/compare-model.ts';
export type {
  ChosenThreshold,
  ClassThresholds,
  ConditionThreshold,
  ThresholdCriterion,
  ThresholdTables,
} from './compare/condition-thresholds.ts';
export { thresholdTables } from './compare/condition-thresholds.ts';
export type { SliceEffects } from './compare/effects.ts';
export type { ChangeRow } from './compare/figure-words.ts';
export { changesOf, figureText, wholeChangesOf } from './compare/figure-words.ts';
export type { PairedBy, PairingReport } from './compare/pairs.ts';
export type { PictureSetRequest } from './compare/picture-sets.ts';
export type { ThresholdProtocol, ThresholdTrial, TrialFigures } from './compare/protocols.ts';
export type { ScoreShifts } from './compare/score-shifts.ts';
export { signedErrorOf } from './compare/signed-error.ts';
export type { SliceFigures } from './compare/slice-figures.ts';
export type { SliceRule } from './compare/slice-rules.ts';
export type {
  ComparedPicture,
  FrameTable,
  PictureFacts,
  PictureSlice,
  PredictedSlice,
} from './compare/slices.ts';
export {
  comparedPictures,
  namePattern,
  parseFrameTable,
  sliceBy,
  timeOfName,
  withPredictions,
} from './compare/slices.ts';
export { parseZone } from './compare/time-zone.ts';
export { comparisonResults, writeComparison } from './compare/write-comparison.ts';
export type { PredictOptions } from './predict.ts';
export { PREDICT_DEFAULTS, predictDataset, predictPictures } from './predict.ts';
export type {
  EvaluationOptions,
  EvaluationReport,
  EvaluationTables,
  LabelledSplit,
  Predictions,
} from './report.ts';
export { evaluatePredictions, evaluateTables, evaluationTables } from './report.ts';
export type { PicturePrediction } from './tables.ts';
export { detectionTable } from './tables.ts';
export type { DetectionsValidation, ValidateDetectionsRequest } from './val/validate-detections.ts';
export { validateDetections } from './val/validate-detections.ts';
export type { ModelValidation, ValidateContext, ValidateRequest } from './val/validate-model.ts';
export { chooseSplit, otherSplit, validateModel } from './val/validate-model.ts';
export type { WriteValidationOptions } from './val/write-validation.ts';
export { writeValidation } from './val/write-validation.ts';
