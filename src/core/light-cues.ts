// How light it is, from one picture: what exposure, which the camera sets by itself, leaves as it is.
import type { LightLadder } from './light.ts';

/**
 * Cues that do not change when every value of the picture is multiplied by one number. Luma is that of BT.601, of the
 * picture scaled to at most 160 px a side.
 */
export interface LightCues {
  /** ln of the 99th percentile of luma over its mean: lamps in the dark stand far above the mean. */
  readonly highlights: number;
  /** Share in [0, 1] of the picture below a fifth of the mean: what no lamp reaches. */
  readonly shadows: number;
  /** Entropy of luma over its mean, in bits, in 64 steps of 1/16: how evenly the light is spread. */
  readonly spread: number;
}

export interface LightMeasure {
  readonly cues: LightCues;
  /**
   * Rises with the light: below 0 night, from 0 to 1 dusk or dawn, above 1 day; what `LIGHT_LADDER` expects.
   * NaN for an empty picture or a black one, which say nothing (`nextLight` then changes nothing).
   */
  readonly value: number;
  /** No pixel has a colour: a camera that has switched to infrared. `value` is then `INFRARED_VALUE`. */
  readonly grey: boolean;
}

/** Deep in the night: cameras switch to infrared because it is dark. A camera without colours cannot be measured. */
export const INFRARED_VALUE = -2;

/** States and boundaries of `LightMeasure.value`, for where a thresholds file brings none. */
export const LIGHT_LADDER: LightLadder = {
  states: ['night', 'dusk', 'day'],
  boundaries: [0, 1],
  margin: 0.15,
  holdSeconds: 2,
};

/**
 * An ordinal logistic regression (proportional odds: McCullagh 1980, section 2) on the three cues, the states weighted
 * equally, fitted to 286 pictures of seven road cameras of one city and one day; then shifted and scaled so that its
 * two cut points are 0 and 1. Fitted on six and asked about the seventh, it is right on 229 (80 %): 66 of 70 by night,
 * 61 of 90 at dusk, 102 of 126 by day. Night and day are never taken for each other; before the sun has set, dusk is
 * told from day little better than by chance. Deep shade of trees or walls by day reads as night: such a camera
 * needs boundaries of its own. Colour was tried as a fourth cue: no gain that could be told from chance, and worse on
 * other cameras. test/core/light-cues.test.ts fits it again.
 */
const MODEL = { constant: 2.055, highlights: -9.777, shadows: -40.35, spread: 1.421 };

const MAX_SIDE_PX = 160;
/** Samples per side of a cell: more would cost time and change the cues by less than the cameras differ. */
const SAMPLES_PER_SIDE = 2;
/** Luma in quarters of a grey value. */
const LUMA_LEVELS = 1024;
const SPREAD_STEPS = 64;
const SPREAD_STEPS_PER_MEAN = 16;
/** Chroma subsampling and rounding leave this much colour in a grey picture, in grey values. */
const GREY_TOLERANCE = 6;

/**
 * Measures one picture; about 0.6 ms for 640 x 360 on a server core.
 * @param rgb rgb24 [height, width, 3]
 * @throws RangeError where `rgb` is shorter than the picture
 */
export function measureLight(rgb: Uint8Array, width: number, height: number): LightMeasure {
  if (rgb.length < 3 * width * height)
    throw new RangeError(`${rgb.length} bytes are too few for an rgb24 picture of ${width}x${height}`);
  const { histogram, count, grey } = countPixels(rgb, width, height);
  const cues = cuesOf(histogram, count);
  return { cues, value: grey && Number.isFinite(cues.highlights) ? INFRARED_VALUE : valueOfCues(cues), grey };
}

/** The model's answer to cues; see `LightMeasure.value`. */
function valueOfCues({ highlights, shadows, spread }: LightCues): number {
  return MODEL.constant + MODEL.highlights * highlights + MODEL.shadows * shadows + MODEL.spread * spread;
}

interface PixelCounts {
  /** Cells by luma, in quarters of a grey value. */
  readonly histogram: Uint32Array;
  readonly count: number;
  readonly grey: boolean;
}

/** One pass: the picture is cut into square cells, and each cell is the mean of a few of its pixels. */
function countPixels(rgb: Uint8Array, width: number, height: number): PixelCounts {
  const cellPx = Math.max(1, Math.ceil(Math.max(width, height) / MAX_SIDE_PX));
  const stepPx = Math.ceil(cellPx / SAMPLES_PER_SIDE);
  const samples = Math.ceil(cellPx / stepPx) ** 2;
  const greyTolerance = GREY_TOLERANCE * samples;
  const [columns, rows] = [Math.floor(width / cellPx), Math.floor(height / cellPx)];
  const histogram = new Uint32Array(LUMA_LEVELS);
  let grey = true;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let red = 0;
      let green = 0;
      let blue = 0;
      for (let y = 0; y < cellPx; y += stepPx) {
        let at = 3 * ((row * cellPx + y) * width + column * cellPx);
        for (let x = 0; x < cellPx; x += stepPx, at += 3 * stepPx) {
          red += rgb[at]!;
          green += rgb[at + 1]!;
          blue += rgb[at + 2]!;
        }
      }
      const luma = (0.299 * red + 0.587 * green + 0.114 * blue) / samples;
      histogram[Math.min(LUMA_LEVELS - 1, Math.floor(4 * luma))]!++;
      if (grey && Math.max(red, green, blue) - Math.min(red, green, blue) > greyTolerance) grey = false;
    }
  }
  return { histogram, count: columns * rows, grey };
}

function cuesOf(histogram: Uint32Array, count: number): LightCues {
  const mean = meanLevel(histogram) / count;
  const steps = new Uint32Array(SPREAD_STEPS);
  let [shadowCount, seen, percentile99] = [0, 0, 0];
  for (let level = 0; level < LUMA_LEVELS; level++) {
    const cells = histogram[level]!;
    if (cells === 0) continue;
    if (level < 0.2 * mean) shadowCount += cells;
    if (seen < 0.99 * count) percentile99 = level;
    seen += cells;
    const step = Math.floor((SPREAD_STEPS_PER_MEAN * level) / mean);
    steps[Math.min(SPREAD_STEPS - 1, step)]! += cells;
  }
  return {
    highlights: Math.log(percentile99 / mean),
    shadows: shadowCount / count,
    spread: entropyBits(steps, count),
  };
}

function meanLevel(histogram: Uint32Array): number {
  let sum = 0;
  for (let level = 0; level < histogram.length; level++) sum += level * histogram[level]!;
  return sum;
}

function entropyBits(counts: Uint32Array, total: number): number {
  let bits = 0;
  for (const count of counts) if (count > 0) bits -= (count / total) * Math.log2(count / total);
  return bits;
}
