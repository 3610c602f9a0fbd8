// A change between two conditions, within cameras and over all of them: where the cameras stand in other shares, the
// two can differ in sign (Simpson, 1951), and only the change within cameras is that of the condition.
import { bootstrapFigures, type Figure, noVerdict, type Resampling, type Stratum } from './bootstrap.ts';

/** A mean as a ratio of sums over pictures: hits per object, error per detection, boxes per picture. */
export interface RatioPerPicture {
  /** Float64[pictures]. */
  readonly numerators: Float64Array;
  /** Float64[pictures], at least 0. */
  readonly denominators: Float64Array;
}

/** Which pictures are compared. */
export interface ComparedPictures {
  /** Pictures by condition, then by camera. */
  readonly first: { readonly name: string; readonly cameras: ReadonlyMap<string, readonly number[]> };
  readonly second: { readonly name: string; readonly cameras: ReadonlyMap<string, readonly number[]> };
}

export interface CameraEffect {
  readonly camera: string;
  readonly pictures: readonly [first: number, second: number];
  /** Sums of denominators: objects, detections. */
  readonly counts: readonly [first: number, second: number];
  readonly first: number;
  readonly second: number;
  /** second − first. */
  readonly change: number;
}

/** Changes are second − first. */
export interface Effect {
  readonly first: Figure;
  readonly second: Figure;
  /** Over all pictures as if they were of one camera. */
  readonly pooled: Figure;
  /** Mantel-Haenszel mean of the changes within cameras (Greenland and Robins, 1985); pictures drawn within cameras. */
  readonly within: Figure;
  /** The same with whole cameras drawn: what other cameras could give. */
  readonly byCamera: Figure;
  /** Cameras with both conditions. */
  readonly perCamera: readonly CameraEffect[];
  /** Whether `pooled` and `within` point in opposite directions. */
  readonly signsDisagree: boolean;
}

/** Fewest sums of denominators (objects, detections, pictures) a side. */
const LEAST_DENOMINATOR = 20;

/** Exchanging the conditions turns signs and exchanges first and second; nothing else. */
export function conditionEffect(
  ratio: RatioPerPicture,
  { first, second }: ComparedPictures,
  resampling: Resampling = {},
): Effect {
  const pictureCount = ratio.numerators.length;
  const perCamera = camerasOfBoth(ratio, { first, second });
  const all = [first, second].map(({ cameras }) => [...cameras.values()].flat());
  const few = all
    .map((pictures) => sumOver(ratio.denominators, pictures))
    .find((sum) => sum < LEAST_DENOMINATOR);
  if (few !== undefined) {
    const none = noVerdict(`${few} counted on one side; a change needs ${LEAST_DENOMINATOR} or more`);
    return {
      first: none,
      second: none,
      pooled: none,
      within: none,
      byCamera: none,
      perCamera,
      signsDisagree: false,
    };
  }
  const shared = perCamera.map(
    ({ camera }) => [first.cameras.get(camera)!, second.cameras.get(camera)!] as const,
  );
  const measure = (counts: Int32Array) => {
    const [one, two] = all.map((pictures) => drawnRatio(ratio, pictures, counts)?.ratio);
    return {
      first: one,
      second: two,
      pooled: one === undefined || two === undefined ? undefined : two - one,
      within: mantelHaenszel(ratio, shared, counts),
    };
  };
  const figures = bootstrapFigures(
    pictureCount,
    [...strataOf(first), ...strataOf(second)],
    measure,
    resampling,
  );
  const byCamera = bootstrapFigures(
    shared.length,
    [{ key: 'cameras', groups: [...shared.keys()] }],
    (cameras) => ({ change: mantelHaenszel(ratio, shared, undefined, cameras) }),
    resampling,
  ).change;
  const { pooled, within } = figures;
  return {
    ...figures,
    within: perCamera.length === 0 ? noVerdict('no camera has both conditions') : within,
    byCamera,
    perCamera,
    signsDisagree:
      pooled.kind === 'estimate' && within.kind === 'estimate' && pooled.value * within.value < 0,
  };
}

/** One stratum per camera, named by camera and condition. */
export function strataOf({ name, cameras }: ComparedPictures['first']): Stratum[] {
  return [...cameras].map(([camera, pictures]) => ({ key: `${camera}\n${name}`, groups: pictures }));
}

function camerasOfBoth(ratio: RatioPerPicture, { first, second }: ComparedPictures): CameraEffect[] {
  const names = [...first.cameras.keys()].filter((camera) => second.cameras.has(camera)).sort();
  return names.flatMap((camera) => {
    const [one, two] = [first.cameras.get(camera)!, second.cameras.get(camera)!];
    const [before, after] = [drawnRatio(ratio, one), drawnRatio(ratio, two)];
    if (before === undefined || after === undefined) return [];
    return {
      camera,
      pictures: [one.length, two.length] as const,
      counts: [before.count, after.count] as const,
      first: before.ratio,
      second: after.ratio,
      change: after.ratio - before.ratio,
    };
  });
}

function drawnRatio(
  { numerators, denominators }: RatioPerPicture,
  pictures: readonly number[],
  counts?: Int32Array,
): { readonly ratio: number; readonly count: number } | undefined {
  let [above, below] = [0, 0];
  for (const picture of pictures) {
    const copies = counts?.[picture] ?? 1;
    above += copies * numerators[picture]!;
    below += copies * denominators[picture]!;
  }
  return below === 0 ? undefined : { ratio: above / below, count: below };
}

/** Σ w (r₂ − r₁) / Σ w with w = n₁ n₂ / (n₁ + n₂) per camera; cameras that a draw leaves empty fall out. */
function mantelHaenszel(
  ratio: RatioPerPicture,
  cameras: readonly (readonly [readonly number[], readonly number[]])[],
  counts?: Int32Array,
  copies?: Int32Array,
): number | undefined {
  let [sum, total] = [0, 0];
  for (const [camera, [one, two]] of cameras.entries()) {
    const [before, after] = [drawnRatio(ratio, one, counts), drawnRatio(ratio, two, counts)];
    if (before === undefined || after === undefined) continue;
    const weight = ((copies?.[camera] ?? 1) * (before.count * after.count)) / (before.count + after.count);
    sum += weight * (after.ratio - before.ratio);
    total += weight;
  }
  return total === 0 ? undefined : sum / total;
}

function sumOver(values: Float64Array, pictures: readonly number[]): number {
  return pictures.reduce((sum, picture) => sum + values[picture]!, 0);
}
