// What the camera makes of the light: lens (blur, glare, vignette), rain before it, sensor noise, tone curve.
import { createDraws, hash } from './random.ts';
import { type Scene, SUPERSAMPLING } from './scene.ts';

/** From samples of light, three a sample, to rgb24. */
export function expose(scene: Scene, light: Float32Array, timeSeconds: number): Uint8Array {
  const { size, lighting } = scene;
  const moment = hash(scene.seed, Math.round(timeSeconds * 1000), 71);
  const picture = gather(scene, light);
  addGlare(picture, size.width, size.height, lighting.glare, lighting.exposure);
  if (lighting.isWet) addRain(picture, scene, moment);
  blurRows(picture, size.width, size.height, lighting.blur);
  blurColumns(picture, size.width, size.height, lighting.blur);
  return develop(picture, scene, moment);
}

/** Mean of each px's samples, exposed and white-balanced. */
function gather({ size, lighting }: Scene, light: Float32Array): Float32Array {
  const { width, height } = size;
  const picture = new Float32Array(3 * width * height);
  const stride = 3 * width * SUPERSAMPLING;
  const gains = lighting.whiteBalance.map((gain) => (gain * lighting.exposure) / SUPERSAMPLING ** 2);
  const [red, green, blue] = gains as [number, number, number];
  for (let row = 0, to = 0; row < height; row++) {
    for (let column = 0; column < width; column++, to += 3) {
      const a = row * SUPERSAMPLING * stride + column * SUPERSAMPLING * 3;
      const b = a + stride;
      picture[to] = (light[a]! + light[a + 3]! + light[b]! + light[b + 3]!) * red;
      picture[to + 1] = (light[a + 1]! + light[a + 4]! + light[b + 1]! + light[b + 4]!) * green;
      picture[to + 2] = (light[a + 2]! + light[a + 5]! + light[b + 2]! + light[b + 5]!) * blue;
    }
  }
  return picture;
}

const GLARE_CELL = 4;

/** Light beyond what the sensor takes spreads over its neighbourhood. */
function addGlare(
  picture: Float32Array,
  width: number,
  height: number,
  share: number,
  exposure: number,
): void {
  const [columns, rows] = [Math.ceil(width / GLARE_CELL), Math.ceil(height / GLARE_CELL)];
  const cells = new Float32Array(3 * columns * rows);
  const ceiling = 1.1;
  let isGlaring = false;
  for (let row = 0, from = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const to = 3 * (Math.floor(row / GLARE_CELL) * columns + Math.floor(column / GLARE_CELL));
      for (let i = 0; i < 3; i++, from++) {
        const excess = picture[from]! - ceiling;
        if (excess <= 0) continue;
        isGlaring = true;
        cells[to + i]! += Math.min(excess, 4 * exposure) / GLARE_CELL ** 2;
      }
    }
  }
  if (!isGlaring) return;
  for (let pass = 0; pass < 2; pass++) {
    blurRows(cells, columns, rows, 0.3);
    blurColumns(cells, columns, rows, 0.3);
  }
  for (let row = 0, to = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      addInterpolated(picture, to, cells, columns, rows, column, row, share);
      to += 3;
    }
  }
}

function addInterpolated(
  picture: Float32Array,
  to: number,
  cells: Float32Array,
  columns: number,
  rows: number,
  column: number,
  row: number,
  share: number,
): void {
  const x = Math.max(0, (column + 0.5) / GLARE_CELL - 0.5);
  const y = Math.max(0, (row + 0.5) / GLARE_CELL - 0.5);
  const [left, top] = [Math.floor(x), Math.floor(y)];
  const [u, v] = [x - left, y - top];
  const across = left + 1 < columns ? 3 : 0;
  const down = top + 1 < rows ? 3 * columns : 0;
  const at = 3 * (top * columns + left);
  if (cells[at]! + cells[at + across]! + cells[at + down]! + cells[at + down + across]! === 0) return;
  for (let i = 0; i < 3; i++) {
    const upper = cells[at + i]! * (1 - u) + cells[at + across + i]! * u;
    const lower = cells[at + down + i]! * (1 - u) + cells[at + down + across + i]! * u;
    picture[to + i]! += (upper * (1 - v) + lower * v) * share * 4;
  }
}

/** Streaks of falling drops, and the veil they lay over everything. */
function addRain(picture: Float32Array, { size, lighting }: Scene, moment: number): void {
  const draws = createDraws(moment);
  const veil = lighting.horizon[1] * lighting.exposure;
  const scale = size.width / 320;
  const count = Math.round(320 * scale);
  const slant = draws.between(-0.15, 0.15) + 0.2;
  for (let drop = 0; drop < count; drop++) {
    const length = draws.between(5, 17) * scale;
    const strength = draws.between(0.03, 0.14);
    let x = draws.between(-10, size.width);
    const top = draws.between(-10, size.height);
    for (let y = Math.max(0, Math.ceil(top)); y < Math.min(size.height, top + length); y++) {
      x += slant;
      const column = Math.floor(x);
      if (column < 0 || column >= size.width) continue;
      const at = 3 * (y * size.width + column);
      for (let i = 0; i < 3; i++) {
        const before = picture[at + i]!;
        picture[at + i] = before + strength * (0.35 * veil + 0.12 + 0.4 * before - before * 0.5);
      }
    }
  }
}

function blurRows(picture: Float32Array, width: number, height: number, share: number): void {
  const kept = 1 - 2 * share;
  for (let row = 0; row < height; row++) {
    const start = 3 * row * width;
    for (let i = 0; i < 3; i++) {
      let before = picture[start + i]!;
      for (let at = start + i, end = start + 3 * (width - 1); at < end; at += 3) {
        const here = picture[at]!;
        picture[at] = here * kept + (before + picture[at + 3]!) * share;
        before = here;
      }
    }
  }
}

function blurColumns(picture: Float32Array, width: number, height: number, share: number): void {
  const kept = 1 - 2 * share;
  const stride = 3 * width;
  const before = picture.slice(0, stride);
  for (let row = 0; row + 1 < height; row++) {
    const start = row * stride;
    for (let i = 0; i < stride; i++) {
      const here = picture[start + i]!;
      picture[start + i] = here * kept + (before[i]! + picture[start + stride + i]!) * share;
      before[i] = here;
    }
  }
}

const TONE_STEPS = 4096;
const TONE_WHITE = 3;

/** Film-like shoulder, then sRGB's gamma. */
function toneTable(): Uint8Array {
  return Uint8Array.from({ length: TONE_STEPS }, (_, step) => {
    const level = (step / TONE_STEPS) * TONE_WHITE;
    const shouldered = (1 - Math.exp(-1.45 * level)) / (1 - Math.exp(-1.45 * TONE_WHITE));
    const coded = shouldered <= 0.0031308 ? 12.92 * shouldered : 1.055 * shouldered ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, coded));
  });
}

/** A power of two, so that a mask wraps around it. */
const NOISE_VALUES = 1 << 15;

/** Nearly normal: the sum of four uniform numbers. */
function noiseTable(): Float32Array {
  const scale = Math.sqrt(3) / 0xffff_ffff;
  return Float32Array.from({ length: NOISE_VALUES }, (_, index) => {
    const sum = hash(index, 1) + hash(index, 2) + hash(index, 3) + hash(index, 4);
    return (sum - 2 * 0xffff_ffff) * scale;
  });
}

const TONES = toneTable();
const NOISE = noiseTable();

function develop(picture: Float32Array, { size, lighting }: Scene, moment: number): Uint8Array {
  const { width, height } = size;
  const rgb = new Uint8Array(picture.length);
  const toStep = TONE_STEPS / TONE_WHITE;
  const { readNoise, shotNoise } = lighting;
  for (let row = 0, at = 0; row < height; row++) {
    let noiseAt = hash(moment, row, 72);
    const y = (row / height - 0.5) ** 2;
    for (let column = 0; column < width; column++) {
      const vignette = 1 - 0.55 * ((column / width - 0.5) ** 2 + y);
      for (let i = 0; i < 3; i++, at++) {
        const level = picture[at]! * vignette;
        const noise = NOISE[noiseAt++ & (NOISE_VALUES - 1)]!;
        const noisy = level + noise * (readNoise + shotNoise * Math.sqrt(Math.max(level, 0)));
        const step = (noisy * toStep) | 0;
        rgb[at] = TONES[step < 0 ? 0 : step >= TONE_STEPS ? TONE_STEPS - 1 : step]!;
      }
    }
  }
  return rgb;
}
