// The same picture as a camera would see it at dusk: less light of another colour, and what the camera does about it.
import type { Random } from '#core';
import {
  type Blur,
  blurRowInto,
  MAX_LENGTH_PX,
  MAX_SIGMA_PX,
  mixRowsInto,
  REACH,
  rowBlurOf,
} from './blur.ts';
import { DAY_KELVIN, type Gains, mixKelvin, temperatureGains } from './colour-temperature.ts';
import type { Region } from './placement.ts';
import { createSensor, linearTable } from './sensor.ts';
import type { Canvas } from './types.ts';

/** One dusk. All of it happens in linear light. */
export interface Dusk {
  /** Factors on linear red, green and blue: brightness on the screen times colour of the light. */
  readonly gains: Gains;
  /** Exponent on the encoded values: above 1 shadows close, below 1 they are lifted. */
  readonly gamma: number;
  /** Amplification of the sensor: noise grows with it. */
  readonly sensorGain: number;
  /** Share of the light that is lost in the corners. */
  readonly vignette: number;
  readonly blur: Blur;
}

/** The ranges, drawn evenly, at strength 1; at strength s every one is reduced towards "nothing" by s. */
export const DUSK_RANGES = {
  /** Brightness on the screen falls by this many stops (powers of two), after all that automatic gain can do. */
  stops: [0.7, 3],
  /** Amplification in stops: up to 16 times. */
  sensorGainStops: [1, 4],
  gamma: [-0.15, 0.25],
  vignette: [0, 0.5],
  /** Lamps and low sun, in two of three dusks. */
  warmKelvin: [2800, 4500],
  /** The blue hour, in the third. */
  blueKelvin: [8500, 14_000],
  /** Length of the smear in px, in one of three dusks; shorter on an input less than 640 px wide. */
  motionPx: [1, MAX_LENGTH_PX],
  /** Out of focus, in one of three; the same holds. */
  sigmaPx: [0.4, MAX_SIGMA_PX],
} as const;

/** Probability of the blue hour, of motion blur, and of being out of focus. */
const THIRD = 1 / 3;

/**
 * @param strength 0 (day) to 1 (last light)
 * @param widthPx width of the network's input
 */
export function drawDusk(random: Random, strength: number, widthPx: number): Dusk {
  const draw = ([low, high]: readonly [number, number]) => random.between(low, high);
  const brightness = 2 ** (-strength * draw(DUSK_RANGES.stops));
  const isBlue = random.next() < THIRD;
  const kelvin = draw(isBlue ? DUSK_RANGES.blueKelvin : DUSK_RANGES.warmKelvin);
  const [red, green, blue] = temperatureGains(mixKelvin(DAY_KELVIN, kelvin, strength));
  const scale = strength * Math.min(1, widthPx / 640);
  const kind = random.next();
  const motionPx = 1 + scale * (draw(DUSK_RANGES.motionPx) - 1);
  const sigmaPx = scale * draw(DUSK_RANGES.sigmaPx);
  return {
    gains: [brightness * red, brightness * green, brightness * blue],
    gamma: 1 + strength * draw(DUSK_RANGES.gamma),
    sensorGain: strength * 2 ** draw(DUSK_RANGES.sensorGainStops),
    vignette: strength * draw(DUSK_RANGES.vignette),
    blur:
      kind < THIRD
        ? { kind: 'motion', lengthPx: motionPx }
        : kind < 2 * THIRD
          ? { kind: 'gaussian', sigmaPx }
          : { kind: 'none' },
  };
}

export interface DuskPainter {
  /** Changes the region of the canvas in place. @param noiseSeed 32 bits; equal seeds give equal noise */
  paint(canvas: Canvas, region: Region, dusk: Dusk, noiseSeed: number): void;
}

/** Rows of linear light that the vertical blur sees at once. */
const RING_ROWS = 2 * REACH + 1;

/** Holds a few rows of linear light, as wide as the widest region so far. */
export function createDuskPainter(): DuskPainter {
  let line = new Float64Array(0);
  let ring = new Float64Array(0);
  let mixed = new Float64Array(0);
  const toLinear = linearTable();
  return {
    paint({ pixels, width }, region, dusk, noiseSeed) {
      const { x1, y1 } = region;
      const height = region.y2 - y1;
      const length = 3 * (region.x2 - x1);
      if (length <= 0 || height <= 0) return;
      if (mixed.length < length) {
        line = new Float64Array(length + 6 * REACH);
        ring = new Float64Array(RING_ROWS * length);
        mixed = new Float64Array(length);
      }
      const blur = { ...rowBlurOf(dusk.blur), length };
      const exposure = createExposure(region, dusk, toLinear);
      const sensor = createSensor({ ...dusk, seed: noiseSeed });
      const slotOf = (y: number) => (y % RING_ROWS) * length;
      const placeOf = (y: number) => 3 * ((y1 + y) * width + x1);
      function lightRow(y: number, target: Float64Array, to: number): void {
        exposure.exposeRowInto(line, 3 * REACH, pixels, { from: placeOf(y), y });
        blurRowInto(target, to, line, blur);
      }
      // A row is overwritten only once all rows that its blur reaches have been read.
      for (let y = 0, read = 0; y < height; y++) {
        if (blur.isVertical) {
          for (; read < height && read <= y + REACH; read++) lightRow(read, ring, slotOf(read));
          const startOf = (step: number) => slotOf(Math.min(height - 1, Math.max(0, y + step)));
          mixRowsInto(mixed, ring, startOf, blur);
        } else if (dusk.blur.kind === 'none')
          exposure.exposeRowInto(mixed, 0, pixels, { from: placeOf(y), y });
        else lightRow(y, mixed, 0);
        sensor.encodeRow(pixels, placeOf(y), mixed, length);
      }
    },
  };
}

interface Exposure {
  exposeRowInto(
    target: Float64Array,
    to: number,
    pixels: Uint8Array,
    row: { readonly from: number; readonly y: number },
  ): void;
}

/** Light that reaches the sensor: gains and vignette, 1 − v·r², r = 1 in the corners of the region. */
function createExposure(region: Region, dusk: Dusk, toLinear: Float64Array): Exposure {
  const [red, green, blue] = dusk.gains.map((gain) => toLinear.map((value) => value * gain)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  const squares = (from: number, to: number) =>
    Float64Array.from({ length: to - from }, (_, index) => {
      const centred = (2 * (index + 0.5)) / (to - from) - 1;
      return 0.5 * dusk.vignette * centred * centred;
    });
  const across = squares(region.x1, region.x2);
  const down = squares(region.y1, region.y2);
  return {
    exposeRowInto(target, to, pixels, { from, y }) {
      const left = 1 - down[y]!;
      for (let x = 0, place = to, at = from; x < across.length; x++, at += 3, place += 3) {
        const share = left - across[x]!;
        target[place] = share * red[pixels[at]!]!;
        target[place + 1] = share * green[pixels[at + 1]!]!;
        target[place + 2] = share * blue[pixels[at + 2]!]!;
      }
    },
  };
}
