// Thresholds per condition and class: where F1 is best, and where precision equals that of one fixed threshold. Each
// with its interval, or no verdict where the condition has too few objects of the class.
import {
  bootstrapFigures,
  drawnAtPrecision,
  drawnBestF1,
  type Figure,
  type NoVerdict,
  noVerdict,
  type PictureOutcomes,
  type Resampling,
  strataOf,
} from '#core';
import { conditionOf, type JoinedSlices, type LabelledTables, picturesOf } from './joined-slices.ts';

export interface ConditionThreshold {
  readonly condition: string;
  readonly objects: number;
  readonly pictures: number;
  /** Highest F1 at IoU .5. */
  readonly bestF1: ChosenThreshold | NoVerdict;
  /** Most objects found at a precision at least that of the fixed threshold over all conditions. */
  readonly equalPrecision: ChosenThreshold | NoVerdict;
}

export interface ChosenThreshold {
  readonly kind: 'threshold';
  /** Boxes of this score or more are kept. */
  readonly threshold: Figure;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
}

export interface ClassThresholds {
  /** '*' stands for all classes under one threshold. */
  readonly className: string;
  /** Best F1 over all conditions; null where nothing is found. */
  readonly fixed: {
    readonly threshold: number;
    readonly precision: number;
    readonly recall: number;
    readonly f1: number;
  } | null;
  readonly conditions: readonly ConditionThreshold[];
}

/** Which of the two choices goes into a file. */
export type ThresholdCriterion = 'bestF1' | 'equalPrecision';

/** Fewest objects of a class in a condition that choose a threshold, and fewest pictures. */
export const LEAST_CHOOSING_OBJECTS = 30;
const LEAST_CHOOSING_PICTURES = 8;

const ALL_CLASSES = '*';

/** @returns all classes together first, then every class that the model can name */
export function conditionThresholds(
  joined: JoinedSlices,
  { perClass, pooled }: LabelledTables,
  resampling: Resampling,
): ClassThresholds[] {
  const named = joined.comparable.flatMap((classId) => {
    const outcomes = perClass[classId];
    return outcomes === undefined ? [] : [{ className: joined.classNames[classId] ?? '', outcomes }];
  });
  return [{ className: ALL_CLASSES, outcomes: pooled }, ...named].map(({ className, outcomes }) => {
    const all = new Int32Array(joined.pictures.length).fill(1);
    const fixed = drawnBestF1(outcomes, all) ?? null;
    return {
      className,
      fixed,
      conditions: joined.names.map((condition) =>
        choose(joined, { condition, outcomes, leastPrecision: fixed?.precision }, resampling),
      ),
    };
  });
}

function choose(
  joined: JoinedSlices,
  {
    condition,
    outcomes,
    leastPrecision,
  }: {
    readonly condition: string;
    readonly outcomes: PictureOutcomes;
    readonly leastPrecision: number | undefined;
  },
  resampling: Resampling,
): ConditionThreshold {
  const own = conditionOf(joined, condition);
  const pictures = picturesOf(own);
  const objects = pictures.reduce((sum, picture) => sum + (outcomes.positives[picture] ?? 0), 0);
  const row = { condition, objects, pictures: pictures.length };
  const reason = tooFewToChoose(objects, pictures.length);
  if (reason !== undefined) return { ...row, bestF1: noVerdict(reason), equalPrecision: noVerdict(reason) };
  const best = (counts: Int32Array) => drawnBestF1(outcomes, counts);
  const equal = (counts: Int32Array) =>
    leastPrecision === undefined ? undefined : drawnAtPrecision(outcomes, counts, leastPrecision);
  const figures = bootstrapFigures<'best' | 'equal'>(
    joined.pictures.length,
    strataOf(own),
    (counts) => ({ best: best(counts)?.threshold, equal: equal(counts)?.threshold }),
    resampling,
  );
  const counts = new Int32Array(joined.pictures.length);
  for (const picture of pictures) counts[picture] = 1;
  const chosen = (point: ReturnType<typeof best>, threshold: Figure, missing: string) =>
    point === undefined ? noVerdict(missing) : { kind: 'threshold' as const, ...point, threshold };
  return {
    ...row,
    bestF1: chosen(best(counts), figures.best, 'nothing is found'),
    equalPrecision: chosen(
      equal(counts),
      figures.equal,
      'no threshold reaches the precision of the fixed one',
    ),
  };
}

/** Why a threshold is not chosen on so little; undefined where it is. */
function tooFewToChoose(objects: number, pictures: number): string | undefined {
  if (objects < LEAST_CHOOSING_OBJECTS) {
    return `${objects} objects; a threshold needs ${LEAST_CHOOSING_OBJECTS} or more`;
  }
  if (pictures < LEAST_CHOOSING_PICTURES) {
    return `${pictures} pictures; a threshold needs ${LEAST_CHOOSING_PICTURES} or more`;
  }
  return undefined;
}

/** The `classes` and `conditions` of a thresholds file. */
export interface ThresholdTables {
  readonly classes: Readonly<Record<string, number>>;
  readonly conditions: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/**
 * A class without a verdict in a condition takes the condition's `*`, and where that has none either, the fixed one.
 * @returns undefined where nothing was found at all, so that there is no threshold to write
 */
export function thresholdTables(
  thresholds: readonly ClassThresholds[],
  criterion: ThresholdCriterion,
): ThresholdTables | undefined {
  const fixed = thresholds.flatMap(({ className, fixed: point }) =>
    point === null ? [] : [[className, written(point.threshold)] as const],
  );
  if (!fixed.some(([className]) => className === ALL_CLASSES)) return undefined;
  const names = thresholds[0]?.conditions.map(({ condition }) => condition) ?? [];
  const tables = names.map((name, place) => {
    const own = thresholds.flatMap(({ className, conditions }) => {
      const chosen = conditions[place]?.[criterion];
      if (chosen?.kind !== 'threshold' || chosen.threshold.kind === 'none') return [];
      return [[className, written(chosen.threshold.value)] as const];
    });
    return [name, Object.fromEntries(own)] as const;
  });
  // Only what is as well founded as a condition's: a class with one object must not get a threshold of its own.
  const founded = fixed.filter(([className]) => {
    const objects = thresholds
      .find((one) => one.className === className)
      ?.conditions.reduce((sum, one) => sum + one.objects, 0);
    return className === ALL_CLASSES || (objects ?? 0) >= LEAST_CHOOSING_OBJECTS;
  });
  return { classes: Object.fromEntries(founded), conditions: Object.fromEntries(tables) };
}

/** A detector keeps what is above its threshold, and these are scores that are to be kept. */
function written(threshold: number): number {
  return Math.max(0, Number((threshold - 1e-6).toFixed(6)));
}
