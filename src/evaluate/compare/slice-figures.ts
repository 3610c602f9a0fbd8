// The figures of each slice and their differences, with intervals over resampled pictures (within cameras).
import {
  bootstrapFigures,
  type DrawnCalibration,
  drawnAp,
  drawnBestF1,
  drawnCalibration,
  drawnRates,
  type Figure,
  negated,
  noVerdict,
  type Resampling,
  strataOf,
  type Tally,
  tallyAt,
} from '#core';
import { conditionOf, type JoinedSlices, type LabelledTables, picturesOf } from './joined-slices.ts';

const SLICE_MEASURES = [
  'ap50',
  'ap',
  'dEce',
  'laEce0',
  'bestThreshold',
  'bestF1',
  'precision',
  'recall',
  'f1',
] as const;
type SliceMeasure = (typeof SLICE_MEASURES)[number];

/**
 * AP means over classes with objects; D-ECE and LaECE0 in the conventions of `detectionEce` and `localisationEce`;
 * `bestThreshold` and `bestF1` with all classes under one threshold; `precision`, `recall`, `f1` at the fixed one.
 */
export type SliceFigures = Readonly<Record<SliceMeasure, Figure>>;

export interface FiguresOfSlices {
  /** By slice name. */
  readonly perSlice: ReadonlyMap<string, SliceFigures>;
  /** second − first. */
  difference(first: string, second: string): SliceFigures;
}

/** Fewest objects of a slice that are judged. */
const LEAST_OBJECTS = 20;

export function figuresOfSlices(
  joined: JoinedSlices,
  labelled: LabelledTables,
  {
    threshold,
    maxDets,
    ...resampling
  }: Resampling & { readonly threshold: number; readonly maxDets: number },
): FiguresOfSlices {
  const names = [...joined.conditions.keys()];
  const measures = createMeasures(joined, labelled, { threshold, maxDets });
  const masks = names.map((name) => new Set(picturesOf(conditionOf(joined, name))));
  const own = new Int32Array(joined.pictures.length);
  const pairs = names.flatMap((first, place) => names.slice(place + 1).map((second) => ({ first, second })));
  const figures = bootstrapFigures<string>(
    joined.pictures.length,
    [...joined.conditions.values()].flatMap(strataOf),
    (counts) => {
      const values = names.map((_, place) => {
        own.fill(0);
        for (const picture of masks[place] ?? []) own[picture] = counts[picture] ?? 0;
        return measures(own);
      });
      const entries = names.flatMap((name, place) =>
        SLICE_MEASURES.map((measure) => [`${name}\n${measure}`, values[place]?.[measure]] as const),
      );
      const differences = pairs.flatMap(({ first, second }) => {
        const [one, two] = [values[names.indexOf(first)], values[names.indexOf(second)]];
        return SLICE_MEASURES.map((measure) => {
          const [a, b] = [one?.[measure], two?.[measure]];
          return [
            `${first}\n${second}\n${measure}`,
            a === undefined || b === undefined ? undefined : b - a,
          ] as const;
        });
      });
      return Object.fromEntries([...entries, ...differences]);
    },
    resampling,
  );
  const tooFew = new Map(
    names.map((name, place) => [name, whyTooFew(labelled, name, masks[place] ?? new Set())] as const),
  );
  const pictureCount = (name: string) => masks[names.indexOf(name)]?.size ?? 0;
  const read = (key: string, pictures: number, reason: string | undefined): SliceFigures => {
    const one = (measure: SliceMeasure): Figure => {
      if (reason !== undefined) return noVerdict(reason);
      const figure = figures[`${key}\n${measure}`] ?? noVerdict('nothing to measure');
      // All slices are drawn at once; the figure rests on the pictures of its own.
      return figure.kind === 'none' ? figure : { ...figure, groups: pictures };
    };
    return Object.fromEntries(SLICE_MEASURES.map((measure) => [measure, one(measure)])) as SliceFigures;
  };
  return {
    perSlice: new Map(names.map((name) => [name, read(name, pictureCount(name), tooFew.get(name))])),
    difference(first, second) {
      const reason = tooFew.get(first) ?? tooFew.get(second);
      const pictures = pictureCount(first) + pictureCount(second);
      if (names.indexOf(first) < names.indexOf(second)) return read(`${first}\n${second}`, pictures, reason);
      return turned(read(`${second}\n${first}`, pictures, reason));
    },
  };
}

function turned(figures: SliceFigures): SliceFigures {
  const entries = Object.entries(figures).map(([name, figure]) => [name, negated(figure)]);
  return Object.fromEntries(entries) as SliceFigures;
}

/** Fewest pictures of a slice: resampled within cameras, fewer hardly vary, and their intervals are far too narrow. */
export const LEAST_PICTURES = 10;

function whyTooFew(
  { pooled }: LabelledTables,
  name: string,
  pictures: ReadonlySet<number>,
): string | undefined {
  const objects = [...pictures].reduce((sum, picture) => sum + (pooled.positives[picture] ?? 0), 0);
  if (pictures.size < LEAST_PICTURES) {
    return `${name} has ${pictures.size} pictures; figures need ${LEAST_PICTURES} or more`;
  }
  if (objects < LEAST_OBJECTS) {
    return `${name} has ${objects} objects; figures need ${LEAST_OBJECTS} or more`;
  }
  return undefined;
}

function createMeasures(
  { classNames, comparable, detections }: JoinedSlices,
  { truth, perClass, pooled }: LabelledTables,
  { threshold, maxDets }: { readonly threshold: number; readonly maxDets: number },
): (counts: Int32Array) => Readonly<Record<SliceMeasure, number | undefined>> {
  const calibration: DrawnCalibration = drawnCalibration(truth, detections, {
    classCount: classNames.length,
    maxDets,
  });
  const tally: Tally = tallyAt(pooled, threshold);
  return (counts) => {
    const aps = comparable.flatMap((classId) => {
      const outcomes = perClass[classId];
      return (outcomes && drawnAp(outcomes, counts)) ?? [];
    });
    const mean = (read: (one: { ap: number; ap50: number }) => number) =>
      aps.length === 0 ? undefined : aps.reduce((sum, one) => sum + read(one), 0) / aps.length;
    const best = drawnBestF1(pooled, counts);
    return {
      ap50: mean(({ ap50 }) => ap50),
      ap: mean(({ ap }) => ap),
      dEce: calibration.dEce(counts),
      laEce0: calibration.laEce0(counts),
      bestThreshold: best?.threshold,
      bestF1: best?.f1,
      ...drawnRates(tally, counts),
    };
  };
}
