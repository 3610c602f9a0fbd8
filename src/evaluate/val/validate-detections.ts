// Detections that any tool saved, over one split of a data set: judged as those of a model that was run here.
import {
  expectSoundDataset,
  type LoadDetectionsOptions,
  loadDataset,
  loadDetections,
  type SavedDetections,
} from '#data/datasets';
import { evaluateTables, evaluationTables } from '../report.ts';
import { chooseSplit, type ValidateRequest, type Validation } from './validate-model.ts';

export interface ValidateDetectionsRequest
  extends Pick<ValidateRequest, 'data' | 'split' | 'matching' | 'evaluation'> {
  /** A folder of text files, COCO results, or a COCO file with scores. */
  readonly predictions: string;
  /** How rows of text are written, and the names of class numbers. */
  readonly form?: Omit<LoadDetectionsOptions, 'otherNames'>;
}

export interface DetectionsValidation extends Validation {
  readonly saved: Pick<SavedDetections, 'source' | 'format' | 'remarks'>;
}

/**
 * Pictures are not opened where the labels state their sizes, and need not be there.
 * @throws DataError where data or detections cannot be read, do not belong together, or class names differ without a map;
 * ConfigError where the form of the detections is not said
 */
export async function validateDetections({
  predictions: path,
  data,
  split: wanted,
  form = {},
  matching = {},
  evaluation = {},
}: ValidateDetectionsRequest): Promise<DetectionsValidation> {
  const dataset = await loadDataset(data, { labelsOnly: true });
  expectSoundDataset(dataset);
  const { split, pictures } = chooseSplit(dataset, wanted);
  const isOwnClasses = matching.classMap === undefined && matching.singleClass !== true;
  const found = await loadDetections(path, dataset, pictures, { ...form, otherNames: !isOwnClasses });
  // What is mapped need not have been found: no row of a class is no error of its name.
  const mapped = form.classNames === undefined ? Object.keys(matching.classMap ?? {}) : [];
  const classNames = [...found.classNames, ...mapped.filter((name) => !found.classNames.includes(name))];
  const predictions = { classNames, pictures: found.pictures };
  const labelled = { classNames: dataset.classNames, pictures };
  const { comparable, ...tables } = evaluationTables(labelled, predictions, matching);
  const report = evaluateTables(tables, { meanOver: comparable, ...evaluation });
  const { source, format, remarks } = found;
  const saved = { source, format, remarks };
  return { dataset, split, pictures, predictions, tables, report, isOwnClasses, saved };
}
