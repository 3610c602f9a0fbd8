// What a drift alarm does with simulated tracks: how often it is wrong without any change, and how soon it says a real one.
import { describe, expect, it } from 'vitest';
import { createRandom, type Random } from '#core';
import { EvenSample } from '../../../../runtime/site/drift/even-sample.ts';
import { compareLaws, type TrackLaw } from '../../../../runtime/site/drift/laws.ts';
import { type DriftChange, DriftSeries, type DriftSettings } from '../../../../runtime/site/drift/series.ts';

const SETTINGS: DriftSettings = { learnHours: 2, learnTracks: 200, windowHours: 1, windowTracks: 50 };

interface World {
  /** Scores are multiplied by it. */
  readonly scores?: number;
  readonly stds?: number;
}

/** A track has a level of its own, and its boxes scatter about it: 1 to 8 of them. */
function track(random: Random, { scores = 1, stds = 1 }: World = {}): TrackLaw {
  const [level, doubt] = [0.62 + 0.14 * random.normal(), 0.06 + 0.03 * random.next()];
  const boxes = Array.from({ length: 1 + random.integer(8) });
  const within = (value: number, most: number) => Math.min(most, Math.max(0, value));
  return {
    score: boxes.map(() => within(scores * (level + 0.05 * random.normal()), 1)),
    std: boxes.map(() => within(stds * (doubt + 0.01 * random.normal()), 0.5)),
  };
}

function tracks(count: number, random: Random, world?: World): readonly TrackLaw[] {
  return Array.from({ length: count }, () => track(random, world));
}

/** One window of so many tracks in so many hours. @returns what was said */
function window(series: DriftSeries, random: Random, world?: World, count = 50): readonly DriftChange[] {
  for (const one of tracks(count, random, world)) series.add(one);
  series.pass(3600);
  return series.isFull ? series.turn() : [];
}

function learnedSeries(seed: number): { readonly series: DriftSeries; readonly random: Random } {
  const random = createRandom(seed);
  const series = new DriftSeries(SETTINGS);
  window(series, random, {}, 100);
  window(series, random, {}, 100);
  expect(series.learned.isLearned).toBe(true);
  return { series, random };
}

describe('a drift series', () => {
  it('without any change alarms in at most 1 of 50 windows', { timeout: 240_000 }, () => {
    let [alarms, windows] = [0, 0];
    for (let seed = 0; seed < 10; seed++) {
      const { series, random } = learnedSeries(seed);
      for (let hour = 0; hour < 10; hour++, windows++)
        alarms += window(series, random).filter(({ state }) => state === 'begins').length;
    }
    expect(windows).toBe(100);
    expect(alarms / windows).toBeLessThanOrEqual(1 / 50);
  });

  it('says scores that fell by a fifth once, in the second window, and their return once', {
    timeout: 240_000,
  }, () => {
    for (let seed = 100; seed < 104; seed++) {
      const { series, random } = learnedSeries(seed);
      window(series, random);
      const first = window(series, random, { scores: 0.8 });
      const second = window(series, random, { scores: 0.8 });
      const later = [1, 2, 3].flatMap(() => window(series, random, { scores: 0.8 }));
      const back = [1, 2, 3, 4].flatMap(() => window(series, random));
      expect(first).toEqual([]);
      expect(later).toEqual([]);
      expect(second).toMatchObject([{ measure: 'score', state: 'begins', tracks: 50 }]);
      expect(back).toMatchObject([{ measure: 'score', state: 'ends' }]);
      const [{ w1 = 0, w1Expected = 1, change = 0 } = {}] = second;
      expect(w1).toBeGreaterThan(2 * w1Expected);
      expect(change).toBeLessThan(-0.07);
    }
  });

  it('tells a change of the standard deviation from one of the score', () => {
    const { series, random } = learnedSeries(7);
    const said = [1, 2, 3].flatMap(() => window(series, random, { stds: 1.6 }));
    expect(said).toMatchObject([{ measure: 'std', state: 'begins' }]);
    const [{ change = 0 } = {}] = said;
    expect(change).toBeGreaterThan(0.03);
    expect(change).toBeLessThan(0.06);
  });

  it('waits for the hours and the tracks, whichever come later', () => {
    const { series, random } = learnedSeries(3);
    for (const one of tracks(500, random, { scores: 0.5 })) series.add(one);
    expect(series.isFull).toBe(false);
    const quiet = new DriftSeries(SETTINGS, series.learned);
    quiet.pass(40 * 3600);
    for (const one of tracks(49, random)) quiet.add(one);
    expect(quiet.isFull).toBe(false);
    quiet.add(track(random));
    expect(quiet.isFull).toBe(true);
  });

  it('has no verdict on too few tracks, or where the model cannot say how sure it is', () => {
    const random = createRandom(1);
    const reference = tracks(200, random);
    expect(compareLaws(reference, tracks(19, random, { scores: 0.1 }), 'score')).toMatchObject({
      kind: 'none',
      reason: '19 tracks with a score; a verdict needs 20 or more',
    });
    const silent = tracks(50, random).map(({ score }) => ({ score, std: [] }));
    expect(compareLaws(reference, silent, 'std')).toMatchObject({ kind: 'none' });
    expect(compareLaws(reference, silent, 'score')).toMatchObject({ kind: 'verdict' });
  });

  it('ends what is under way when the rules change', () => {
    const { series, random } = learnedSeries(5);
    expect(series.end()).toEqual([]);
    window(series, random, { scores: 0.7 });
    window(series, random, { scores: 0.7 });
    expect(series.end()).toMatchObject([{ measure: 'score', state: 'ends' }]);
  });
});

describe('an even sample', () => {
  it('keeps a bounded number, spread over all that came', () => {
    const sample = new EvenSample<number>(16);
    for (let value = 0; value < 1000; value++) sample.add(value);
    expect(sample.seen).toBe(1000);
    expect(sample.kept.length).toBeGreaterThanOrEqual(8);
    expect(sample.kept.length).toBeLessThanOrEqual(16);
    const gaps = sample.kept.slice(1).map((value, index) => value - (sample.kept[index] as number));
    expect(new Set(gaps).size).toBe(1);
    expect(sample.kept.at(-1)).toBeGreaterThan(900);
    sample.clear();
    sample.add(1);
    sample.add(2);
    expect(sample.kept).toEqual([1, 2]);
  });
});
