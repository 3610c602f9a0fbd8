// Under which names plots lie in a folder of results: those that users of YOLO look for, and ours beside them.

export const CHART_FILES = {
  precisionRecall: 'PR_curve.png',
  f1: 'F1_curve.png',
  precision: 'P_curve.png',
  recall: 'R_curve.png',
  confusionMatrix: 'confusion_matrix.png',
  confusionMatrixNormalized: 'confusion_matrix_normalized.png',
  reliability: 'reliability.png',
  reliabilitySlices: 'reliability_slices.png',
  scoreHistogram: 'score_histogram.png',
  sigmaCalibration: 'sigma_calibration.png',
  pitHistogram: 'pit_histogram.png',
  scoreLaws: 'score_laws.png',
  thresholds: 'thresholds.png',
  pairedScores: 'paired_scores.png',
  pairedDifferences: 'paired_differences.png',
  sliceMetrics: 'slice_metrics.png',
  lightTimeline: 'light_timeline.png',
  bench: 'bench.png',
} as const;
