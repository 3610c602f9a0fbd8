// The thresholds file: what it means, and how each mistake in it is named. Light states with hysteresis.
import { describe, expect, it } from 'vitest';
import type { LightLadder, LightState } from '#core';
import {
  ConfigError,
  firstLight,
  nextLight,
  parseThresholdsFile,
  thresholdInLight,
  toLightPolicy,
  toSuppression,
  toThresholdPolicy,
} from '#core';

const SHA = 'a'.repeat(64);
const PATH = 'site/thresholds.json';
const GOOD = {
  version: 1,
  modelSha256: SHA,
  score: 'raw',
  suppression: { kind: 'uncertainty', iou: 0.6, lambda: 2 },
  classes: { '*': 0.25, car: 0.4 },
  conditions: { dusk: { car: 0.3 }, night: { '*': 0.15 } },
  cameras: { gate: { classes: { person: 0.6 }, conditions: { dusk: { person: 0.5 } } } },
  hysteresis: { states: ['night', 'dusk', 'day'], boundaries: [20, 60], margin: 5, holdSeconds: 10 },
};
const classNames = ['car', 'person'];

function parse(changes: object = {}) {
  return parseThresholdsFile(JSON.stringify({ ...GOOD, ...changes }), PATH);
}

function fault(changes: object): ConfigError {
  try {
    parse(changes);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return error as ConfigError;
  }
  throw new Error('nothing was thrown');
}

describe('a mistake is named by file and key', () => {
  it.each([
    [{ version: 2 }, `${PATH}: 'version' is 2, expected 1, the only version of this format`],
    [{ classes: { '*': 0.25, car: 1.5 } }, `${PATH}: 'classes.car' is 1.5, expected a number from 0 to 1`],
    [{ classes: { '*': '0.25' } }, `${PATH}: 'classes.*' is "0.25", expected a number from 0 to 1`],
    [{ classes: { car: 0.5 } }, `${PATH}: 'classes' has no key '*'`],
    [{ score: 'cooked' }, `${PATH}: 'score' is "cooked", expected 'raw' or 'calibrated'`],
    [{ score: undefined }, `${PATH}: key 'score' is missing`],
    [{ modelSha256: 'abc' }, 'expected a SHA-256 of 64 lower-case hex digits'],
    [{ treshold: 1 }, `${PATH}: 'treshold' is not a key of this format`],
    [
      { suppression: { kind: 'hard', iou: 0.5, lambda: 2 } },
      `'suppression.lambda' is not a key of this format`,
    ],
    [{ suppression: { kind: 'voting', iou: 0.5 } }, `'suppression.kind' is "voting", expected`],
    [{ cameras: { gate: { classes: { car: -1 } } } }, `'cameras.gate.classes.car' is -1`],
    [{ hysteresis: { ...GOOD.hysteresis, boundaries: [20] } }, `has 1 numbers, expected 2 for 3 states`],
    [{ hysteresis: { ...GOOD.hysteresis, measure: 'clock' } }, `expected 'picture' or 'sun'`],
    [{ hysteresis: { ...GOOD.hysteresis, boundaries: [60, 20] } }, 'must rise, found 60, 20'],
    [{ conditions: { dsuk: { car: 0.3 } } }, `condition 'dsuk' is not one of 'hysteresis.states'`],
  ])('%j', (changes, message) => {
    const error = fault(changes);
    expect(error.message).toContain(message);
    expect(error.hint).not.toBe('');
  });

  it('also where the text is not JSON, or not an object', () => {
    expect(() => parseThresholdsFile('{', PATH)).toThrow(`${PATH} is not JSON`);
    expect(() => parseThresholdsFile('[]', PATH)).toThrow(PATH);
    expect(() => parseThresholdsFile('null', PATH)).toThrow(PATH);
  });

  it('says both hashes where it belongs to another model', () => {
    const text = JSON.stringify(GOOD);
    const other = 'b'.repeat(64);
    const load = () => parseThresholdsFile(text, PATH, { modelSha256: other });
    expect(load).toThrow(SHA);
    expect(load).toThrow(other);
    expect(parseThresholdsFile(text, PATH, { modelSha256: SHA.toUpperCase() }).score).toBe('raw');
  });
});

describe('thresholds', () => {
  it('are those of the narrowest table, its * included', () => {
    const file = parse();
    const of = (choice: { condition?: string; camera?: string }) =>
      toThresholdPolicy(file, { classNames, ...choice });
    expect(of({})).toEqual({ kind: 'per-class', base: 0.25, perClass: new Map([[0, 0.4]]) });
    expect(of({ condition: 'dusk' })).toEqual({
      kind: 'per-class',
      base: 0.25,
      perClass: new Map([[0, 0.3]]),
    });
    expect(of({ condition: 'night' })).toEqual({ kind: 'fixed', base: 0.15 });
    expect(of({ condition: 'day', camera: 'gate' })).toEqual({
      kind: 'per-class',
      base: 0.25,
      perClass: new Map([
        [0, 0.4],
        [1, 0.6],
      ]),
    });
    expect(of({ condition: 'dusk', camera: 'gate' })).toMatchObject({
      perClass: new Map([
        [0, 0.3],
        [1, 0.5],
      ]),
    });
    expect(of({ camera: 'constructor' })).toEqual(of({}));
  });

  it('refuse unknown classes and conditions', () => {
    expect(() => toThresholdPolicy(parse(), { classNames: ['cat'] })).toThrow("name class 'car'");
    expect(() => toThresholdPolicy(parse(), { classNames, condition: 'fog' })).toThrow("no condition 'fog'");
  });

  it('come with the suppression that they were chosen for', () => {
    expect(toSuppression(parse())).toEqual({
      suppression: { kind: 'uncertainty', lambda: 2 },
      iou: 0.6,
      agnostic: false,
    });
  });
});

describe('light', () => {
  const ladder: LightLadder = GOOD.hysteresis;

  function run(
    state: LightState,
    samples: readonly (readonly [nowSeconds: number, value: number])[],
  ): string[] {
    let current = state;
    return samples.map(([nowSeconds, value]) => {
      current = nextLight(ladder, current, { value, nowSeconds });
      return current.name;
    });
  }

  it('starts where the first measurement lies', () => {
    expect([10, 20, 20.1, 60.1].map((value) => firstLight(ladder, value).name)).toEqual([
      'night',
      'night',
      'dusk',
      'day',
    ]);
  });

  it('needs the margin and the time to leave a state', () => {
    const day = { name: 'day' };
    expect(
      run(day, [
        [0, 56],
        [100, 55],
      ]),
    ).toEqual(['day', 'day']); // inside the margin
    expect(
      run(day, [
        [0, 54],
        [9.9, 54],
        [10, 54],
      ]),
    ).toEqual(['day', 'day', 'dusk']);
    expect(
      run(day, [
        [0, 54],
        [5, 58],
        [10, 54],
        [19, 54],
        [20, 54],
      ]),
    ).toEqual(['day', 'day', 'day', 'day', 'dusk']);
  });

  it('can pass over a state, and comes back only beyond the other margin', () => {
    expect(
      run({ name: 'day' }, [
        [0, 3],
        [10, 3],
      ]),
    ).toEqual(['day', 'night']);
    expect(
      run({ name: 'dusk' }, [
        [0, 64],
        [20, 65],
        [30, 66],
        [40, 66],
      ]),
    ).toEqual(['dusk', 'dusk', 'dusk', 'day']);
  });

  it('does not flicker around a boundary', () => {
    const flicker = Array.from({ length: 100 }, (_, index) => [index * 20, index % 2 ? 56 : 64] as const);
    expect(new Set(run({ name: 'dusk' }, flicker))).toEqual(new Set(['dusk']));
  });

  it('is not moved by a measurement that is no number', () => {
    const state = { name: 'day', pending: { name: 'dusk', sinceSeconds: 1 } };
    expect(nextLight(ladder, state, { value: Number.NaN, nowSeconds: 50 })).toBe(state);
    expect(() => nextLight(ladder, { name: 'noon' }, { value: 1, nowSeconds: 0 })).toThrow(
      "'noon' is not one of",
    );
  });

  it('turns a file into a policy per state', () => {
    const light = toLightPolicy(parse(), { classNames })!;
    expect(thresholdInLight(light.policy, { name: 'night' })).toEqual({ kind: 'fixed', base: 0.15 });
    expect(thresholdInLight(light.policy, { name: 'day' })).toMatchObject({ perClass: new Map([[0, 0.4]]) });
    expect(light.ladder).toEqual(ladder);
    expect(toLightPolicy(parse({ hysteresis: undefined }), { classNames })).toBeUndefined();
  });
});

describe('thresholds of a conformal calibration', () => {
  const conformal = { target: 'object-recall', alpha: 0.1, iou: 0.5 };

  it('carry their promise, and the slice that it is for', () => {
    const file = parse({ conformal });
    expect(toThresholdPolicy(file, { classNames })).toEqual({
      kind: 'conformal',
      base: 0.25,
      perClass: new Map([[0, 0.4]]),
      guarantee: conformal,
    });
    expect(toThresholdPolicy(file, { classNames, condition: 'night' })).toEqual({
      kind: 'conformal',
      base: 0.15,
      guarantee: { ...conformal, slice: 'night' },
    });
  });

  it.each([
    [{ ...conformal, alpha: 1 }, `${PATH}: 'conformal.alpha' is 1, expected a number between 0 and 1`],
    [
      { ...conformal, target: 'all' },
      `${PATH}: 'conformal.target' is "all", expected 'object-recall', 'miss-rate' or 'precision'`,
    ],
  ])('are refused where the promise is none: %j', (wrong, message) => {
    expect(fault({ conformal: wrong }).message).toBe(message);
  });
});

it('knows voting and fusion', () => {
  const vote = { kind: 'vote', iou: 0.6, sigma: 0.02, minIou: 0.01 };
  expect(toSuppression(parse({ suppression: vote }))).toEqual({
    suppression: { kind: 'vote', sigma: 0.02, minIou: 0.01 },
    iou: 0.6,
    agnostic: false,
  });
  const wbf = { kind: 'wbf', iou: 0.55, score: 'mean' };
  expect(toSuppression(parse({ suppression: wbf })).suppression).toEqual({ kind: 'wbf', score: 'mean' });
});
