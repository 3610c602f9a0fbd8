// Which pictures of a camera choose thresholds and which test them.
import { drawnBestF1, type PictureOutcomes } from '#core';
import { LEAST_CHOOSING_OBJECTS } from './condition-thresholds.ts';
import { conditionOf, type JoinedSlices } from './joined-slices.ts';

/** Thresholds of one camera. */
export interface Choice {
  readonly camera: string;
  readonly fixedThreshold: number;
  readonly thresholds: readonly (number | undefined)[];
  /** Tested pictures per condition. */
  readonly tested: readonly (readonly number[])[];
}

/** The first half by time of each condition of the camera chooses; an odd picture goes to the choice. */
export function chooseByHalves(joined: JoinedSlices, pooled: PictureOutcomes, camera: string): Choice[] {
  const halves = joined.names.map((name) => {
    const own = [...(conditionOf(joined, name).cameras.get(camera) ?? [])].sort((a, b) =>
      byTime(joined, a, b),
    );
    const middle = Math.ceil(own.length / 2);
    return { choosing: own.slice(0, middle), tested: own.slice(middle) };
  });
  return choiceOf(joined, pooled, {
    camera,
    choosing: halves.map(({ choosing }) => choosing),
    tested: halves.map(({ tested }) => tested),
  });
}

function byTime({ pictures }: JoinedSlices, a: number, b: number): number {
  return (pictures[a]?.timeSeconds ?? 0) - (pictures[b]?.timeSeconds ?? 0) || a - b;
}

/** Pictures of the other cameras choose, those of this one test. */
export function chooseOnOthers(
  joined: JoinedSlices,
  pooled: PictureOutcomes,
  { camera, cameras }: { readonly camera: string; readonly cameras: readonly string[] },
): Choice[] {
  const of = (one: string, name: string) => conditionOf(joined, name).cameras.get(one) ?? [];
  return choiceOf(joined, pooled, {
    camera,
    choosing: joined.names.map((name) =>
      cameras.filter((one) => one !== camera).flatMap((one) => of(one, name)),
    ),
    tested: joined.names.map((name) => of(camera, name)),
  });
}

function choiceOf(
  joined: JoinedSlices,
  pooled: PictureOutcomes,
  {
    camera,
    choosing,
    tested,
  }: { readonly camera: string } & Readonly<Record<'choosing' | 'tested', readonly (readonly number[])[]>>,
): Choice[] {
  // Halves of a camera hold few pictures: objects alone decide whether a threshold can be chosen.
  const bestOn = (pictures: readonly number[]) => {
    const objects = pictures.reduce((sum, picture) => sum + (pooled.positives[picture] ?? 0), 0);
    if (objects < LEAST_CHOOSING_OBJECTS) return undefined;
    return drawnBestF1(pooled, countsOf(joined, pictures))?.threshold;
  };
  const fixedThreshold = bestOn(choosing.flat());
  if (fixedThreshold === undefined || tested.flat().length === 0) return [];
  const thresholds = choosing.map(bestOn);
  return [{ camera, fixedThreshold, thresholds, tested }];
}

/** Each drawn picture counted once. */
export function countsOf({ pictures }: JoinedSlices, drawn: readonly number[]): Int32Array {
  const counts = new Int32Array(pictures.length);
  for (const picture of drawn) counts[picture] = 1;
  return counts;
}
