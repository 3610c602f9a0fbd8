// The light of a picture: what the cues ignore, how right the model is on cameras that it has not seen.
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { firstLight, INFRARED_VALUE, LIGHT_LADDER, type LightCues, measureLight } from '#core';
import { readPicture } from '#data/images';
import { fitOrdinal, ordinalValue } from '../../samples/studies/light-states/ordinal-fit.ts';
import { testData } from '../support/test-data.ts';

const SIZE = { width: 64, height: 48 };

/** rgb24 of a picture, by a function of the place that gives red, green and blue. */
function draw(
  colour: (x: number, y: number) => readonly [number, number, number],
  { width, height } = SIZE,
): Uint8Array {
  const rgb = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rgb.set(colour(x, y), 3 * (y * width + x));
  return rgb;
}

/** A road in even light: brightness from 40 % to 100 % of `most`, slightly warm. */
const evenly = (most: number) =>
  draw((x, y) => {
    const level = most * (0.4 + (0.6 * ((7 * x + 11 * y) % 60)) / 59);
    return [level, level, 0.8 * level];
  });

/** Dark but for a lit patch, and a few lamps. */
const lampsInTheDark = draw((x, y) => {
  if (x % 16 === 3 && y % 12 === 5) return [250, 240, 200];
  const share = x > 20 && x < 50 && y > 20 ? 60 + x : 6;
  return [share, share, 0.7 * share];
});

describe('measureLight', () => {
  it('is what the counts say', () => {
    // 100 cells: 90 at luma 100, 10 at luma 10. Mean 91; a fifth of it is 18.2.
    const rgb = draw((x, y) => (x === 0 ? [10, 10, 10] : [100, 100, 100 + (y === 0 && x === 9 ? 20 : 0)]), {
      width: 10,
      height: 10,
    });
    const { cues, grey } = measureLight(rgb, 10, 10);
    expect(grey).toBe(false);
    expect(cues.shadows).toBe(0.1);
    expect(cues.highlights).toBeCloseTo(Math.log(100 / 91), 2);
    expect(cues.spread).toBeGreaterThan(0.46); // two values, 0.1 and 0.9, and the one blue cell
    expect(cues.spread).toBeLessThan(0.56);
  });

  it('does not change with the exposure', () => {
    const [dim, bright] = [60, 240].map((most) => measureLight(evenly(most), SIZE.width, SIZE.height));
    expect(Math.abs(dim!.value - bright!.value)).toBeLessThan(LIGHT_LADDER.margin);
    expect(firstLight(LIGHT_LADDER, dim!.value).name).toBe('day');
  });

  it('takes lamps in the dark for night', () => {
    const { value } = measureLight(lampsInTheDark, SIZE.width, SIZE.height);
    expect(firstLight(LIGHT_LADDER, value).name).toBe('night');
  });

  it('takes a picture without any colour for infrared, hence for night', () => {
    const grey = draw((x, y) => {
      const level = 90 + ((x + y) % 50);
      return [level, level + 2, level];
    });
    expect(measureLight(grey, SIZE.width, SIZE.height)).toMatchObject({ grey: true, value: INFRARED_VALUE });
    expect(firstLight(LIGHT_LADDER, INFRARED_VALUE).name).toBe('night');
  });

  it('says nothing of a black or an empty picture, and refuses one that is cut off', () => {
    const black = measureLight(new Uint8Array(3 * 64 * 48), 64, 48);
    expect(black.value).toBeNaN();
    expect(measureLight(new Uint8Array(0), 0, 0).value).toBeNaN();
    expect(() => measureLight(new Uint8Array(30), 4, 4)).toThrow(
      '30 bytes are too few for an rgb24 picture of 4x4',
    );
  });

  it('sees the same light at every size', () => {
    const [small, large] = [1, 5].map((times) => {
      const size = { width: 160 * times, height: 90 * times };
      const rgb = draw((x, y) => {
        const [u, v] = [Math.floor(x / times), Math.floor(y / times)];
        const level = 30 + ((13 * u + 29 * v) % 200);
        return [level, level, level / 2];
      }, size);
      return measureLight(rgb, size.width, size.height);
    });
    expect(large).toEqual(small);
  });
});

type State = 0 | 1 | 2;
const STATES: Record<string, State> = { night: 0, dusk: 1, dawn: 1, day: 2 };

interface Row {
  readonly camera: string;
  readonly state: State;
  readonly value: number;
  readonly cues: readonly number[];
}

const inOrder = ({ highlights, shadows, spread }: LightCues) => [highlights, shadows, spread];

/** `[truth][found]`, night, dusk, day. */
function confusion(rows: readonly { readonly state: State; readonly value: number }[]): number[][] {
  const table = [0, 1, 2].map(() => [0, 0, 0]);
  for (const { state, value } of rows) table[state]![value > 1 ? 2 : value > 0 ? 1 : 0]!++;
  return table;
}

const list = testData('datasets/lta_daynight_2021/frames.csv');

describe.skipIf(list === undefined)(
  `the light of seven road cameras${list === undefined ? ' [no lta_daynight_2021]' : ''}`,
  () => {
    const rows: Row[] = [];

    beforeAll(async () => {
      for (const line of readFileSync(list!, 'utf8').trim().split('\n').slice(1)) {
        const [file, , camera, , period] = line.split(',');
        const { rgb, size } = await readPicture(list!.replace('frames.csv', file!));
        const { cues, value } = measureLight(rgb, size.width, size.height);
        rows.push({ camera: camera!, state: STATES[period!]!, value, cues: inOrder(cues) });
      }
    }, 60_000);

    it('is told by the model as it was fitted', () => {
      const model = fitOrdinal(rows);
      for (const { cues, value } of rows) expect(value).toBeCloseTo(ordinalValue(model, cues), 1);
      expect(confusion(rows)).toEqual([
        [67, 3, 0],
        [3, 65, 22],
        [0, 26, 100],
      ]);
    });

    it('is told on a camera that the model has not seen', () => {
      const cameras = [...new Set(rows.map(({ camera }) => camera))];
      const unseen = cameras.flatMap((camera) => {
        const model = fitOrdinal(rows.filter((row) => row.camera !== camera));
        return rows
          .filter((row) => row.camera === camera)
          .map(({ state, cues }) => ({ state, value: ordinalValue(model, cues) }));
      });
      expect(cameras).toHaveLength(7);
      expect(confusion(unseen)).toEqual([
        [66, 4, 0],
        [5, 61, 24],
        [0, 24, 102],
      ]);
    });
  },
);
