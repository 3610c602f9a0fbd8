// From boxes with track ids to events: what a flickering score, a zone, a line and an end make of them.
import { describe, expect, it } from 'vitest';
import type { Box, Detection } from '#core';
import type { SiteEvent } from '../../../runtime/site/events.ts';
import { createObjectEvents, type ObjectRules } from '../../../runtime/site/object-events.ts';
import type { ReviewRule } from '../../../runtime/site/site.ts';

const SIZE = { width: 100, height: 100 };
const RULES: ObjectRules = {
  filters: new Map(),
  zones: [],
  lines: [],
  minFrames: 3,
  minMedianScore: 0,
};
const DOOR = { name: 'door', region: Float64Array.of(0.4, 0, 0.6, 0, 0.6, 1, 0.4, 1), inertia: 2 };

/** A box whose foot is at (x, 50). */
function car(x: number, score: number, more: Partial<Detection> = {}): Detection {
  const box = { x1: x - 5, y1: 40, x2: x + 5, y2: 50 } as Box<'frame'>;
  return { box, classId: 0, className: 'car', score, rawScore: score, trackId: 1, ...more };
}

function start(rules: Partial<ObjectRules> = {}) {
  const life = createObjectEvents({
    camera: 'gate',
    rules: { ...RULES, ...rules },
    endSeconds: 1,
    updateSeconds: 10,
  });
  let atMs = 1000;
  const see = (detections: readonly Detection[], least = 0.5): readonly SiteEvent[] => {
    atMs += 100;
    return life.see({ detections, size: SIZE, atMs, least: () => least });
  };
  return { life, see };
}

const kinds = (events: readonly SiteEvent[]) =>
  events.map((event) => ('type' in event ? `${event.kind} ${event.type}` : event.kind));

describe('an object', () => {
  it('begins when enough frames agree, keeps through a score that flickers, and ends when it is not seen', () => {
    const { see } = start();
    const scores = [0.4, 0.7, 0.6, 0.3, 0.2, 0.45];
    const first = scores.map((score) => kinds(see([car(10, score)])));
    expect(first).toEqual([[], [], ['object new', 'count'], [], [], []]);
    const quiet = Array.from({ length: 11 }, () => kinds(see([])));
    expect(quiet.flat()).toEqual(['object end', 'count']);
  });

  it('whose median stays below the threshold never begins', () => {
    const { see } = start();
    const events = [0.9, 0.4, 0.4, 0.4, 0.4].flatMap((score) => see([car(10, score)]));
    expect(events).toEqual([]);
  });

  it('says how sure it is, over the track and now', () => {
    const { see } = start();
    const sure = { scoreVariance: 0.04, boxVariance: { x1: 4, y1: 9, x2: 16, y2: 25 } };
    const doubtful = { ...sure, scoreVariance: 0.16 };
    see([car(10, 0.9, sure)]);
    see([car(10, 0.8, sure)]);
    const [begun] = see([car(10, 0.6, doubtful)]);
    expect(begun).toMatchObject({
      type: 'new',
      after: {
        id: 'gate-1100-1',
        score: 0.6,
        medianScore: 0.8,
        topScore: 0.9,
        boxSigma: { x1: 2, y1: 3, x2: 4, y2: 5 },
      },
    });
    if (begun?.kind !== 'object') throw new Error('expected an object');
    expect(begun.after.scoreStd).toBeCloseTo(0.4, 12);
    expect(begun.after.medianStd).toBeCloseTo(0.2, 12);
  });

  it('is marked for a person, once, where a bound is exceeded', () => {
    const { see } = start({ review: { maxStd: 0.3, doubtful: [0.5, 0.6], perHour: 10 } });
    for (let frame = 0; frame < 3; frame++) see([car(10, 0.9, { scoreVariance: 0.01 })]);
    const [marked] = see([car(10, 0.9, { scoreVariance: 0.16 })]);
    expect(marked).toMatchObject({ type: 'update', after: { review: ['std'] }, before: { review: [] } });
    expect(see([car(10, 0.9, { scoreVariance: 0.16 })])).toEqual([]);
    expect(see([car(10, 0.55)])).toMatchObject([{ after: { review: ['std', 'doubtful'] } }]);
  });

  it('is marked where the model hesitates between two scores, by bins or by their mixture', () => {
    const law = (...probabilities: number[]) => ({
      distribution: { probabilities: Float32Array.from(probabilities) },
    });
    const two = law(0, 0.4, 0, 0, 0, 0, 0, 0, 0.6, 0);
    const one = law(0, 0, 0, 0, 0, 0, 0, 0.5, 0.5, 0);
    const mixed = (means: readonly [number, number]) => ({
      mixture: { weight: 0.4, means, variances: [0.001, 0.001] as const },
    });
    const review = { bimodal: true as const, perHour: 10 };
    const marks = (more: Partial<Detection>, rule: ReviewRule = review) => {
      const { life, see } = start({ review: rule });
      for (let frame = 0; frame < 3; frame++) see([car(10, 0.6, more)]);
      return life.objects[0]?.review;
    };
    expect(marks(two)).toEqual(['bimodal']);
    expect(marks(one)).toEqual([]);
    expect(marks(mixed([0.1, 0.9]))).toEqual(['bimodal']);
    expect(marks(mixed([0.6, 0.65]))).toEqual([]);
    expect(marks({ ...one, ...mixed([0.1, 0.9]) })).toEqual([]);
    expect(marks({})).toEqual([]);
    expect(marks(two, { maxStd: 0.4, perHour: 10 })).toEqual([]);
  });

  it('is left out by class, area, ratio and mask', () => {
    const filter = { minArea: 0, maxArea: 1, minRatio: 0, maxRatio: 100, masks: [] };
    const seen = (rules: Partial<ObjectRules>) => {
      const { see } = start(rules);
      return [0, 1, 2].flatMap(() => kinds(see([car(10, 0.9)])));
    };
    const open = ['object new', 'count'];
    expect(seen({ classes: new Set(['car']) })).toEqual(open);
    expect(seen({ classes: new Set(['bus']) })).toEqual([]);
    expect(seen({ filters: new Map([['car', { ...filter, minArea: 0.011 }]]) })).toEqual([]);
    expect(seen({ filters: new Map([['car', { ...filter, minArea: 0.01, maxArea: 0.01 }]]) })).toEqual(open);
    expect(seen({ filters: new Map([['*', { ...filter, maxArea: 0.009 }]]) })).toEqual([]);
    expect(seen({ filters: new Map([['car', { ...filter, maxRatio: 0.9 }]]) })).toEqual([]);
    const masks = [Float64Array.of(0, 0, 0.2, 0, 0.2, 1, 0, 1)];
    expect(seen({ filters: new Map([['*', { ...filter, masks }]]) })).toEqual([]);
    expect(seen({ filters: new Map([['bus', { ...filter, masks }]]) })).toEqual(open);
  });
});

describe('a zone', () => {
  it('is entered after its inertia, counted, and left at the end', () => {
    const { life, see } = start({ zones: [DOOR] });
    for (let frame = 0; frame < 3; frame++) see([car(10, 0.9)]);
    expect(see([car(50, 0.9)])).toEqual([]);
    expect(kinds(see([car(50, 0.9)]))).toEqual(['object update', 'zone entered', 'count']);
    expect(life.objects[0]).toMatchObject({ zones: ['door'], enteredZones: ['door'] });
    expect(see([car(70, 0.9)])).toEqual([]);
    expect(kinds(see([car(50, 0.9)]))).toEqual([]); // it had not left for long enough
    const ended = life.end(9000);
    expect(kinds(ended)).toEqual(['zone left', 'object end', 'count', 'count']);
    expect(ended[1]).toMatchObject({ after: { zones: [], enteredZones: ['door'], endMs: 1700 } });
    expect(life.objects).toEqual([]);
  });

  it('that an object stands in from the first is entered with it', () => {
    const { see } = start({ zones: [DOOR] });
    const events = [0, 1, 2].flatMap(() => kinds(see([car(50, 0.9)])));
    expect(events).toEqual(['object new', 'zone entered', 'count', 'count']);
  });

  it('of other classes is none', () => {
    const { see } = start({ zones: [{ ...DOOR, classes: new Set(['person']) }] });
    const events = [0, 1, 2, 3].flatMap(() => kinds(see([car(50, 0.9)])));
    expect(events).toEqual(['object new', 'count']);
  });
});

describe('a line', () => {
  const lines = [{ name: 'kerb', from: [0.5, 1], to: [0.5, 0] }] as const;

  it('is crossed with a direction, each time', () => {
    const { see } = start({ lines });
    const ways = [10, 20, 30, 60, 80, 30].flatMap((x) =>
      see([car(x, 0.9)]).flatMap((event) => (event.kind === 'line' ? [event.direction] : [])),
    );
    expect(ways).toEqual(['in', 'out']);
  });
});

describe('whether anything is followed', () => {
  it('is so from the first box until it is gone, and not while it stands', () => {
    const { life, see } = start();
    expect(life.following).toBe(false);
    see([car(10, 0.9)]);
    expect(life.following).toBe(true);
    for (let frame = 0; frame < 99; frame++) see([car(10 + (frame % 2), 0.9)]);
    expect(life.following).toBe(true);
    see([car(10, 0.9)]);
    // 10 s within a sixth of its size.
    expect(life.following).toBe(false);
    see([]);
    expect(life.following).toBe(true);
    see([car(10, 0.9)]);
    expect(life.following).toBe(false);
    see([car(14, 0.9)]);
    expect(life.following).toBe(true);
    for (let frame = 0; frame < 11; frame++) see([]);
    expect(life.following).toBe(false);
  });

  it('asks for no object that the rules leave out', () => {
    const { life, see } = start({ classes: new Set(['person']) });
    see([car(10, 0.9)]);
    expect(life.following).toBe(false);
  });
});
