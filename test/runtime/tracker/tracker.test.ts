import { describe, expect, it } from 'vitest';
import { type Box, createRandom, type Detection, type Random } from '#core';
import { createTracker, type TrackerOptions } from '../../../runtime/tracker/index.ts';

const RATE = 25;
const SIDE = 40;

function at(x: number, y: number, score = 0.9, more: Partial<Detection> = {}): Detection {
  const box: Box<'frame'> = { x1: x, y1: y, x2: x + SIDE, y2: y + SIDE };
  return { box, classId: 0, className: 'car', score, rawScore: score, ...more };
}

/** Ids of each frame in the order of the detections that were given; `-` for one without a track. */
function idsOf(
  frames: readonly (readonly Detection[])[],
  options: TrackerOptions = {},
  secondsOf: (frame: number) => number = (frame) => frame / RATE,
): string[] {
  const tracker = createTracker(options);
  return frames.map((detections, frame) => {
    const tracked = tracker.update(detections, secondsOf(frame));
    return detections.map(({ box }) => tracked.find((other) => other.box === box)?.trackId ?? '-').join(' ');
  });
}

function repeat<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

describe('tracks', () => {
  it('begin at id 1 with what the first frame shows, by score', () => {
    expect(idsOf([[at(0, 0), at(200, 0, 0.5), at(400, 0, 0.2)]])).toEqual(['1 2 -']);
  });

  it('begin later when they are seen twice, so that a flash of one frame is no track', () => {
    const still = at(0, 0);
    const flash = [[still], [still, at(300, 0)], [still], [still, at(300, 0)], [still, at(300, 0)]];
    expect(idsOf(flash)).toEqual(['1', '1 -', '1', '1 -', '1 2']);
  });

  it('give the detection as the detector gave it, with the id beside', () => {
    const detection = at(10, 20, 0.8, { scoreVariance: 0.01, boxVariance: { x1: 1, y1: 2, x2: 3, y2: 4 } });
    expect(createTracker().update([detection], 0)).toEqual([{ ...detection, trackId: 1 }]);
  });

  it('are held together by doubtful boxes, which never begin one', () => {
    const frames = repeat(12, (n) => [at(3 * n, 0, n >= 4 && n < 9 ? 0.15 : 0.8), at(300, 0, 0.2)]);
    expect(idsOf(frames)).toEqual(repeat(12, () => '1 -'));
    // At or below the low threshold a box does not take part.
    expect(idsOf(frames, { lowThreshold: 0.15 }).slice(4, 9)).toEqual(repeat(5, () => '- -'));
  });

  it('follow an object behind another thing and out again', () => {
    const frames = repeat(40, (n) => (n >= 15 && n < 30 ? [] : [at(4 * n, 0)]));
    const ids = idsOf(frames);
    expect(ids.slice(0, 15)).toEqual(repeat(15, () => '1'));
    expect(ids.slice(30)).toEqual(repeat(10, () => '1'));
  });

  it('keep their ids where two objects cross', () => {
    // They meet at frame 20, the farther one is hidden for five frames.
    const frames = repeat(40, (n) => [
      at(5 * n, 0, 0.9),
      ...(Math.abs(n - 20) <= 2 ? [] : [at(200 - 5 * n, 12, 0.8)]),
    ]);
    const ids = idsOf(frames);
    expect(ids[0]).toBe('1 2');
    expect(ids[39]).toBe('1 2');
  });

  it('end after the buffer: what comes back later is new, and no id is given twice', () => {
    const away = (frames: number) => [
      ...repeat(5, () => [at(100, 100)]),
      ...repeat(frames, () => []),
      ...repeat(3, () => [at(100, 100)]),
    ];
    expect(idsOf(away(20)).slice(-3)).toEqual(['1', '1', '1']);
    expect(idsOf(away(30)).slice(-3)).toEqual(['-', '2', '2']);
    expect(idsOf(away(30), { bufferSeconds: 2 }).slice(-3)).toEqual(['1', '1', '1']);
  });

  it('measure the buffer in seconds, not in frames', () => {
    const frames = [...repeat(4, () => [at(0, 0)]), [], [at(0, 0)], [at(0, 0)]];
    expect(idsOf(frames, {}, (frame) => frame / 4).slice(-2)).toEqual(['1', '1']);
    expect(idsOf(frames, {}, (frame) => frame).slice(-2)).toEqual(['-', '2']);
    // A picture a minute is no gap.
    expect(
      idsOf(
        repeat(5, () => [at(0, 0)]),
        {},
        (frame) => 60 * frame,
      ).at(-1),
    ).toBe('1');
  });

  it('go on at their speed where frames were dropped', () => {
    // 8 px a frame, a side of 40: after five dropped frames the object has moved by more than its side.
    const seen = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 22];
    const frames = seen.map((n) => [at(8 * n, 0)]);
    expect(idsOf(frames, {}, (place) => seen[place]! / RATE)).toEqual(seen.map(() => '1'));
    // As if none had been dropped, they are other objects.
    expect(idsOf(frames).at(-1)).not.toBe('1');
  });

  it('may change their class, unless a track keeps its class', () => {
    const frames = repeat(8, (n) => [at(0, 0, 0.9, { classId: n >= 4 ? 1 : 0 })]);
    expect(idsOf(frames).at(-1)).toBe('1');
    expect(idsOf(frames, { perClass: true }).slice(4)).toEqual(['-', '2', '2', '2']);
  });

  it('let the score count in the first association where asked', () => {
    // Overlap 0.6: with a score of 0.3 it counts 0.18, below the 0.2 that a match needs.
    const frames = [[at(0, 0)], [at(0, 0)], [at(0, 10, 0.3)]];
    expect(idsOf(frames, { fuseScore: false }).at(-1)).toBe('1');
    expect(idsOf(frames, { fuseScore: true }).at(-1)).toBe('-');
  });

  it('become one where a lost one and a younger one lie on each other: the older id stays', () => {
    // A jump takes the object out of its track's reach; the track of the new place is young when the old one, which
    // went on at its speed, arrives there.
    const path = [0, 6, 12, 18, 24, 30, 78, 78, 78, 78, 78, 78, 78, 78, 78, 78, 78];
    const ids = idsOf(path.map((x) => [at(x, 0)]));
    expect(ids[5]).toBe('1');
    expect(ids).toContain('2');
    expect(ids.at(-1)).toBe('1');
  });

  it('are forgotten at a reset and where time runs back, and ids go on', () => {
    const tracker = createTracker();
    expect(tracker.update([at(0, 0)], 5).map(({ trackId }) => trackId)).toEqual([1]);
    tracker.reset();
    expect(tracker.update([at(0, 0)], 6).map(({ trackId }) => trackId)).toEqual([2]);
    expect(tracker.update([at(0, 0)], 1).map(({ trackId }) => trackId)).toEqual([3]);
    expect(() => tracker.update([], Number.NaN)).toThrow(RangeError);
  });
});

/** Boxes that walk, jump, vanish, double and change their score and class. */
function chaos(random: Random, frames: number): Detection[][] {
  const walkers = repeat(12, () => ({ x: random.between(0, 500), y: random.between(0, 300) }));
  return repeat(frames, () => {
    const found: Detection[] = [];
    for (const walker of walkers) {
      walker.x += random.normal() * (random.next() < 0.05 ? 200 : 3);
      walker.y += random.normal() * 3;
      const side = random.next() < 0.02 ? 0 : random.between(5, 60);
      for (let copies = random.integer(3); copies > 0; copies--) {
        const [x, y] = [walker.x + random.normal(), walker.y + random.normal()];
        const score = random.next();
        found.push({
          box: { x1: x, y1: y, x2: x + side, y2: y + side },
          classId: random.integer(2),
          className: 'thing',
          score,
          rawScore: score,
          ...(random.next() < 0.5 && { boxVariance: { x1: random.between(0, 90), y1: 0, x2: 1, y2: 1e6 } }),
        });
      }
    }
    return found;
  });
}

describe.each([{}, { perClass: true }, { fuseScore: false, bufferSeconds: 0.2 }])(
  'whatever comes, %j',
  (options) => {
    it('gives no id twice in a frame, none again after it ended, and the same ids every time', () => {
      for (let seed = 1; seed <= 8; seed++) {
        const frames = chaos(createRandom(seed), 80);
        const times = createRandom(100 + seed);
        let seconds = 0;
        const steps = frames.map(() => (seconds += times.next() < 0.05 ? 3 : times.between(0, 0.1)));
        const [tracker, again] = [createTracker(options), createTracker(options)];
        const lastSeen = new Map<number, number>();
        let highest = 0;
        for (const [frame, detections] of frames.entries()) {
          const tracked = tracker.update(detections, steps[frame]!);
          expect(again.update(detections, steps[frame]!)).toEqual(tracked);
          const ids = tracked.map(({ trackId }) => trackId!);
          expect(new Set(ids).size).toBe(ids.length);
          expect(ids.every((id) => Number.isInteger(id) && id >= 1)).toBe(true);
          const given = new Set(detections.map(({ box }) => box));
          expect(tracked.every(({ box, score }) => given.has(box) && score > 0.1)).toBe(true);
          for (const id of ids) {
            const before = lastSeen.get(id);
            // New ids follow on without a gap; old ones come back only from the frame before or within the buffer.
            if (before === undefined) highest++;
            else if (before !== steps[frame - 1]) {
              expect(steps[frame]! - before).toBeLessThanOrEqual(options.bufferSeconds ?? 1);
            }
            lastSeen.set(id, steps[frame]!);
          }
          expect(Math.max(0, ...ids)).toBeLessThanOrEqual(highest);
        }
        expect(highest).toBeGreaterThan(5);
      }
    });
  },
);
