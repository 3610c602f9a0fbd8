// Labelled data sets in the formats people have, and their faults.
export type {
  Dataset,
  DatasetFault,
  FaultSeverity,
  LabelledObject,
  LabelledPicture,
  SplitName,
} from './types.ts';
