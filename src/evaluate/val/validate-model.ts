// A model over one split of a data set: what it finds, and how it is judged.
import { DataError } from '#core';
import {
  type Dataset,
  expectSoundDataset,
  type LabelledPicture,
  loadDataset,
  type SplitName,
} from '#data/datasets';
import { type ClassMatchingOptions, matchClasses } from '../class-matching.ts';
import { classesOf, type PredictOptions, predictDataset, type RanWith } from '../predict.ts';
import {
  type EvaluationOptions,
  type EvaluationReport,
  type EvaluationTables,
  evaluateTables,
  evaluationTables,
  type Predictions,
} from '../report.ts';

export interface ValidateRequest {
  /** ONNX file. */
  readonly model: string;
  /** Data set in any form that `loadDataset` reads. */
  readonly data: string;
  /** Default: `val`, else `test`, else the only split that there is. */
  readonly split?: SplitName;
  readonly predict?: Omit<PredictOptions, 'signal' | 'onPicture'>;
  readonly matching?: ClassMatchingOptions;
  readonly evaluation?: EvaluationOptions;
}

/** Detections of a split and how they are judged, wherever they came from. */
export interface Validation {
  readonly dataset: Dataset;
  readonly split: SplitName;
  readonly pictures: readonly LabelledPicture[];
  readonly predictions: Predictions;
  readonly tables: EvaluationTables;
  readonly report: EvaluationReport;
  /** False where classes were mapped or joined. */
  readonly isOwnClasses: boolean;
}

export interface ModelValidation extends Validation {
  readonly ranWith: RanWith;
  /** Mean wall time of a picture, reading and decoding included, ms. */
  readonly msPerPicture: number;
}

export interface ValidateContext {
  readonly signal?: AbortSignal;
  readonly onPicture?: (done: number, total: number) => void;
}

/**
 * @throws DataError where data cannot be read, has errors or lacks the split, or class names differ without a map;
 * ModelError, ConfigError as `predictDataset`; the reason of the signal
 */
export async function validateModel(
  { model, data, split: wanted, predict = {}, matching = {}, evaluation = {} }: ValidateRequest,
  { signal, onPicture }: ValidateContext = {},
): Promise<ModelValidation> {
  const dataset = await loadDataset(data);
  expectSoundDataset(dataset);
  const { split, pictures } = chooseSplit(dataset, wanted);
  const started = performance.now();
  const predictions = await predictDataset(model, pictures, {
    ...predict,
    ...classesOf(matching),
    // Names that do not fit are said before the pictures are gone through.
    onOpened: (detector) => {
      matchClasses(dataset.classNames, detector.classNames, matching);
      predict.onOpened?.(detector);
    },
    ...(signal && { signal }),
    ...(onPicture && { onPicture }),
  });
  const msPerPicture = (performance.now() - started) / pictures.length;
  const labelled = { classNames: dataset.classNames, pictures };
  const { comparable, ...tables } = evaluationTables(labelled, predictions, matching);
  const report = evaluateTables(tables, { meanOver: comparable, ...evaluation });
  const isOwnClasses = matching.classMap === undefined && matching.singleClass !== true;
  const { ranWith } = predictions;
  return { dataset, split, pictures, predictions, tables, report, msPerPicture, ranWith, isOwnClasses };
}

/**
 * @returns pictures of a COCO set by rising id: equal scores keep the order of their pictures, and so it is that of COCO's tools
 * @throws DataError where the split is not there, or empty
 */
export function chooseSplit(
  { splits, source, format }: Dataset,
  wanted?: SplitName,
): { readonly split: SplitName; readonly pictures: readonly LabelledPicture[] } {
  const there = (Object.keys(splits) as SplitName[]).filter((name) => (splits[name]?.length ?? 0) > 0);
  const only = there.length === 1 ? there[0] : undefined;
  const split = wanted ?? (['val', 'test'] as const).find((name) => there.includes(name)) ?? only;
  const pictures = split === undefined ? undefined : splits[split];
  if (split !== undefined && pictures !== undefined && pictures.length > 0) {
    return { split, pictures: format === 'coco' ? byRisingId(pictures) : pictures };
  }
  throw new DataError(`${source}: there is no ${wanted ?? 'val'} split with pictures`, {
    hint:
      there.length === 0
        ? `\`edge-detect inspect data=${source}\` shows what is there`
        : `write split=${there[0]}; it has ${there.join(', ')}`,
  });
}

function byRisingId(pictures: readonly LabelledPicture[]): readonly LabelledPicture[] {
  if (!pictures.every(({ id }) => typeof id === 'number')) return pictures;
  return [...pictures].sort((a, b) => Number(a.id) - Number(b.id));
}

/** The first split with pictures besides the one that is judged: what may be fitted or measured on. */
export function otherSplit(
  { splits }: Dataset,
  judged: SplitName,
  order: readonly SplitName[] = ['train', 'val', 'test'],
): SplitName | undefined {
  return order.find((name) => name !== judged && (splits[name]?.length ?? 0) > 0);
}
