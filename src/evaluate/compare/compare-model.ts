// One model over pictures of two or more conditions: found, predicted, compared.
import { LIGHT_LADDER } from '#core';
import { matchClasses } from '../class-matching.ts';
import { classesOf, type PredictOptions, predictDataset, type RanWith } from '../predict.ts';
import { type CompareOptions, type CompareReport, compareSlices } from './compare.ts';
import { ladderOfSlices, type SliceLadder } from './picture-light.ts';
import { loadPictureSet, type PictureSetRequest } from './picture-sets.ts';
import { type SliceRule, slicePictures } from './slice-rules.ts';
import { withPredictions } from './slices.ts';

export interface CompareRequest {
  /** ONNX file. */
  readonly model: string;
  readonly pictures: PictureSetRequest;
  readonly rule: SliceRule;
  /** Only these slices. Default: all. */
  readonly slices?: readonly string[];
  /** Slice that the others are compared with. Default: `day` where there is one, else the first. */
  readonly reference?: string;
  readonly predict?: Omit<PredictOptions, 'signal' | 'onPicture' | 'onOpened' | 'classes'>;
  /** Classes, resampling, thresholds. */
  readonly options?: CompareOptions;
}

/** Rules that may part pictures by their light, or by anything else. The sun has a ladder of its own. */
const OWN_LADDER: readonly SliceRule['kind'][] = ['column', 'against'];

export interface CompareContext {
  readonly signal?: AbortSignal;
  readonly onPicture?: (stage: 'parted' | 'predicted', done: number, total: number) => void;
}

export interface ModelComparison {
  readonly ranWith: RanWith;
  /** Of the model. */
  readonly classNames: readonly string[];
  readonly source: string;
  readonly rule: SliceRule['kind'] | 'clips';
  /** The first slice. */
  readonly reference: string;
  readonly report: CompareReport;
  /** What the slices rest on, in words. */
  readonly remarks: readonly string[];
  /** What switches between the slices by the light of a picture, where that was asked. */
  readonly light?: SliceLadder;
  readonly options: CompareOptions;
}

/**
 * @throws DataError, ConfigError as `slicePictures` and `compareSlices`; ModelError where the file is no detector known
 * here; the reason of the signal
 */
export async function compareModel(
  {
    model: path,
    pictures: wanted,
    rule,
    slices: names,
    reference,
    predict = {},
    options = {},
  }: CompareRequest,
  { signal, onPicture }: CompareContext = {},
): Promise<ModelComparison> {
  const set = await loadPictureSet(wanted);
  const { slices, classNames, remarks } = await slicePictures(set, rule, {
    ...(signal && { signal }),
    ...(names && { names }),
    ...(reference !== undefined && { reference }),
    onPicture: (done, total) => onPicture?.('parted', done, total),
  });
  const pictures = [
    ...new Map(slices.flatMap((slice) => slice.pictures.map((one) => [one.path, one]))).values(),
  ].map(({ path: file }) => ({ path: file }));
  const predictions = await predictDataset(path, pictures, {
    ...predict,
    ...classesOf(options),
    onOpened: (detector) => {
      // Names that do not fit are known now, and not only after every picture was predicted.
      if (classNames !== undefined) matchClasses(classNames, detector.classNames, options);
    },
    ...(signal && { signal }),
    onPicture: (done, total) => onPicture?.('predicted', done, total),
  });
  const report = compareSlices(
    withPredictions(slices, pictures, predictions),
    { model: predictions.classNames, ...(classNames && { labels: classNames }) },
    options,
  );
  const own = report.thresholds !== null && OWN_LADDER.includes(rule.kind);
  const light: SliceLadder | undefined =
    rule.kind === 'light' ? { ladder: LIGHT_LADDER } : own ? await ladderOfSlices(slices, signal) : undefined;
  return {
    ranWith: predictions.ranWith,
    classNames: predictions.classNames,
    source: set.source,
    rule: rule.kind,
    reference: slices[0]?.name ?? '',
    report,
    remarks: [
      ...(set.split === undefined ? [] : [`split ${set.split}`]),
      ...remarks,
      ...(light?.remark === undefined ? [] : [light.remark]),
    ],
    ...(light && { light }),
    options,
  };
}
