// Compares what one model says in two or more conditions: slices with predictions in, figures with intervals out.
import {
  ConfigError,
  type Flicker,
  type FlickerThreshold,
  type LrpSummary,
  lrpErrors,
  type Resampling,
} from '#core';
import type { ClassMatchingOptions } from '../class-matching.ts';
import { type EvaluationReport, evaluateTables } from '../report.ts';
import { type ClassThresholds, conditionThresholds } from './condition-thresholds.ts';
import { effectsOf, ratiosOf, type SliceEffects } from './effects.ts';
import { type ClassNames, conditionOf, type JoinedSlices, joinSlices, picturesOf } from './joined-slices.ts';
import { type PairingReport, pairByObject, pairBySamePicture, pairByTrack } from './pairs.ts';
import { THRESHOLD_PROTOCOLS, type ThresholdTrial, tryConditionThresholds } from './protocols.ts';
import { flickerOfSlice, type ScoreShifts, scoreShifts } from './score-shifts.ts';
import { type FiguresOfSlices, figuresOfSlices, type SliceFigures } from './slice-figures.ts';
import { slicePart } from './slice-part.ts';
import type { PredictedSlice } from './slices.ts';
import { type TimeBlockOptions, type TimeBlocks, timeBlocks } from './time-blocks.ts';
import { signWarnings, verdictOf } from './verdict.ts';

export interface CompareOptions extends ClassMatchingOptions, Resampling {
  /** Fixed threshold of retention, recall and flicker. Default: best F1 over all slices; .25 without labels. */
  readonly threshold?: number;
  /** Scores below count as not found in pairs and distributions. Default .05. */
  readonly seenScore?: number;
  /** Least IoU of two boxes that are the same thing. Default .5. */
  readonly pairIou?: number;
  /** Per picture and class. Default 100. */
  readonly maxDets?: number;
  /** Flicker with hysteresis. Default: the fixed threshold. */
  readonly flickerThreshold?: FlickerThreshold;
  /** Each slice is one clip and each picture a frame of it: blocks of time are drawn in place of pictures. */
  readonly timeBlocks?: TimeBlockOptions;
}

export interface SliceReport {
  readonly name: string;
  readonly pictures: number;
  /** Blocks of time that are drawn; null where whole pictures are. */
  readonly blocks: number | null;
  readonly cameras: readonly { readonly camera: string; readonly pictures: number }[];
  readonly detections: number;
  /** Full evaluation; null without labels. */
  readonly evaluation: EvaluationReport | null;
  /** Localisation, false alarms and misses at IoU .5, over the classes that the model can name; null without labels. */
  readonly lrp: LrpSummary | null;
  readonly figures: SliceFigures | null;
  /** Null where the detections carry no tracks. */
  readonly flicker: Flicker | null;
}

/** Changes are second − first; drops of pairs are first − second. */
export interface SliceComparison {
  readonly first: string;
  readonly second: string;
  readonly objects: PairingReport | null;
  readonly samePictures: PairingReport | null;
  readonly tracks: PairingReport | null;
  readonly scores: ScoreShifts;
  readonly effects: SliceEffects;
  /** Null without labels. */
  readonly differences: SliceFigures | null;
  readonly warnings: readonly string[];
  readonly verdict: string;
}

/** Plain data: what a file of results holds. Null stands for "not applicable", `kind: 'none'` for "no verdict". */
export interface CompareReport {
  readonly version: 1;
  readonly slices: readonly SliceReport[];
  /** Every two slices, in the order of the slices. */
  readonly comparisons: readonly SliceComparison[];
  /** Thresholds per condition; null without labels. */
  readonly thresholds: readonly ClassThresholds[] | null;
  /** Whether they help on pictures that did not choose them; null without labels. */
  readonly trials: readonly ThresholdTrial[] | null;
  readonly warnings: readonly string[];
  readonly verdict: string;
  readonly convention: {
    readonly threshold: number;
    readonly seenScore: number;
    readonly pairIou: number;
    readonly maxDets: number;
    readonly resamples: number;
    readonly seed: number;
    readonly level: number;
    /** Null where whole pictures are drawn. */
    readonly timeBlocks: { readonly seconds: number; readonly chosenBy: TimeBlocks['chosenBy'] } | null;
  };
}

/** As `stream` and `predict` start without a file of thresholds. */
const UNLABELLED_THRESHOLD = 0.25;

/**
 * @param slices two or more; all labelled or none
 * @throws ConfigError for fewer than two slices, or blocks of time with labels; DataError for an empty slice, a missing prediction, class names that
 * do not fit
 * @example
 * const table = parseFrameTable(csvText, 'frames.csv');
 * const pictures = comparedPictures(labelled, { camera: (path) => table.value(path, 'camera') ?? '' });
 * const parts = sliceBy(pictures, ({ path }) => table.value(path, 'period'), ['day', 'dusk']);
 * const slices = withPredictions(parts, pictures, await predictDataset(model, pictures));
 * const { verdict } = compareSlices(slices, { model: predictions.classNames, labels: classNames });
 */
export function compareSlices(
  slices: readonly PredictedSlice[],
  classNames: ClassNames,
  options: CompareOptions = {},
): CompareReport {
  const { seenScore = 0.05, pairIou = 0.5, maxDets = 100, resamples = 1000, seed = 0 } = options;
  const joined = joinBlocks(joinSlices(slices, classNames, { ...options, maxDets }), options, seenScore);
  const thresholds = joined.labelled && conditionThresholds(joined, joined.labelled, { resamples, seed });
  const threshold = options.threshold ?? thresholds?.[0]?.fixed?.threshold ?? UNLABELLED_THRESHOLD;
  const { blocks } = joined;
  const timeBlocks = blocks === undefined ? null : { seconds: blocks.seconds, chosenBy: blocks.chosenBy };
  const convention = { threshold, seenScore, pairIou, maxDets, resamples, seed, level: 0.95, timeBlocks };
  const figures = joined.labelled && figuresOfSlices(joined, joined.labelled, convention);
  const { flickerThreshold = { on: threshold, off: threshold } } = options;
  const comparisons = comparedPairs(joined, figures, convention);
  return {
    version: 1,
    slices: joined.names.map((name) => sliceReport(joined, name, { figures, flickerThreshold, convention })),
    comparisons,
    thresholds: thresholds ?? null,
    trials: trialsOf(joined, convention),
    warnings: comparisons.flatMap(({ warnings }) => warnings),
    verdict: comparisons.map(({ verdict }) => verdict).join('\n'),
    convention,
  };
}

type Convention = CompareReport['convention'];

function joinBlocks(
  joined: JoinedSlices,
  { timeBlocks: wanted, threshold = UNLABELLED_THRESHOLD }: CompareOptions,
  seenScore: number,
): JoinedSlices {
  if (wanted === undefined) return joined;
  if (joined.labelled !== undefined) {
    throw new ConfigError('blocks of time and labels: clips are compared without labels', {
      hint: 'leave the labels out, or compare pictures that were taken apart from each other',
    });
  }
  return { ...joined, blocks: timeBlocks(joined, wanted, { threshold, seenScore }) };
}

function trialsOf(joined: JoinedSlices, resampling: Resampling): ThresholdTrial[] | null {
  const { labelled } = joined;
  if (labelled === undefined) return null;
  return THRESHOLD_PROTOCOLS.map((protocol) =>
    tryConditionThresholds(joined, labelled, protocol, resampling),
  );
}

function comparedPairs(
  joined: JoinedSlices,
  figures: FiguresOfSlices | undefined,
  convention: Convention,
): SliceComparison[] {
  const ratios = ratiosOf(joined, convention);
  return joined.names.flatMap((first, place) =>
    joined.names.slice(place + 1).map((second) => {
      const compared = { first: conditionOf(joined, first), second: conditionOf(joined, second) };
      const comparison = {
        first,
        second,
        objects: pairByObject(joined, compared, convention),
        samePictures: pairBySamePicture(joined, compared, convention),
        tracks: pairByTrack(joined, compared, convention),
        scores: scoreShifts(joined, compared, convention),
        effects: effectsOf(ratios, compared, { ...convention, blocks: joined.blocks }),
        differences: figures?.difference(first, second) ?? null,
        warnings: [],
        verdict: '',
      };
      const warned = { ...comparison, warnings: signWarnings(comparison) };
      return { ...warned, verdict: verdictOf(warned, { clips: joined.blocks !== undefined }) };
    }),
  );
}

function sliceReport(
  joined: JoinedSlices,
  name: string,
  {
    figures,
    flickerThreshold,
    convention: { maxDets, resamples, seed },
  }: {
    readonly figures: FiguresOfSlices | undefined;
    readonly flickerThreshold: FlickerThreshold;
    readonly convention: Convention;
  },
): SliceReport {
  const condition = conditionOf(joined, name);
  const pictures = picturesOf(condition);
  const part = slicePart(joined, pictures);
  const names = joined.comparable.flatMap((classId) => joined.classNames[classId] ?? []);
  return {
    name,
    pictures: pictures.length,
    blocks: joined.blocks?.perSlice.get(name) ?? null,
    cameras: [...condition.cameras].map(([camera, own]) => ({ camera, pictures: own.length })),
    detections: part.detections.scores.length,
    evaluation:
      part.truth === undefined
        ? null
        : evaluateTables(
            { truth: part.truth, detections: part.detections, classNames: joined.classNames },
            { maxDets, resamples, seed, meanOver: names },
          ),
    lrp: lrpOfSlice(joined, part, maxDets),
    figures: figures?.perSlice.get(name) ?? null,
    flicker: flickerOfSlice(joined, condition, { threshold: flickerThreshold, resamples, seed }),
  };
}

function lrpOfSlice(
  { classNames, comparable }: JoinedSlices,
  { truth, detections }: ReturnType<typeof slicePart>,
  maxDets: number,
): LrpSummary | null {
  if (truth === undefined) return null;
  return lrpErrors(truth, detections, { classCount: classNames.length, maxDets, meanOver: comparable });
}
