import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '#core';
import { type Blur, MAX_LENGTH_PX, MAX_SIGMA_PX } from '../../../training/pictures/blur.ts';
import { DAY_KELVIN, mixKelvin, temperatureGains } from '../../../training/pictures/colour-temperature.ts';
import { createDuskPainter, type Dusk, drawDusk } from '../../../training/pictures/dusk.ts';
import { changeHsv } from '../../../training/pictures/hsv.ts';

const WIDTH = 40;
const HEIGHT = 30;
const WHOLE = { x1: 0, y1: 0, x2: WIDTH, y2: HEIGHT };
/** Nothing happens, but everything is computed. */
const DAY: Dusk = { gains: [1, 1, 1], gamma: 1, sensorGain: 0, vignette: 0, blur: { kind: 'none' } };

function canvasOf(byteAt: (index: number) => number) {
  const pixels = Uint8Array.from({ length: 3 * WIDTH * HEIGHT }, (_, index) => byteAt(index));
  return { pixels, width: WIDTH, height: HEIGHT };
}

function painted(byteAt: (index: number) => number, dusk: Partial<Dusk>, seed = 1, region = WHOLE) {
  const canvas = canvasOf(byteAt);
  createDuskPainter().paint(canvas, region, { ...DAY, ...dusk }, seed);
  return canvas.pixels;
}

const linear = (byte: number) =>
  byte / 255 <= 0.04045 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4;

describe('dusk', () => {
  it('gives every byte back where nothing is asked of it', () => {
    const byteAt = (index: number) => index % 256;
    expect(painted(byteAt, {})).toEqual(canvasOf(byteAt).pixels);
  });

  it('halves linear light by a stop', () => {
    const pixels = painted(() => 200, { gains: [0.5, 0.25, 1] });
    expect(linear(pixels[0]!)).toBeCloseTo(linear(200) / 2, 2);
    expect(linear(pixels[1]!)).toBeCloseTo(linear(200) / 4, 2);
    expect(pixels[2]).toBe(200);
  });

  it('has shot noise with a variance that grows with light and gain', () => {
    const light = linear(128);
    const variance = (sensorGain: number) => {
      const pixels = painted(() => 128, { sensorGain });
      const values = [...pixels].map(linear);
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      expect(mean).toBeCloseTo(light, 2);
      return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    };
    const model = (gain: number) => (gain * light) / 6000 + (gain * 0.00025) ** 2;
    expect(variance(16) / model(16)).toBeGreaterThan(0.85);
    expect(variance(16) / model(16)).toBeLessThan(1.15);
    expect(variance(64) / variance(16)).toBeGreaterThan(3.2);
    expect(painted(() => 128, { sensorGain: 8 }, 1)).not.toEqual(painted(() => 128, { sensorGain: 8 }, 2));
  });

  it('blurs light without losing any, and leaves grey grey', () => {
    const blurs: Blur[] = [
      { kind: 'motion', lengthPx: MAX_LENGTH_PX },
      { kind: 'motion', lengthPx: 2.5 },
      { kind: 'gaussian', sigmaPx: MAX_SIGMA_PX },
      { kind: 'gaussian', sigmaPx: 0.3 },
    ];
    const point = 3 * (15 * WIDTH + 20);
    for (const blur of blurs) {
      expect(painted(() => 90, { blur })).toEqual(canvasOf(() => 90).pixels);
      const pixels = painted((index) => (index === point ? 255 : 0), { blur });
      const total = [...pixels].reduce((sum, byte) => sum + linear(byte), 0);
      expect(total).toBeGreaterThan(0.97);
      expect(total).toBeLessThan(1.03);
      const lit = [...pixels.keys()].filter((index) => pixels[index]! > 0);
      const rows = new Set(lit.map((index) => Math.floor(index / 3 / WIDTH)));
      expect(rows.size > 1).toBe(blur.kind === 'gaussian');
      // Only the channel of the point, symmetrical around it.
      expect(lit.every((index) => index % 3 === 0)).toBe(true);
      expect(lit.reduce((sum, index) => sum + index - point, 0)).toBe(0);
    }
  });

  it('has a symmetrical Gaussian in both directions, up to the borders', () => {
    const blur: Blur = { kind: 'gaussian', sigmaPx: 1.1 };
    for (const [column, row] of [
      [20, 15],
      [0, 0],
      [WIDTH - 1, HEIGHT - 1],
      [2, 28],
    ] as const) {
      const at = (x: number, y: number, pixels: Uint8Array) => pixels[3 * (y * WIDTH + x)]!;
      const pixels = painted((index) => (index === 3 * (row * WIDTH + column) ? 255 : 0), { blur });
      const across = Array.from({ length: WIDTH }, (_, x) => at(x, row, pixels)).filter((value) => value > 0);
      const down = Array.from({ length: HEIGHT }, (_, y) => at(column, y, pixels)).filter(
        (value) => value > 0,
      );
      const inside = column >= 3 && row >= 3;
      if (inside) expect(across).toEqual(down);
      if (column === 0) expect(across).toEqual(down);
      expect(across.length).toBeGreaterThanOrEqual(4);
      expect(down.length).toBeGreaterThanOrEqual(4);
    }
  });

  it('is darkest in the corners of its own region and touches nothing else', () => {
    const region = { x1: 5, y1: 4, x2: 35, y2: 24 };
    const pixels = painted(() => 200, { vignette: 0.5, gains: [0.9, 0.9, 0.9] }, 1, region);
    const at = (x: number, y: number) => pixels[3 * (y * WIDTH + x)]!;
    expect(at(4, 10)).toBe(200);
    expect(at(20, 24)).toBe(200);
    expect(at(5, 4)).toBeLessThan(at(20, 14) - 30);
    expect(linear(at(34, 23)) / linear(at(20, 14))).toBeCloseTo(0.5, 1);
  });

  it('keeps its ranges: darker, of another colour, and nothing at strength 0', () => {
    fc.assert(
      fc.property(fc.integer(), fc.double({ min: 0, max: 1, noNaN: true }), (seed, strength) => {
        const { gains, gamma, sensorGain, vignette, blur } = drawDusk(createRandom(seed), strength, 640);
        const light = 0.2126 * gains[0] + 0.7152 * gains[1] + 0.0722 * gains[2];
        expect(light).toBeLessThanOrEqual(2 ** (-0.7 * strength) + 1e-9);
        expect(light).toBeGreaterThanOrEqual(2 ** (-3 * strength) - 1e-9);
        expect(gains.every((gain) => gain > 0)).toBe(true);
        // A strength of 1e-16 is rounded away beside 1.
        expect(Math.abs(gamma - 1)).toBeLessThanOrEqual(0.25 * strength + 1e-9);
        expect(sensorGain).toBeLessThanOrEqual(16 * strength);
        expect(vignette).toBeLessThanOrEqual(0.5 * strength);
        if (blur.kind === 'motion') expect(blur.lengthPx).toBeLessThanOrEqual(1 + 6 * strength);
        if (blur.kind === 'gaussian') expect(blur.sigmaPx).toBeLessThanOrEqual(1.2 * strength);
      }),
    );
  });
});

describe('colour temperature', () => {
  it('is neutral by day, red below and blue above', () => {
    for (const gain of temperatureGains(DAY_KELVIN)) expect(gain).toBeCloseTo(1, 9);
    const [red, green, blue] = temperatureGains(2800);
    expect(red > green && green > blue && blue > 0).toBe(true);
    const [cold, , sky] = temperatureGains(12_000);
    expect(sky).toBeGreaterThan(cold);
    expect(mixKelvin(6500, 2800, 0)).toBeCloseTo(6500, 9);
    expect(mixKelvin(6500, 2800, 1)).toBeCloseTo(2800, 9);
  });
});

describe('hue, saturation and value', () => {
  const changed = (rgb: readonly number[], change: { hue?: number; saturation?: number; value?: number }) => {
    const canvas = canvasOf((index) => rgb[index % 3]!);
    changeHsv(canvas, WHOLE, { hue: 0, saturation: 1, value: 1, ...change });
    return [...canvas.pixels.subarray(0, 3)];
  };

  it('turn red to green to blue by thirds of a turn, to yellow by a sixth', () => {
    expect(changed([200, 0, 0], { hue: 1 / 3 })).toEqual([0, 200, 0]);
    expect(changed([200, 0, 0], { hue: -1 / 3 })).toEqual([0, 0, 200]);
    expect(changed([200, 0, 0], { hue: 1 / 6 })).toEqual([200, 200, 0]);
    expect(changed([0, 0, 200], { hue: 1 / 6 })).toEqual([200, 0, 200]);
  });

  it('grey out at no saturation, cap at full, and scale with the value', () => {
    expect(changed([200, 100, 50], { saturation: 0 })).toEqual([200, 200, 200]);
    expect(changed([200, 100, 50], { saturation: 2 })).toEqual([200, 67, 0]);
    expect(changed([200, 100, 50], { value: 0.5 })).toEqual([100, 50, 25]);
    expect(changed([200, 100, 50], { value: 2 })).toEqual([255, 128, 64]);
    expect(changed([0, 0, 0], { hue: 0.3, value: 1.2, saturation: 1.5 })).toEqual([0, 0, 0]);
  });

  it('give every colour back after a whole turn', () => {
    fc.assert(
      fc.property(fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255)), (rgb) => {
        changed(rgb, { hue: 1 - 1e-9 }).forEach((value, channel) => {
          expect(Math.abs(value - rgb[channel]!)).toBeLessThanOrEqual(1);
        });
      }),
    );
  });
});
