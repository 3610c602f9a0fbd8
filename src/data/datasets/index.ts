// Labelled data sets in the formats people have, and their faults.
export { expectSoundDataset, type FaultSummary, formatFault, summarizeFaults } from './faults.ts';
export { loadDataset } from './load-dataset.ts';
export { mapClasses } from './map-classes.ts';
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
