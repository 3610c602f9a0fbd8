// The light by the sun, as a camera follows it: on the times of a day that seven road cameras took pictures on.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createLetterbox, DEFAULT_FIT } from '#core';
import { type Frame, followSun } from '#runtime';
import { followLight } from '../../runtime/light.ts';
import { parseZonedTime } from '../../runtime/sun-light.ts';
import { testData } from '../support/test-data.ts';

const SINGAPORE = { latitude: 1.35, longitude: 103.82 };
const SIZE = { width: 32, height: 32 };

function frameAt(source: string, capturedAtMs: number): Frame {
  return {
    source,
    index: 0,
    ptsSeconds: capturedAtMs / 1000,
    capturedAtMs,
    letterbox: createLetterbox(SIZE, SIZE, DEFAULT_FIT),
    content: new Uint8Array(3 * SIZE.width * SIZE.height),
    release: () => undefined,
  };
}

it('reads a time with its zone, and no other', () => {
  expect(parseZonedTime('2021-03-20T18:30:00+08:00')).toBe(Date.UTC(2021, 2, 20, 10, 30));
  expect(parseZonedTime('2021-03-20T10:30:00Z')).toBe(Date.UTC(2021, 2, 20, 10, 30));
  for (const text of ['2021-03-20T18:30:00', 'now', '2021-03-50T18:30:00Z'])
    expect(parseZonedTime(text)).toBeUndefined();
});

const list = testData('datasets/lta_daynight_2021/frames.csv');

describe.skipIf(list === undefined)(
  `the sun over seven road cameras${list === undefined ? ' [no lta_daynight_2021]' : ''}`,
  () => {
    // Published for Singapore on 20 March 2021; the edges of civil twilight lie 21 minutes before and after.
    const changes = ['06:47', '07:08', '19:16', '19:37'].map((time) =>
      Date.parse(`2021-03-20T${time}:00+08:00`),
    );

    it('changes the state within two pictures of each change of the sun', async () => {
      const lines = readFileSync(list!, 'utf8').trim().split('\n').slice(1);
      const rows = lines.map((line) => line.split(','));
      const cameras = [...new Set(rows.map(([, , camera]) => camera!))];
      const sun = await followSun(SINGAPORE);
      let compared = 0;
      for (const camera of cameras) {
        const follower = followLight(sun);
        const times = rows
          .filter((row) => row[2] === camera)
          .map(([, , , time]) => Date.parse(time!))
          .sort((a, b) => a - b);
        const states = times.map((atMs) => follower.observe(frameAt(camera, atMs)).state);
        for (const [index, change] of changes.entries()) {
          const [before, after] = [
            ['night', 'dusk'],
            ['dusk', 'day'],
            ['day', 'dusk'],
            ['dusk', 'night'],
          ][index]!;
          const isMorning = index < 2;
          const sameHalf = times.map((atMs) => atMs < Date.parse('2021-03-20T13:00:00+08:00') === isMorning);
          // Pictures on the wrong side: before the change with a state of after it, or the other way round.
          const order = ['night', 'dusk', 'day'];
          const brighter = Math.max(order.indexOf(before!), order.indexOf(after!));
          const isBright = states.map((state) => order.indexOf(state!) >= brighter);
          const wrong = times.filter(
            (atMs, place) =>
              sameHalf[place] && isBright[place] !== (isMorning ? atMs >= change : atMs < change),
          );
          expect(wrong.length, `${camera} at change ${index}`).toBeLessThanOrEqual(2);
          compared += sameHalf.filter(Boolean).length;
        }
      }
      expect(cameras).toHaveLength(7);
      expect(compared).toBe(2 * rows.length);
    });
  },
);
