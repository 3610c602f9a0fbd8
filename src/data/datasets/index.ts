// Labelled data sets in the formats people have, and their faults.
export { parseCsv } from './csv.ts';
export {
  type LoadDetectionsOptions,
  loadDetections,
  type SavedDetections,
} from './detections/load-detections.ts';
export type { TextBox, TextScore } from './detections/text-rows.ts';
export { expectSoundDataset, type FaultSummary, formatFault, summarizeFaults } from './faults.ts';
export { type LintOptions, type LintReport, lintDataset } from './lint.ts';
export { loadDataset } from './load-dataset.ts';
export { mapClasses } from './map-classes.ts';
export { matchClasses } from './match-classes.ts';
export { countGroups, makeSplits, nameGroup, type SplitRule } from './splits.ts';
export { describeSplits, type SplitStatistics } from './statistics.ts';
export type {
  ClassMap,
  Dataset,
  DatasetFault,
  DatasetFormat,
  DatasetSplits,
  FaultSeverity,
  LabelledObject,
  LabelledPicture,
  LoadDatasetOptions,
  SplitName,
} from './types.ts';
export { SPLIT_NAMES } from './types.ts';
