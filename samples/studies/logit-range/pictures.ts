// Which pictures train the reference, adapt it, fit what is fitted afterwards, and judge: never the same camera for two
// of these, but for the one camera that a head is adapted to, whose pictures are cut by time.
import { basename } from 'node:path';
import { DataError } from 'edge-detect/core';
import type { LabelledPicture } from 'edge-detect/data';

export type LightName = 'day' | 'dusk' | 'night';

export interface PlacedPicture {
  readonly picture: LabelledPicture;
  readonly camera: string;
  readonly light: LightName;
}

/** An adaptation: what it learns from, and what it is judged by. */
export interface Adaptation {
  readonly name: 'night' | 'camera';
  readonly adapt: readonly LabelledPicture[];
  /** For temperature and Platt map: of the same kind as `adapt`, and used for nothing else. */
  readonly calibrate: readonly LabelledPicture[];
  readonly judged: {
    /** What the head was adapted to. */
    readonly adapted: readonly LabelledPicture[];
    /** What neither reference nor adaptation saw. */
    readonly unseen: readonly LabelledPicture[];
  };
}

export interface SeedPictures {
  readonly heldOut: readonly [string, string];
  readonly reference: readonly LabelledPicture[];
  readonly adaptations: readonly Adaptation[];
}

/** Two cameras are held out, one calibrates, one is the new site, and one at least must be left for the reference. */
const FEWEST_CAMERAS = 5;

/** Shares of the new camera's pictures, in time order within each light: adapt, calibrate, the rest judges. */
const ADAPT_SHARE = 0.6;
const CALIBRATE_SHARE = 0.2;

/**
 * Seed k holds out the cameras 2k and 2k + 1 of the sorted ones, as the other studies do; 2k + 2 calibrates, 2k + 3 is
 * the new site. `night`: a head of day pictures learns the night of the same cameras and is judged by the night (adapted)
 * and the dusk (unseen) of the held-out ones. `camera`: it learns the new site in all its light and is judged by later
 * pictures of it (adapted) and by the held-out cameras in all light (unseen).
 * @throws DataError for fewer than five cameras, or where a part is left without pictures
 */
export function picturesOfSeed(all: readonly PlacedPicture[], seed: number): SeedPictures {
  const cameras = [...new Set(all.map(({ camera }) => camera))].sort();
  if (cameras.length < FEWEST_CAMERAS) {
    throw new DataError(
      `the pictures come from ${cameras.length} cameras, this study needs ${FEWEST_CAMERAS}`,
      {
        hint: 'two are held out, one calibrates, one is adapted to, the others train the reference',
      },
    );
  }
  const turned = cameras.map((_, place) => cameras[(2 * seed + place) % cameras.length]!);
  const [first = '', second = '', calibrating = '', site = '', ...sources] = turned;
  const held = [first, second];
  const pick = (chosen: readonly string[], lights: readonly LightName[]) =>
    all
      .filter(({ camera, light }) => chosen.includes(camera) && lights.includes(light))
      .map(({ picture }) => picture);
  const every: readonly LightName[] = ['day', 'dusk', 'night'];
  const blocks = every.map((light) => cutByTime(pick([site], [light])));
  const block = (part: 0 | 1 | 2) => blocks.flatMap((parts) => parts[part]);
  const pictures: SeedPictures = {
    heldOut: [first, second],
    reference: pick(sources, ['day']),
    adaptations: [
      {
        name: 'night',
        adapt: pick(sources, ['night']),
        calibrate: pick([calibrating, site], ['night']),
        judged: { adapted: pick(held, ['night']), unseen: pick(held, ['dusk']) },
      },
      {
        name: 'camera',
        adapt: block(0),
        calibrate: block(1),
        judged: { adapted: block(2), unseen: pick(held, every) },
      },
    ],
  };
  expectPictures(pictures, seed);
  return pictures;
}

type Cut = readonly [LabelledPicture[], LabelledPicture[], LabelledPicture[]];

/** Names hold the time: neighbours in time look alike, so parts are blocks and no draws. */
function cutByTime(pictures: readonly LabelledPicture[]): Cut {
  const sorted = [...pictures].sort((a, b) => (basename(a.path) < basename(b.path) ? -1 : 1));
  const [adapt, calibrate] = [ADAPT_SHARE, ADAPT_SHARE + CALIBRATE_SHARE].map((share) =>
    Math.round(share * sorted.length),
  );
  return [sorted.slice(0, adapt), sorted.slice(adapt, calibrate), sorted.slice(calibrate)];
}

function expectPictures({ reference, adaptations }: SeedPictures, seed: number): void {
  const parts = [
    ['the reference', reference] as const,
    ...adaptations.flatMap(({ name, adapt, calibrate, judged }) => [
      [`${name}: adaptation`, adapt] as const,
      [`${name}: calibration`, calibrate] as const,
      [`${name}: judging what it was adapted to`, judged.adapted] as const,
      [`${name}: judging what it never saw`, judged.unseen] as const,
    ]),
  ];
  const empty = parts.find(([, pictures]) => pictures.every(({ objects }) => objects.length === 0));
  if (empty === undefined) return;
  throw new DataError(`seed ${seed} leaves no labelled picture for ${empty[0]}`, {
    hint: 'every camera needs pictures by day, at dusk and at night, and three or more of each',
  });
}
