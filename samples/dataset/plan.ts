// Which pictures a data set has: cameras go to one split each, and every camera sees every light.
import type { Light, SceneOptions, Size, Weather } from '../world/index.ts';

export type SplitName = 'train' | 'val' | 'test';

/** Some moments of one scene. */
export interface Take {
  readonly split: SplitName;
  readonly scene: SceneOptions;
  readonly timesSeconds: readonly number[];
}

export interface DatasetRequest {
  readonly pictures: number;
  readonly cameras: number;
  readonly size: Size;
  readonly seed: number;
}

/** Half of the pictures are dusk or night: there the detector has to learn doubt. One in seven is rainy. */
const HOURS: readonly (readonly [Light, Weather])[] = [
  ['sun', 'dry'],
  ['dusk', 'dry'],
  ['night', 'dry'],
  ['overcast', 'dry'],
  ['sun', 'dry'],
  ['dusk', 'rain'],
  ['night', 'dry'],
  ['overcast', 'rain'],
  ['dusk', 'dry'],
  ['sun', 'dry'],
  ['night', 'rain'],
  ['overcast', 'dry'],
  ['dusk', 'dry'],
  ['night', 'dry'],
];

const PICTURES_A_TAKE = 4;
/** Apart far enough for most of the traffic to have changed. */
const SECONDS_APART = 17.3;

export function planTakes({ pictures, cameras, size, seed }: DatasetRequest): readonly Take[] {
  const takes: Take[] = [];
  for (let index = 0; index < cameras; index++) {
    const count = Math.floor(((index + 1) * pictures) / cameras) - Math.floor((index * pictures) / cameras);
    const split = splitOf(index, cameras);
    for (let done = 0, take = 0; done < count; take++) {
      const [light, weather] = HOURS[(index * 5 + take) % HOURS.length]!;
      const timesSeconds = Array.from(
        { length: Math.min(PICTURES_A_TAKE, count - done) },
        (_, moment) => Math.round((20 + moment * SECONDS_APART + take * 3.1) * 10) / 10,
      );
      const scene = {
        camera: seed * 1000 + index,
        seed: seed * 1000 + index * 37 + take,
        light,
        weather,
        size,
      };
      takes.push({ split, scene, timesSeconds });
      done += timesSeconds.length;
    }
  }
  return takes;
}

/** Of every seven cameras, one validates and one tests; of three, each split has one. */
function splitOf(index: number, cameras: number): SplitName {
  const held = Math.max(1, Math.round(cameras / 7));
  if (index < held) return 'val';
  return index < 2 * held ? 'test' : 'train';
}
