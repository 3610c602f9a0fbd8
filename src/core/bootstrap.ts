// Intervals of figures by resampling whole groups (pictures, cameras, tracks): what lies in one group is not
// independent. Percentile intervals (Efron and Tibshirani, 1993, chapter 13), or no verdict where groups are too few.
import { createRandom, deriveSeed } from './random.ts';

/** Too little data: said, instead of a number that would be read as one. */
export interface NoVerdict {
  readonly kind: 'none';
  readonly reason: string;
}

export interface Estimate {
  readonly kind: 'estimate';
  readonly value: number;
  /** 95 % percentile interval over resampled groups; too narrow below some 20 groups. */
  readonly low: number;
  readonly high: number;
  readonly groups: number;
}

export type Figure = Estimate | NoVerdict;

export interface Resampling {
  /** Default 1000. */
  readonly resamples?: number;
  readonly seed?: number;
}

/** Groups that are drawn in place of one another, as many as there are. */
export interface Stratum {
  /** Seeds the draws: they depend on this name and not on the place in a list, so that order changes nothing. */
  readonly key: string;
  readonly groups: readonly number[];
}

/** Fewest groups that give an interval. */
export const LEAST_GROUPS = 5;
export const DEFAULT_RESAMPLES = 1000;
const TAIL = 0.025;
/** A figure that is undefined in more resamples than this share has no interval. */
const MOST_UNDEFINED = 0.05;

export function noVerdict(reason: string): NoVerdict {
  return { kind: 'none', reason };
}

/** The same estimate of the negated figure; also of a difference seen from the other side. */
export function negated(figure: Figure): Figure {
  if (figure.kind === 'none') return figure;
  // Not `-x`: a figure of 0 would become -0, which JSON does not know.
  return { ...figure, value: 0 - figure.value, low: 0 - figure.high, high: 0 - figure.low };
}

/** -1 or 1 where the whole interval lies on that side of 0, else 0. */
export function sureSign(figure: Figure): -1 | 0 | 1 {
  if (figure.kind === 'none') return 0;
  return figure.low > 0 ? 1 : figure.high < 0 ? -1 : 0;
}

/**
 * Figures with intervals.
 * @param groupCount length of the counts that `measure` gets; groups of no stratum count 0
 * @param measure figures by name from how often each group was drawn; undefined where there is nothing to measure.
 * Called once with all groups of the strata counted once, then once a resample, always with the same array
 */
export function bootstrapFigures<Name extends string>(
  groupCount: number,
  strata: readonly Stratum[],
  measure: (counts: Int32Array) => Readonly<Record<Name, number | undefined>>,
  { resamples = DEFAULT_RESAMPLES, seed = 0 }: Resampling = {},
): Readonly<Record<Name, Figure>> {
  const groups = strata.reduce((sum, stratum) => sum + stratum.groups.length, 0);
  const counts = new Int32Array(groupCount);
  for (const stratum of strata) for (const group of stratum.groups) counts[group] = 1;
  const values = measure(counts);
  const names = Object.keys(values) as Name[];
  const drawn = new Map(names.map((name) => [name, [] as number[]]));
  if (groups >= LEAST_GROUPS) {
    const draws = strata.map(({ key }) => createRandom(deriveSeed(seed, hashText(key))));
    for (let resample = 0; resample < resamples; resample++) {
      counts.fill(0);
      for (const [place, { groups: own }] of strata.entries()) {
        for (let draw = 0; draw < own.length; draw++) counts[own[draws[place]!.integer(own.length)]!]!++;
      }
      const one = measure(counts);
      for (const name of names) if (one[name] !== undefined) drawn.get(name)!.push(one[name]);
    }
  }
  const figure = (name: Name) => figureOf(values[name], drawn.get(name)!, { groups, resamples });
  return Object.fromEntries(names.map((name) => [name, figure(name)])) as Record<Name, Figure>;
}

function figureOf(
  value: number | undefined,
  drawn: number[],
  { groups, resamples }: { readonly groups: number; readonly resamples: number },
): Figure {
  if (value === undefined) return noVerdict('nothing to measure');
  if (groups < LEAST_GROUPS) {
    return noVerdict(`${groups} groups; an interval needs ${LEAST_GROUPS} or more`);
  }
  if (drawn.length < (1 - MOST_UNDEFINED) * resamples) {
    return noVerdict(`undefined in ${resamples - drawn.length} of ${resamples} resamples`);
  }
  const [low, high] = percentileInterval(drawn);
  return { kind: 'estimate', value, low, high, groups };
}

/** Sorts in place. The two ends lie equally far from the ends of the list: negated draws give the negated interval. */
function percentileInterval(drawn: number[]): [low: number, high: number] {
  drawn.sort((a, b) => a - b);
  const last = drawn.length - 1;
  const first = Math.round(TAIL * last);
  return [drawn[first]!, drawn[last - first]!];
}

/** FNV-1a over UTF-16 units, 32 bits. */
function hashText(text: string): number {
  let hash = 0x811c_9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x0100_0193);
  }
  return hash >>> 0;
}

/** Quantile by linear interpolation of values that rise, each `counts` times; the two ends mirror exactly. */
export function weightedQuantile(
  sorted: Float64Array,
  counts: Int32Array,
  share: number,
): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const at = share * (total - 1);
  const below = Math.floor(at);
  const fraction = at - below;
  let seen = 0;
  let low: number | undefined;
  for (let place = 0; place < sorted.length; place++) {
    seen += counts[place]!;
    if (low === undefined && seen > below) low = sorted[place]!;
    if (seen > below + 1 || (fraction === 0 && low !== undefined)) {
      return low! * (1 - fraction) + sorted[place]! * fraction;
    }
  }
  return low;
}
