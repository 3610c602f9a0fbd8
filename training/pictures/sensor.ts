// A camera's sensor in linear light: shot and read noise, and the way from light back to bytes.

/** Electrons that a full px holds at gain 1, after scaling to the network's size; shot noise is √electrons. */
const FULL_WELL = 6000;
/** Standard deviation of the read noise at gain 1, as a share of full. */
const READ_NOISE = 0.00025;
/** Steps of linear light that are told apart: in the shadows, sRGB changes by 0.8 of a byte per step. */
const LIGHT_STEPS = 4096;
/** Three noises of ten bits each are cut from one draw. */
const NORMAL_BITS = 10;

/** Linear light of all sRGB bytes, [0, 1] (IEC 61966-2-1). */
export function linearTable(): Float64Array {
  return Float64Array.from({ length: 256 }, (_, byte) => {
    const value = byte / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
}

export interface SensorOptions {
  /** Exponent on the encoded values. */
  readonly gamma: number;
  readonly sensorGain: number;
  /** 32 bits of the noise's own generator. */
  readonly seed: number;
}

export interface Sensor {
  /** Writes bytes from `to` on. @param light interleaved linear light of `length / 3` px */
  encodeRow(pixels: Uint8Array, to: number, light: Float64Array, length: number): void;
}

/**
 * Adds normal noise of variance gain · light / FULL_WELL + (gain · READ_NOISE)² (Healey and Kondepudy, 1994, eq. 4,
 * without its fixed patterns) and encodes.
 */
export function createSensor({ gamma, sensorGain, seed }: SensorOptions): Sensor {
  const encode = encodeTable(gamma);
  const deviation = deviationTable(sensorGain);
  const normal = NORMAL_TABLE;
  const last = LIGHT_STEPS - 1;
  const mask = (1 << NORMAL_BITS) - 1;
  // A zero state would stay zero.
  let kept = seed | 0 || 1;
  return {
    encodeRow(pixels, start, light, length) {
      let state = kept;
      for (let place = 0, to = start; place < length; place += 3, to += 3) {
        // xorshift32 (Marsaglia, 2003) inside the loop: 30 of its bits are three noises.
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        const red = light[place]! * last;
        const green = light[place + 1]! * last;
        const blue = light[place + 2]! * last;
        const noisyRed = red + deviation[Math.min(red, last) | 0]! * normal[state & mask]!;
        const noisyGreen = green + deviation[Math.min(green, last) | 0]! * normal[(state >>> 10) & mask]!;
        const noisyBlue = blue + deviation[Math.min(blue, last) | 0]! * normal[(state >>> 20) & mask]!;
        pixels[to] = encode[Math.max(0, Math.min(noisyRed + 0.5, last)) | 0]!;
        pixels[to + 1] = encode[Math.max(0, Math.min(noisyGreen + 0.5, last)) | 0]!;
        pixels[to + 2] = encode[Math.max(0, Math.min(noisyBlue + 0.5, last)) | 0]!;
      }
      kept = state;
    },
  };
}

/** Bytes of all steps of light: sRGB, then the exponent. */
function encodeTable(gamma: number): Uint8Array {
  return Uint8Array.from({ length: LIGHT_STEPS }, (_, step) => {
    const light = step / (LIGHT_STEPS - 1);
    const value = light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, value)) ** gamma);
  });
}

/** Standard deviation of the noise in steps of light. */
function deviationTable(gain: number): Float64Array {
  return Float64Array.from({ length: LIGHT_STEPS }, (_, step) => {
    const light = step / (LIGHT_STEPS - 1);
    return Math.sqrt((gain * light) / FULL_WELL + (gain * READ_NOISE) ** 2) * (LIGHT_STEPS - 1);
  });
}

/** Middles of equal slices of the standard normal law, scaled to a variance of exactly 1. */
const NORMAL_TABLE = normalTable(1 << NORMAL_BITS);

/** Walks along the law in small steps and notes where every slice's middle is passed. */
function normalTable(count: number): Float64Array {
  const values = new Float64Array(count);
  const step = 1e-3;
  let mass = 0;
  let slice = 0;
  for (let z = -6; slice < count && z < 6; z += step) {
    mass += (step * Math.exp(-0.5 * (z + step / 2) ** 2)) / Math.sqrt(2 * Math.PI);
    while (slice < count && mass >= (slice + 0.5) / count) values[slice++] = z + step;
  }
  const variance = values.reduce((sum, value) => sum + value * value, 0) / count;
  return Float64Array.from(values, (value) => value / Math.sqrt(variance));
}
