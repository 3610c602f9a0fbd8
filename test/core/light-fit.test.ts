// Boundaries of the light that are fitted to pictures whose state is known.
import { describe, expect, it } from 'vitest';
import { fitLightLadder, LIGHT_LADDER } from '#core';

/** `count` values from `from` to `to`. */
const spread = (from: number, to: number, count = 10) =>
  Array.from({ length: count }, (_, index) => from + ((to - from) * index) / (count - 1));

describe('fitLightLadder', () => {
  it('puts boundaries into the middle of what lies between the states, from dark to bright', () => {
    const fitted = fitLightLadder([
      { name: 'noon', values: spread(4, 5) },
      { name: 'night', values: [...spread(-3, -1), Number.NaN, Number.NEGATIVE_INFINITY] },
      { name: 'rain', values: spread(2, 3) },
    ]);
    expect(fitted?.rightly).toBe(1);
    expect(fitted?.ladder).toEqual({
      ...LIGHT_LADDER,
      states: ['night', 'rain', 'noon'],
      boundaries: [0.5, 3.5],
    });
  });

  it('weighs the two states alike, however many pictures there are of each', () => {
    // 2 of 10 dark pictures are as bright as the bright ones, of which there are a hundred.
    const dark = [...spread(0, 1, 8), 3, 3];
    const fitted = fitLightLadder([
      { name: 'dark', values: dark },
      { name: 'bright', values: spread(2, 4, 100) },
    ]);
    expect(fitted?.ladder.boundaries).toEqual([1.5]);
    expect(fitted?.rightly).toBeCloseTo(0.9, 12);
  });

  it('takes a margin that lets every state be left', () => {
    const fitted = fitLightLadder([
      { name: 'dusk', values: spread(0, 0.1) },
      { name: 'day', values: spread(0.2, 0.3) },
    ]);
    expect(fitted?.ladder.margin).toBeCloseTo(0.05, 12);
  });

  it.each([
    ['a single state', [spread(0, 1)]],
    ['too few pictures of one', [spread(0, 1), spread(2, 3, 7)]],
    ['states in one light', [spread(0, 1), spread(0.2, 1.2)]],
    ['the same value everywhere', [spread(1, 1), spread(1, 1)]],
    [
      'a state that lies on both sides of another',
      [spread(0, 1), [...spread(-3, -2, 5), ...spread(3, 4, 5)]],
    ],
  ])('has none for %s', (_, values) => {
    expect(fitLightLadder(values.map((one, index) => ({ name: `${index}`, values: one })))).toBeUndefined();
  });
});
