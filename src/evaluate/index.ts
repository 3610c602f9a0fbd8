// A model over a data set, judged by core's kernels.
export type { ClassMatching, ClassMatchingOptions } from './class-matching.ts';
export { matchClasses } from './class-matching.ts';
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
