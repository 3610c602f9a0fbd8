// What counts as motion in pictures that are drawn here: a thing that moves does, noise and another light do not.
import { describe, expect, it } from 'vitest';
import { MotionMeter, type MotionRule, type MotionState } from '#core';

const SIZE = { width: 320, height: 180 };
const RULE: MotionRule = { threshold: 10, minArea: 0.0005, masks: [] };
const STEP = 0.2;

/** A picture with a pattern, noise, and squares. */
function picture({
  square,
  noise = 3,
  gain = 1,
  offset = 0,
}: {
  readonly square?: { readonly x: number; readonly y: number; readonly side: number; readonly grey: number };
  readonly noise?: number;
  readonly gain?: number;
  readonly offset?: number;
}): Uint8Array {
  const rgb = new Uint8Array(3 * SIZE.width * SIZE.height);
  for (let y = 0, at = 0; y < SIZE.height; y++) {
    for (let x = 0; x < SIZE.width; x++) {
      const isSquare =
        square && x >= square.x && x < square.x + square.side && y >= square.y && y < square.y + square.side;
      const scene = isSquare ? square.grey : 60 + 80 * (Math.floor(x / 40) % 2) + 0.2 * y;
      const value = gain * scene + offset + noise * gaussian();
      for (let channel = 0; channel < 3; channel++) rgb[at++] = Math.min(255, Math.max(0, Math.round(value)));
    }
  }
  return rgb;
}

/** Not `Math.random`: the same pictures in every run. */
let seed = 1;
function uniform(): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return (seed + 0.5) / 2 ** 32;
}
function gaussian(): number {
  return Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** @returns the state of each picture; the pictures are 0.2 s apart */
function watch(meter: MotionMeter, frames: readonly Uint8Array[], fromSeconds = 0): readonly MotionState[] {
  return frames.map((rgb, index) => meter.see(rgb, fromSeconds + STEP * index));
}

const repeat = (count: number, draw: (index: number) => Uint8Array) =>
  Array.from({ length: count }, (_, index) => draw(index));
const countOf = (states: readonly MotionState[], state: MotionState) =>
  states.filter((one) => one === state).length;

/** A meter that knows the scene. */
function learned(rule: Partial<MotionRule> = {}, noise = 3): MotionMeter {
  const meter = new MotionMeter(SIZE, { ...RULE, ...rule });
  watch(
    meter,
    repeat(25, () => picture({ noise })),
  );
  return meter;
}

describe('a motion meter', () => {
  it.each([0, 3, 8, 15])('sees none in noise of %d grey values', (noise) => {
    const states = watch(
      new MotionMeter(SIZE, RULE),
      repeat(60, () => picture({ noise })),
    );
    // Strong noise must be learned first.
    expect(countOf(noise > 5 ? states.slice(15) : states, 'motion')).toBe(0);
  });

  it.each([
    [8, 90],
    [16, 110],
    [40, 200],
  ])('sees a square of %d px and grey %d that moves, in every picture', (side, grey) => {
    const meter = learned();
    const states = watch(
      meter,
      repeat(30, (index) => picture({ square: { x: 5 + 3 * index, y: 80, side, grey } })),
      5,
    );
    expect(states[0]).toBe('motion');
    expect(countOf(states, 'motion')).toBeGreaterThanOrEqual(28);
  });

  it('takes what has come to rest as background, and sees it leave', () => {
    const meter = learned();
    const square = { x: 100, y: 80, side: 30, grey: 230 };
    const stays = watch(
      meter,
      repeat(400, () => picture({ square })),
      5,
    );
    expect(stays[0]).toBe('motion');
    expect(countOf(stays.slice(-100), 'motion')).toBe(0);
    expect(meter.see(picture({}), 86)).toBe('motion');
  });

  it('does not see what is smaller than min_area', () => {
    const meter = learned({ minArea: 0.01 });
    const small = { x: 100, y: 80, side: 16, grey: 230 }; // 0.0044 of the picture
    expect(meter.see(picture({ square: small }), 5)).toBe('still');
    expect(meter.see(picture({ square: { ...small, side: 30 } }), 5.2)).toBe('motion');
  });

  it('does not see in a mask, and sees beside it', () => {
    const meter = learned({ masks: [Float64Array.of(0, 0, 0.5, 0, 0.5, 1, 0, 1)] });
    const at = (x: number) => picture({ square: { x, y: 80, side: 30, grey: 230 } });
    const masked = watch(
      meter,
      repeat(20, (index) => at(10 + 5 * index)),
      5,
    );
    expect(countOf(masked, 'motion')).toBe(0);
    expect(meter.see(at(200), 10)).toBe('motion');
  });

  it('does not see a light that rises and falls slowly, or by one step', () => {
    const slow = watch(
      learned(),
      repeat(100, (index) => picture({ offset: 0.5 * index })),
      5,
    );
    expect(countOf(slow, 'motion')).toBe(0);
    const step = watch(
      learned(),
      repeat(20, () => picture({ offset: 40 })),
      5,
    );
    expect(countOf(step, 'motion')).toBe(0);
  });

  it('learns anew where the whole picture becomes another one, and sees motion in that', () => {
    const meter = learned();
    // Infrared: what was dark is bright, and the contrast another one.
    const infrared = (more: object = {}) => picture({ gain: -1, offset: 255, ...more });
    const states = watch(
      meter,
      repeat(20, () => infrared()),
      5,
    );
    expect(states[0]).toBe('relearning');
    expect(countOf(states, 'motion')).toBe(0);
    expect(states.at(-1)).toBe('still');
    expect(meter.see(infrared({ square: { x: 100, y: 80, side: 30, grey: 250 } }), 9)).toBe('motion');
  });

  it('is not blinded by lightning: it sees again within a second', () => {
    const meter = learned();
    expect(meter.see(picture({ gain: 0.2, offset: 200 }), 5)).toBe('relearning');
    const after = watch(
      meter,
      repeat(10, () => picture({})),
      5.2,
    );
    expect(countOf(after, 'motion')).toBe(0);
    expect(meter.see(picture({ square: { x: 100, y: 80, side: 30, grey: 230 } }), 7.2)).toBe('motion');
  });

  it('does not see leaves that move all the time, once it knows them, and sees who walks among them', () => {
    const rustling = (more: object = {}) => {
      const rgb = picture(more);
      for (let y = 0; y < 60; y++)
        for (let x = 0; x < SIZE.width; x += 4) {
          const grey = 60 + 50 * uniform();
          for (let at = 3 * (y * SIZE.width + x), end = at + 12; at < end; at++) rgb[at] = grey;
        }
      return rgb;
    };
    const meter = new MotionMeter(SIZE, RULE);
    const states = watch(
      meter,
      repeat(150, () => rustling()),
    );
    expect(countOf(states.slice(-50), 'motion')).toBe(0);
    expect(meter.see(rustling({ square: { x: 100, y: 80, side: 20, grey: 230 } }), 30)).toBe('motion');
  });

  it('begins anew where the clock goes back', () => {
    const meter = learned();
    const square = { x: 100, y: 80, side: 30, grey: 230 };
    expect(meter.see(picture({ square }), 0)).toBe('relearning');
    expect(meter.see(picture({ square }), 0.6)).toBe('still');
  });
});
