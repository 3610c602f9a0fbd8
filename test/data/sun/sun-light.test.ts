// The sun: published rises and sets, the states between them, and how they agree with the periods of a data set.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CIVIL_LIMITS, type SunLimits, sunLight } from '../../../src/data/sun/index.ts';
import { testData } from '../../support/test-data.ts';

const SINGAPORE = { latitude: 1.35, longitude: 103.82 };
const GREENWICH = { latitude: 51.4769, longitude: 0 };
const TROMSO = { latitude: 69.65, longitude: 18.96 };

const at = (time: string, place = SINGAPORE, limits: SunLimits = CIVIL_LIMITS) =>
  sunLight({ time: new Date(time), ...place }, limits);

describe('sunLight', () => {
  // Published to the minute: the sun's centre stands at -0.833 degrees within the time that a minute makes.
  it.each([
    ['Singapore, rise', '2021-03-20T07:08:00+08:00', SINGAPORE, true],
    ['Singapore, set', '2021-03-20T19:16:00+08:00', SINGAPORE, false],
    ['Greenwich, rise on 21 June 2021', '2021-06-21T04:43:00+01:00', GREENWICH, true],
    ['Greenwich, set on 21 June 2021', '2021-06-21T21:21:00+01:00', GREENWICH, false],
    ['Greenwich, rise on 21 December 2021', '2021-12-21T08:03:00Z', GREENWICH, true],
    ['Greenwich, set on 21 December 2021', '2021-12-21T15:53:00Z', GREENWICH, false],
  ])('%s', (_, time, place, rising) => {
    const found = at(time, place);
    expect(Math.abs(found.elevation - CIVIL_LIMITS.day)).toBeLessThan(0.3);
    expect(found.rising).toBe(rising);
  });

  it('goes from night over dawn to day, and over dusk to night', () => {
    const times = ['05:00', '06:55', '07:15', '12:00', '19:10', '19:25', '19:45', '23:59'];
    expect(times.map((time) => at(`2021-03-20T${time}:00+08:00`).state)).toEqual([
      'night',
      'dawn',
      'day',
      'day',
      'day',
      'dusk',
      'night',
      'night',
    ]);
  });

  it('stands overhead at noon of the equinox on the equator, and knows midnight sun and polar night', () => {
    expect(at('2021-03-20T13:12:00+08:00').elevation).toBeGreaterThan(88);
    expect(at('2021-06-21T00:00:00+02:00', TROMSO).state).toBe('day');
    expect(at('2021-12-21T11:40:00+01:00', TROMSO)).toMatchObject({
      state: expect.stringMatching(/dawn|dusk/),
    });
    expect(at('2021-12-21T00:00:00+01:00', TROMSO).state).toBe('night');
  });

  it('takes other limits', () => {
    expect(at('2021-03-20T18:40:00+08:00', SINGAPORE, { day: 10, night: -8 }).state).toBe('dusk');
    expect(at('2021-03-20T19:45:00+08:00', SINGAPORE, { day: 10, night: -12 }).state).toBe('dusk');
  });

  it('refuses what is no time, no place, no order', () => {
    expect(() => at('yesterday')).toThrow('is no time');
    expect(() => at('2021-03-20T12:00:00Z', { latitude: 103.82, longitude: 1.35 })).toThrow(
      'latitude 103.82, longitude 1.35 is no place on earth',
    );
    expect(() => at('2021-03-20T12:00:00Z', { latitude: Number.NaN, longitude: 1 })).toThrow('no place');
    expect(() => at('2021-03-20T12:00:00Z', SINGAPORE, { day: -6, night: -0.833 })).toThrow(
      'the limit of the night, -0.833 degrees, lies above that of the day, -6',
    );
  });
});

const list = testData('datasets/lta_daynight_2021/frames.csv');
const STATES = ['night', 'dusk', 'day'];

/** `[period][state]` in the order of STATES, dawn as dusk. */
function confusion(limits: SunLimits): number[][] {
  const table = STATES.map(() => [0, 0, 0]);
  for (const line of readFileSync(list!, 'utf8').trim().split('\n').slice(1)) {
    const [, , , time, period] = line.split(',');
    const { state } = at(time!, SINGAPORE, limits);
    const [row, column] = [period!, state].map((name) => STATES.indexOf(name === 'dawn' ? 'dusk' : name));
    table[row!]![column!]!++;
  }
  return table;
}

describe.skipIf(list === undefined)(
  `the sun over seven road cameras${list === undefined ? ' [no lta_daynight_2021]' : ''}`,
  () => {
    it('agrees by day and by night with the clock; the 46 minutes before sunset, there dusk, are day to it', () => {
      expect(confusion(CIVIL_LIMITS)).toEqual([
        [70, 0, 0],
        [11, 18, 61],
        [0, 0, 126],
      ]);
    });

    it('agrees at dusk, too, with the limits of that clock, which has a shorter morning than evening', () => {
      expect(confusion({ day: 10.5, night: -8 })).toEqual([
        [70, 0, 0],
        [0, 90, 0],
        [0, 16, 110],
      ]);
    });
  },
);
