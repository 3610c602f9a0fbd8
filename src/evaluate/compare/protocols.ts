// Do thresholds per condition beat one fixed threshold on pictures that did not choose them? Two protocols: per camera
// (the first half of each condition chooses, the second half tests) and leave one camera out.
import {
  bootstrapFigures,
  drawnAtPrecision,
  drawnRates,
  type Figure,
  noVerdict,
  type PictureOutcomes,
  type Resampling,
  rescored,
  type Stratum,
  tallyAt,
} from '#core';
import type { JoinedSlices, LabelledTables } from './joined-slices.ts';
import { type Choice, chooseByHalves, chooseOnOthers, countsOf } from './threshold-choices.ts';

export const THRESHOLD_PROTOCOLS = ['first-half-per-camera', 'leave-one-camera-out'] as const;
export type ThresholdProtocol = (typeof THRESHOLD_PROTOCOLS)[number];

export interface ThresholdTrial {
  readonly protocol: ThresholdProtocol;
  /** Tested: those of cameras that chose for themselves, or were left out. */
  readonly pictures: number;
  readonly objects: number;
  readonly cameras: number;
  /** Conditions whose threshold was chosen, of all camera × condition cells; the others take the fixed one. */
  readonly chosenCells: number;
  readonly cells: number;
  readonly fixed: TrialFigures;
  readonly perCondition: TrialFigures;
  /** perCondition − fixed. */
  readonly f1Gain: Figure;
  /**
   * Recall at the precision that the fixed threshold has on the tested pictures, after moving all thresholds of the
   * other rule by one common step in logits; perCondition − fixed.
   */
  readonly recallGainAtEqualPrecision: Figure;
  /** The same with whole cameras drawn. */
  readonly f1GainByCamera: Figure;
  readonly recallGainByCamera: Figure;
  readonly perCamera: readonly {
    readonly camera: string;
    readonly fixedF1: number | null;
    readonly perConditionF1: number | null;
    /** Of the conditions in the order of the slices; null where the fixed one serves. */
    readonly thresholds: readonly (number | null)[];
    readonly fixedThreshold: number;
  }[];
}

export interface TrialFigures {
  readonly f1: Figure;
  readonly precision: Figure;
  readonly recall: Figure;
}

/**
 * All classes under one threshold, hits at IoU .5. The intervals resample the tested pictures within camera and
 * condition; the thresholds stay as chosen.
 */
export function tryConditionThresholds(
  joined: JoinedSlices,
  { pooled }: LabelledTables,
  protocol: ThresholdProtocol,
  resampling: Resampling = {},
): ThresholdTrial {
  const cameras = [...new Set(joined.pictures.map(({ camera }) => camera))].sort();
  const choices = cameras.flatMap((camera) =>
    protocol === 'first-half-per-camera'
      ? chooseByHalves(joined, pooled, camera)
      : chooseOnOthers(joined, pooled, { camera, cameras }),
  );
  const cells = choices.flatMap((choice) => choice.thresholds);
  const tested = choices.flatMap((choice) => choice.tested.flat());
  const summary = {
    protocol,
    pictures: tested.length,
    objects: tested.reduce((sum, picture) => sum + (pooled.positives[picture] ?? 0), 0),
    cameras: choices.length,
    chosenCells: cells.filter((threshold) => threshold !== undefined).length,
    cells: cells.length,
  };
  return { ...summary, ...judge(joined, pooled, { choices, reason: whyUnjudged(summary), resampling }) };
}

const LEAST_TESTED_OBJECTS = 30;

function whyUnjudged({
  cameras,
  objects,
  chosenCells,
}: {
  readonly cameras: number;
  readonly objects: number;
  readonly chosenCells: number;
}): string | undefined {
  if (cameras === 0) return 'no camera has pictures to choose on and pictures to test on';
  if (objects < LEAST_TESTED_OBJECTS) {
    return `${objects} objects to test on; a trial needs ${LEAST_TESTED_OBJECTS} or more`;
  }
  return chosenCells === 0 ? 'no condition has enough objects to choose a threshold' : undefined;
}

function judge(
  joined: JoinedSlices,
  pooled: PictureOutcomes,
  {
    choices,
    reason,
    resampling,
  }: {
    readonly choices: readonly Choice[];
    readonly reason: string | undefined;
    readonly resampling: Resampling;
  },
) {
  const perPicture = thresholdsPerPicture(joined, choices);
  const tallies = { fixed: tallyAt(pooled, perPicture.fixed), other: tallyAt(pooled, perPicture.other) };
  const ranked = {
    fixed: rescored(pooled, marginsOf(pooled, perPicture.fixed)),
    other: rescored(pooled, marginsOf(pooled, perPicture.other)),
  };
  const measure = (counts: Int32Array) => {
    const [one, two] = [drawnRates(tallies.fixed, counts), drawnRates(tallies.other, counts)];
    const { precision = 0 } = one;
    const recallOf = (outcomes: PictureOutcomes) => drawnAtPrecision(outcomes, counts, precision)?.recall;
    return {
      fixedF1: one.f1,
      fixedPrecision: one.precision,
      fixedRecall: one.recall,
      otherF1: two.f1,
      otherPrecision: two.precision,
      otherRecall: two.recall,
      f1Gain: minus(two.f1, one.f1),
      recallGain: minus(recallOf(ranked.other), recallOf(ranked.fixed)),
    };
  };
  const figures =
    reason === undefined
      ? bootstrapFigures(joined.pictures.length, testStrata(joined, choices), measure, resampling)
      : undefined;
  const byCamera = reason === undefined ? drawCameras(joined, { choices, measure, resampling }) : undefined;
  const of = (figure: Figure | undefined) => figure ?? noVerdict(reason ?? 'nothing to measure');
  return {
    fixed: {
      f1: of(figures?.fixedF1),
      precision: of(figures?.fixedPrecision),
      recall: of(figures?.fixedRecall),
    },
    perCondition: {
      f1: of(figures?.otherF1),
      precision: of(figures?.otherPrecision),
      recall: of(figures?.otherRecall),
    },
    f1Gain: of(figures?.f1Gain),
    recallGainAtEqualPrecision: of(figures?.recallGain),
    f1GainByCamera: of(byCamera?.f1Gain),
    recallGainByCamera: of(byCamera?.recallGain),
    perCamera: choices.map(({ camera, fixedThreshold, thresholds, tested }) => {
      const counts = countsOf(joined, tested.flat());
      return {
        camera,
        fixedF1: drawnRates(tallies.fixed, counts).f1 ?? null,
        perConditionF1: drawnRates(tallies.other, counts).f1 ?? null,
        thresholds: thresholds.map((threshold) => threshold ?? null),
        fixedThreshold,
      };
    }),
  };
}

function minus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a - b;
}

function testStrata(joined: JoinedSlices, choices: readonly Choice[]): Stratum[] {
  return choices.flatMap(({ camera, tested }) =>
    tested.map((groups, place) => ({ key: `${camera}\n${joined.names[place]}`, groups })),
  );
}

/** Whole cameras drawn: a resample counts each picture as often as its camera. */
function drawCameras<Name extends string>(
  joined: JoinedSlices,
  {
    choices,
    measure,
    resampling,
  }: {
    readonly choices: readonly Choice[];
    readonly measure: (counts: Int32Array) => Readonly<Record<Name, number | undefined>>;
    readonly resampling: Resampling;
  },
): Readonly<Record<Name, Figure>> {
  const counts = new Int32Array(joined.pictures.length);
  return bootstrapFigures(
    choices.length,
    [{ key: 'cameras', groups: [...choices.keys()] }],
    (cameras) => {
      for (const [place, { tested }] of choices.entries()) {
        for (const picture of tested.flat()) counts[picture] = cameras[place] ?? 0;
      }
      return measure(counts);
    },
    resampling,
  );
}

/** Pictures that are not tested get a threshold that nothing reaches. */
function thresholdsPerPicture({ pictures }: JoinedSlices, choices: readonly Choice[]) {
  const fixed = new Float64Array(pictures.length).fill(Number.POSITIVE_INFINITY);
  const other = fixed.slice();
  for (const { fixedThreshold, thresholds, tested } of choices) {
    for (const [place, own] of tested.entries()) {
      for (const picture of own) {
        fixed[picture] = fixedThreshold;
        other[picture] = thresholds[place] ?? fixedThreshold;
      }
    }
  }
  return { fixed, other };
}

/** How far each score lies above the threshold of its picture, in logits: a common step moves all thresholds together. */
function marginsOf({ scores, pictures }: PictureOutcomes, thresholds: Float64Array): Float64Array {
  return scores.map((score, row) => {
    const threshold = thresholds[pictures[row] ?? 0] ?? Number.POSITIVE_INFINITY;
    return Number.isFinite(threshold) ? logit(score) - logit(threshold) : Number.NEGATIVE_INFINITY;
  });
}

function logit(score: number): number {
  const clipped = Math.min(1 - 2 ** -24, Math.max(2 ** -24, score));
  return Math.log(clipped / (1 - clipped));
}
