import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigError, createLetterbox, createRandom, DEFAULT_FIT, type Size } from '#core';
import { createAugmenter, drawPartners } from '../../../training/pictures/augment.ts';
import {
  AUGMENT_DEFAULTS,
  AUGMENT_OFF,
  type AugmentConfig,
  expectAugmentConfig,
  isAugmentOff,
} from '../../../training/pictures/augment-config.ts';
import type { PictureContent } from '../../../training/pictures/load-content.ts';

const input: Size = { width: 64, height: 48 };
const PAD = 114;
const FULL: AugmentConfig = { ...AUGMENT_DEFAULTS, cutout: 0.5, dusk: 0.7, flipud: 0.5 };

/** A picture of noise with a few objects. */
function content(seed: number, frame: Size = { width: 128, height: 64 }): PictureContent {
  const letterbox = createLetterbox(frame, input, DEFAULT_FIT);
  const { width, height } = letterbox.content;
  const random = createRandom(seed);
  const rgb = Uint8Array.from({ length: 3 * width * height }, () => random.integer(256));
  const boxes = Float32Array.from(
    Array.from({ length: 5 }, () => {
      const x1 = random.between(0, width - 8);
      const y1 = random.between(0, height - 8);
      return [x1, y1, random.between(x1 + 3, width), random.between(y1 + 3, height)];
    }).flat(),
  );
  return {
    rgb,
    letterbox,
    targets: {
      boxes,
      classIds: Int32Array.from({ length: 5 }, (_, index) => index),
      ignoreBoxes: Float32Array.of(0, 0, width, height / 2),
    },
  };
}

function augmented(config: AugmentConfig, seed: number, contents = [content(seed)]) {
  const augmenter = createAugmenter({ input, pad: PAD });
  return augmenter.augment(contents, config, createRandom(seed));
}

describe('augmentation', () => {
  it('leaves the letterboxed picture as it is where everything is off', () => {
    const source = content(3);
    const { pixels, targets } = augmented(AUGMENT_OFF, 9, [source]);
    const { padLeft, padTop, content: size } = source.letterbox;
    const expected = new Uint8Array(3 * input.width * input.height).fill(PAD);
    for (let y = 0; y < size.height; y++) {
      const row = source.rgb.subarray(3 * y * size.width, 3 * (y + 1) * size.width);
      expected.set(row, 3 * ((y + padTop) * input.width + padLeft));
    }
    expect(pixels).toEqual(expected);
    expect([...targets.classIds]).toEqual([0, 1, 2, 3, 4]);
    expect([...targets.boxes]).toEqual(
      [...source.targets.boxes].map((value, place) => Math.fround(value + (place % 2 ? padTop : padLeft))),
    );
  });

  it('does nothing at a dusk of no strength', () => {
    const off = augmented(AUGMENT_OFF, 4).pixels;
    expect(augmented({ ...AUGMENT_OFF, dusk: 1, dusk_strength: 0 }, 4).pixels).toEqual(off);
    expect(augmented({ ...AUGMENT_OFF, dusk: 1, dusk_strength: 1 }, 4).pixels).not.toEqual(off);
  });

  it('mirrors px and boxes exactly, and twice is once', () => {
    for (const key of ['fliplr', 'flipud'] as const) {
      const once = augmented({ ...AUGMENT_OFF, [key]: 1 }, 5);
      const whole: PictureContent = {
        rgb: once.pixels,
        letterbox: createLetterbox(input, input, DEFAULT_FIT),
        targets: once.targets,
      };
      const twice = augmented({ ...AUGMENT_OFF, [key]: 1 }, 6, [whole]);
      const never = augmented(AUGMENT_OFF, 5);
      expect(once.pixels).not.toEqual(never.pixels);
      expect(twice.pixels).toEqual(never.pixels);
      twice.targets.boxes.forEach((value, place) => {
        expect(value).toBeCloseTo(never.targets.boxes[place]!, 4);
      });
      expect(once.targets.boxes).not.toEqual(never.targets.boxes);
    }
  });

  it('gives the same bytes for the same seed, whatever was drawn before, and others for another', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (seed, other) => {
        fc.pre(seed !== other);
        const contents = [1, 2, 3, 4].map((part) => content(part));
        const fresh = augmented(FULL, seed, contents);
        const used = createAugmenter({ input, pad: PAD });
        used.augment(contents, FULL, createRandom(other));
        const again = used.augment(contents, FULL, createRandom(seed));
        expect(Buffer.compare(again.pixels, fresh.pixels)).toBe(0);
        expect(again.targets).toEqual(fresh.targets);
        expect(Buffer.compare(augmented(FULL, other, contents).pixels, fresh.pixels)).not.toBe(0);
      }),
      { numRuns: 40 },
    );
  });

  it('keeps every box inside and as long as its px', () => {
    fc.assert(
      fc.property(fc.integer(), fc.constantFrom(1, 4), (seed, count) => {
        const contents = Array.from({ length: count }, (_, part) => content(seed + part));
        const { targets } = augmented(FULL, seed, contents);
        expect(targets.boxes.length).toBe(4 * targets.classIds.length);
        for (const boxes of [targets.boxes, targets.ignoreBoxes]) {
          for (let place = 0; place < boxes.length; place += 4) {
            const [x1, y1, x2, y2] = boxes.subarray(place, place + 4);
            expect(0 <= x1! && x1! < x2! && x2! <= input.width).toBe(true);
            expect(0 <= y1! && y1! < y2! && y2! <= input.height).toBe(true);
          }
        }
        for (let place = 0; place < targets.boxes.length; place += 4) {
          expect(targets.boxes[place + 2]! - targets.boxes[place]!).toBeGreaterThanOrEqual(2 - 1e-4);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('takes the box along with the object that it surrounds', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        // A white object on black: what is white after the move is where the box says.
        const source = content(1, input);
        const rgb = new Uint8Array(source.rgb.length);
        for (let y = 12; y < 34; y++) rgb.fill(255, 3 * (y * input.width + 20), 3 * (y * input.width + 45));
        const targets = {
          boxes: Float32Array.of(20, 12, 45, 34),
          classIds: Int32Array.of(7),
          ignoreBoxes: new Float32Array(0),
        };
        const config = { ...AUGMENT_OFF, scale: 0.5, translate: 0.3, fliplr: 0.5, flipud: 0.5 };
        const { pixels, targets: moved } = augmented(config, seed, [{ ...source, rgb, targets }]);
        const white = { x1: 1e9, y1: 1e9, x2: -1, y2: -1 };
        for (let y = 0; y < input.height; y++) {
          for (let x = 0; x < input.width; x++) {
            // More than half an object's px of light; the padding is grey.
            if (pixels[3 * (y * input.width + x)]! <= 127) continue;
            white.x1 = Math.min(white.x1, x);
            white.y1 = Math.min(white.y1, y);
            white.x2 = Math.max(white.x2, x + 1);
            white.y2 = Math.max(white.y2, y + 1);
          }
        }
        const [x1, y1, x2, y2] = moved.boxes;
        expect(Math.abs(white.x1 - x1!)).toBeLessThanOrEqual(0.51);
        expect(Math.abs(white.y1 - y1!)).toBeLessThanOrEqual(0.51);
        expect(Math.abs(white.x2 - x2!)).toBeLessThanOrEqual(0.51);
        expect(Math.abs(white.y2 - y2!)).toBeLessThanOrEqual(0.51);
      }),
      { numRuns: 100 },
    );
  });

  it('never touches the padding with light', () => {
    const source = content(2);
    const { padTop } = source.letterbox;
    expect(padTop).toBeGreaterThan(2);
    const config = { ...AUGMENT_OFF, hsv_h: 0.5, hsv_s: 1, hsv_v: 1, dusk: 1, dusk_strength: 1 };
    for (let seed = 0; seed < 10; seed++) {
      const { pixels } = augmented(config, seed, [source]);
      expect(pixels.subarray(0, 3 * padTop * input.width).every((value) => value === PAD)).toBe(true);
    }
  });

  it('draws partners for a mosaic before they are loaded, from the whole set', () => {
    const partners = Array.from({ length: 200 }, (_, seed) =>
      drawPartners(createRandom(seed), { ...AUGMENT_OFF, mosaic: 0.5 }, 10),
    );
    const mosaics = partners.filter(({ length }) => length > 0);
    expect(mosaics.every(({ length }) => length === 3)).toBe(true);
    expect(mosaics.length).toBeGreaterThan(70);
    expect(mosaics.length).toBeLessThan(130);
    expect(new Set(mosaics.flat()).size).toBe(10);
  });
});

describe('augmentation settings', () => {
  it('name the key that is out of its range', () => {
    expect(expectAugmentConfig(AUGMENT_DEFAULTS)).toBe(AUGMENT_DEFAULTS);
    for (const [key, value] of [
      ['scale', 1],
      ['fliplr', -0.1],
      ['dusk', 1.5],
      ['hsv_s', Number.NaN],
      ['mosaic', '1'],
    ] as const) {
      const config = { ...AUGMENT_DEFAULTS, [key]: value } as AugmentConfig;
      expect(() => expectAugmentConfig(config)).toThrow(ConfigError);
      expect(() => expectAugmentConfig(config)).toThrow(new RegExp(`^${key}: found ${value}`));
    }
  });

  it('tell whether anything can happen', () => {
    expect(isAugmentOff(AUGMENT_OFF)).toBe(true);
    expect(isAugmentOff({ ...AUGMENT_OFF, dusk: 1 })).toBe(true);
    expect(isAugmentOff({ ...AUGMENT_OFF, fliplr: 0.1 })).toBe(false);
  });
});
