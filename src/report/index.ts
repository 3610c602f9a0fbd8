// Charts as SVG and PNG. vega is loaded when the first one is drawn.
export type { HistogramOptions } from './histogram.ts';
export { histogram } from './histogram.ts';
export type { ConfidenceBin, ReliabilityBins, VarianceBin } from './reliability.ts';
export { reliabilityBars } from './reliability.ts';
export type { Chart } from './render-chart.ts';
export type { ScoreLawSample } from './score-law-panel.ts';
export { scoreLawPanel } from './score-law-panel.ts';
export type { ResultsRow } from './training-curves.ts';
export { trainingCurves } from './training-curves.ts';
