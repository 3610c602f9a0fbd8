// Thresholds that promise something of pictures to come, class by class and condition by condition, and what they keep
// on cameras that they were not chosen on.
import {
  type Calibrator,
  type ConformalGuarantee,
  type ConformalSample,
  calibrateDetections,
  calibrateScore,
  conformalSamples,
  sampleThresholds,
  TRUTH_KIND,
  type TruthTable,
} from '#core';
import { type CalibrationTables, reportedRows } from './calibration-study.ts';
import type { PictureFolds } from './picture-folds.ts';

export interface ConformalGoal {
  readonly target: ConformalGuarantee['target'];
  /** Share that is promised: of objects found (on average per picture for `miss-rate`), or of boxes that are right. */
  readonly level: number;
  /** Chance that a promise of precision fails. Default .1. */
  readonly delta?: number;
}

export interface ConformalVerdict {
  /** Condition; null: all pictures. */
  readonly slice: string | null;
  /** null: all classes together, one threshold for them. */
  readonly className: string | null;
  /** Pictures with objects of the class. */
  readonly pictures: number;
  readonly objects: number;
  readonly boxes: number;
  /** On the scale of the calibrated model; null: no promise. */
  readonly threshold: number | null;
  /** The same on raw scores; null for all classes together, whose maps differ. */
  readonly rawThreshold: number | null;
  /** Why there is no promise. */
  readonly why?: string;
  /** On parts that the threshold was not chosen on. */
  readonly heldOut: HeldOut;
  /** In a condition: the same of thresholds that were chosen on all pictures of the other parts. */
  readonly general?: HeldOut;
}

export interface HeldOut {
  /** Share that was kept of what was promised; null where nothing could be judged. */
  readonly achieved: number | null;
  /** Objects, pictures or boxes behind it. */
  readonly count: number;
  /** Parts whose others gave no promise. */
  readonly partsWithout: number;
  readonly parts: number;
}

export interface ConformalStudy {
  readonly target: ConformalGuarantee['target'];
  readonly alpha: number;
  readonly delta?: number;
  readonly iou: number;
  /** Names of the conditions; empty where pictures were not parted. */
  readonly slices: readonly string[];
  readonly slicedBy?: 'column' | 'light';
  /** What the conditions rest on, in words. */
  readonly remarks: readonly string[];
  /** All classes first, then class by class; all pictures first, then condition by condition. */
  readonly verdicts: readonly ConformalVerdict[];
}

export interface Conditions {
  /** Per picture; undefined leaves it out of the conditions, not out of the whole. */
  readonly ofPicture: readonly (string | undefined)[];
  readonly names: readonly string[];
  readonly slicedBy: 'column' | 'light';
  readonly remarks: readonly string[];
}

const IOU = 0.5;
const DELTA = 0.1;

/**
 * A class is judged on raw scores and its threshold goes through its map: as the map rises, the promise holds whatever
 * it was fitted on. All classes together are judged on calibrated scores, whose maps were fitted on the same pictures.
 */
export function studyConformal(
  tables: CalibrationTables,
  folds: PictureFolds,
  options: {
    readonly goal: ConformalGoal;
    readonly calibrator: Calibrator;
    readonly minScore: number;
    readonly maxDets: number;
    /** Names of the classes that are told of. */
    readonly classNames: readonly string[];
    readonly conditions?: Conditions;
  },
): ConformalStudy {
  const { goal, calibrator, conditions } = options;
  const cells = readCells(tables, folds, options);
  const alpha = 1 - goal.level;
  const verdicts = [null, ...(conditions?.names ?? [])].flatMap((slice) =>
    [null, ...options.classNames].map((className): ConformalVerdict => {
      const classId = className === null ? null : tables.classNames.indexOf(className);
      const judge = (of: string | null, keep: (fold: number) => boolean) =>
        verdictOf(cells.join({ slice: of, classId, keep }), goal);
      const chosenOn = (of: string | null) =>
        heldOutOf(folds.foldCount, {
          fit: (fold) => judge(of, (other) => other !== fold).threshold,
          measure: (fold, at) =>
            measured(cells.join({ slice, classId, keep: (other) => other === fold }), goal, at),
        });
      const sample = cells.join({ slice, classId, keep: () => true });
      const { threshold, why } = judge(slice, () => true);
      const map = classId === null ? null : (calibrator.classes[classId]?.map ?? null);
      return {
        slice,
        className,
        pictures: sample.pictures.length,
        objects: sample.pictures.reduce((sum, { length }) => sum + length, 0),
        boxes: sample.scores.length,
        threshold: threshold === null || map === null ? threshold : calibrateScore(map, threshold),
        rawThreshold: classId === null ? null : threshold,
        ...(why === undefined ? {} : { why }),
        heldOut: chosenOn(slice),
        ...(slice === null ? {} : { general: chosenOn(null) }),
      };
    }),
  );
  return {
    target: goal.target,
    alpha,
    ...(goal.target === 'precision' ? { delta: goal.delta ?? DELTA } : {}),
    iou: IOU,
    slices: conditions?.names ?? [],
    ...(conditions && { slicedBy: conditions.slicedBy }),
    remarks: conditions?.remarks ?? [],
    verdicts: verdicts.filter(({ className, objects, boxes }) => className === null || objects + boxes > 0),
  };
}

interface Scope {
  readonly slice: string | null;
  readonly classId: number | null;
  readonly keep: (fold: number) => boolean;
}

/** Samples by part and condition, so that any of them can be put together. */
function readCells(
  { truth, detections, classNames }: CalibrationTables,
  { folds }: PictureFolds,
  {
    calibrator,
    minScore,
    maxDets,
    conditions,
    classNames: told,
  }: {
    readonly classNames: readonly string[];
    readonly calibrator: Calibrator;
    readonly minScore: number;
    readonly maxDets: number;
    readonly conditions?: Conditions;
  },
) {
  const raw = reportedRows(detections, calibrator, minScore);
  const places: { readonly fold: number; readonly slice: string | undefined }[] = [];
  const keys = new Map<string, number>();
  const slices = Array.from(folds, (fold, picture) => {
    const slice = conditions?.ofPicture[picture];
    const key = JSON.stringify([fold, slice ?? null]);
    const place = keys.get(key) ?? places.push({ fold, slice }) - 1;
    keys.set(key, place);
    return String(place);
  });
  const options = { classCount: classNames.length, slices, iou: IOU, maxDets };
  const judged = withoutClasses(truth, (classId) => !told.includes(classNames[classId] ?? ''));
  const perClass = conformalSamples(judged, raw, options);
  const pooled = conformalSamples(judged, calibrateDetections(raw, calibrator), options);
  return {
    join({ slice, classId, keep }: Scope): ConformalSample {
      const chosen = places.flatMap((place, index) => {
        if (!keep(place.fold) || (slice !== null && place.slice !== slice)) return [];
        const sample =
          classId === null
            ? pooled.get(String(index))?.pooled
            : perClass.get(String(index))?.perClass[classId];
        return sample ?? [];
      });
      return {
        pictures: chosen.flatMap(({ pictures }) => pictures),
        scores: chosen.flatMap(({ scores }) => scores),
        hits: chosen.flatMap(({ hits }) => hits),
      };
    },
  };
}

/** Objects that the model cannot name are neither found nor missed. */
function withoutClasses(truth: TruthTable, isOut: (classId: number) => boolean): TruthTable {
  const kinds = truth.kinds.map((kind, row) =>
    isOut(truth.classIds[row] ?? -1) ? TRUTH_KIND.difficult : kind,
  );
  return { ...truth, kinds };
}

interface Verdict {
  readonly threshold: number | null;
  readonly why?: string;
}

function verdictOf(sample: ConformalSample, { target, level, delta = DELTA }: ConformalGoal): Verdict {
  const alpha = 1 - level;
  const found = sampleThresholds(sample, { lost: alpha, precision: { alpha, delta } });
  switch (target) {
    case 'object-recall': {
      const { threshold, objects, objectsNeeded } = found.objectRecall;
      if (threshold === null) return tooFew('objects', objectsNeeded, objects);
      return threshold > 0 ? { threshold } : missesTooMany(sample);
    }
    case 'miss-rate': {
      const { threshold, pictures, picturesNeeded } = found.missRate;
      if (threshold === null) return tooFew('pictures with objects', picturesNeeded, pictures);
      return threshold > 0 ? { threshold } : missesTooMany(sample);
    }
    case 'precision': {
      const { threshold, tests, leastCount } = found.precision;
      if (threshold !== null) return { threshold };
      const [first] = tests;
      if (first === undefined) return tooFew('boxes', leastCount, sample.scores.length);
      const { errors, count, upper } = first;
      return {
        threshold: null,
        why: `${errors} of the ${count} boxes of score ${first.threshold} or more are false: it could be ${percent(upper)}`,
      };
    }
    default:
      return target satisfies never;
  }
}

function tooFew(what: string, needed: number, there: number): Verdict {
  const why = there === 0 ? `there are no ${what}` : `it needs ${needed} ${what}, and there are ${there}`;
  return { threshold: null, why };
}

/** A missed object has a score of 0, and a threshold of 0 would count it as found. */
function missesTooMany({ pictures }: ConformalSample): Verdict {
  const scores = pictures.flat();
  const found = scores.filter((score) => score > 0).length;
  return {
    threshold: null,
    why: `it finds ${found} of ${scores.length} objects (${percent(found / scores.length)}) at most`,
  };
}

/** What a threshold keeps: the sum of shares and their number. */
function measured({ pictures, scores, hits }: ConformalSample, { target }: ConformalGoal, threshold: number) {
  const isKept = (score: number) => score >= threshold;
  switch (target) {
    case 'object-recall': {
      const objects = pictures.flat();
      return { kept: objects.filter(isKept).length, count: objects.length };
    }
    case 'miss-rate':
      return {
        kept: pictures.reduce((sum, own) => sum + own.filter(isKept).length / own.length, 0),
        count: pictures.length,
      };
    case 'precision': {
      const shown = hits.filter((_, row) => isKept(scores[row] ?? 0));
      return { kept: shown.filter((hit) => hit === 1).length, count: shown.length };
    }
    default:
      return target satisfies never;
  }
}

function heldOutOf(
  parts: number,
  {
    fit,
    measure,
  }: {
    readonly fit: (fold: number) => number | null;
    readonly measure: (fold: number, threshold: number) => { readonly kept: number; readonly count: number };
  },
): HeldOut {
  let [kept, count, partsWithout] = [0, 0, 0];
  for (let fold = 0; fold < parts; fold++) {
    const threshold = fit(fold);
    if (threshold === null) {
      partsWithout++;
      continue;
    }
    const own = measure(fold, threshold);
    kept += own.kept;
    count += own.count;
  }
  return { achieved: count === 0 ? null : kept / count, count, partsWithout, parts };
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}
