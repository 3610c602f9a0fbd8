// Where a fixed camera's picture changes, told from the scaled picture that is there anyway: a slow background and its
// noise, cell by cell. A change of all of the picture at once is another light, and not motion.

import { isInside, type Region } from './region.ts';
import type { Size } from './shapes.ts';

/** What counts as motion. */
export interface MotionRule {
  /** Least difference from the background, of 255 steps of brightness. */
  readonly threshold: number;
  /** Least connected area that changes, as a share of the picture. */
  readonly minArea: number;
  /** Where motion does not count. */
  readonly masks: readonly Region[];
}

/** `relearning`: the whole picture is another one (infrared, lightning, a lamp), and is taken as the background. */
export type MotionState = 'still' | 'motion' | 'relearning';

/** Cells along the longer side: a person of 20 px in a picture of 640 covers ten of them. */
const CELLS_PER_SIDE = 160;
/** Seconds in which a change becomes background: where nothing moves, and where something does. */
const STILL_SECONDS = 5;
const MOVING_SECONDS = 15;
/** A cell that is seldom quiet (leaves, water, noise by night) must leave its background by so many mean deviations. */
const DEVIATIONS = 4;
/** But no cell becomes blind: its limit is at most the threshold times this. */
const LARGEST_LIMIT = 3;
const FIRST_NOISE = 2;
/** Share of the picture from which a change is one of the light. */
const WHOLE_PICTURE = 0.6;
/** A camera that has switched its light settles its exposure for some frames. */
const SETTLE_SECONDS = 0.5;
/** A pause counts as so much at most: one frame after a break is no background. */
const LONGEST_STEP_SECONDS = 2;
const LEVELS = 511;

/** Measures the frames of one stream of one size, in order. Allocates nothing for a frame. */
export class MotionMeter {
  readonly #size: Size;
  readonly #threshold: number;
  /** Least connected cells that are motion. */
  readonly #leastCells: number;
  readonly #cell: number;
  readonly #columns: number;
  readonly #rows: number;
  readonly #now: Float32Array;
  readonly #background: Float32Array;
  readonly #noise: Float32Array;
  /** 1: counts, 0: masked. */
  readonly #counts: Uint8Array;
  readonly #counted: number;
  readonly #changed: Uint8Array;
  readonly #stack: Int32Array;
  readonly #histogram = new Int32Array(LEVELS);
  #lastSeconds: number | undefined;
  /** Pictures that the background was made of. */
  #learned = 1;
  #settledAtSeconds = Number.NEGATIVE_INFINITY;

  /** @param size of the rgb24 pictures */
  constructor(size: Size, { threshold, minArea, masks }: MotionRule) {
    this.#size = size;
    this.#threshold = threshold;
    this.#cell = Math.max(1, Math.round(Math.max(size.width, size.height) / CELLS_PER_SIDE));
    this.#columns = Math.max(1, Math.floor(size.width / this.#cell));
    this.#rows = Math.max(1, Math.floor(size.height / this.#cell));
    const cells = this.#columns * this.#rows;
    this.#leastCells = Math.max(1, Math.ceil(minArea * cells));
    this.#now = new Float32Array(cells);
    this.#background = new Float32Array(cells);
    this.#noise = new Float32Array(cells).fill(FIRST_NOISE);
    this.#changed = new Uint8Array(cells);
    this.#stack = new Int32Array(cells);
    this.#counts = this.#countingCells(masks);
    this.#counted = this.#counts.reduce((sum, one) => sum + one, 0);
  }

  /**
   * @param rgb rgb24 [height, width, 3]
   * @param seconds of the stream
   */
  see(rgb: Uint8Array, seconds: number): MotionState {
    this.#shrink(rgb);
    const before = this.#lastSeconds;
    this.#lastSeconds = seconds;
    // The first picture is all that is known; a clock that went back belongs to a stream that began anew.
    if (before === undefined || seconds < before) return this.#relearn(seconds);
    if (seconds < this.#settledAtSeconds) {
      this.#background.set(this.#now);
      return 'relearning';
    }
    const changed = this.#compare(this.#shift());
    if (changed > WHOLE_PICTURE * this.#counted) return this.#relearn(seconds);
    const isMotion = changed >= this.#leastCells && this.#hasGroup();
    this.#learn(Math.min(seconds - before, LONGEST_STEP_SECONDS));
    return isMotion ? 'motion' : 'still';
  }

  #relearn(seconds: number): MotionState {
    this.#background.set(this.#now);
    this.#learned = 1;
    this.#settledAtSeconds = seconds + SETTLE_SECONDS;
    return 'relearning';
  }

  #countingCells(masks: readonly Region[]): Uint8Array {
    const counts = new Uint8Array(this.#columns * this.#rows);
    for (let row = 0, at = 0; row < this.#rows; row++) {
      for (let column = 0; column < this.#columns; column++, at++) {
        const x = ((column + 0.5) * this.#cell) / this.#size.width;
        const y = ((row + 0.5) * this.#cell) / this.#size.height;
        counts[at] = masks.some((mask) => isInside(mask, [x, y])) ? 0 : 1;
      }
    }
    return counts;
  }

  /** Mean luma (BT.601) of each cell. */
  #shrink(rgb: Uint8Array): void {
    const [cell, columns, { width }] = [this.#cell, this.#columns, this.#size];
    const now = this.#now.fill(0);
    const scale = 1 / (256 * cell * cell);
    for (let row = 0; row < this.#rows; row++) {
      const first = row * columns;
      for (let y = row * cell; y < (row + 1) * cell; y++) {
        for (let column = 0, at = 3 * y * width; column < columns; column++) {
          let sum = 0;
          for (let x = 0; x < cell; x++, at += 3)
            sum += 77 * rgb[at]! + 150 * rgb[at + 1]! + 29 * rgb[at + 2]!;
          now[first + column]! += scale * sum;
        }
      }
    }
  }

  /** Median difference from the background: what exposure and clouds do to all of the picture. */
  #shift(): number {
    const [now, background, counts, histogram] = [
      this.#now,
      this.#background,
      this.#counts,
      this.#histogram.fill(0),
    ];
    for (let at = 0; at < now.length; at++)
      if (counts[at] === 1) histogram[(now[at]! - background[at]! + 255.5) | 0]!++;
    const half = this.#counted / 2;
    let level = 0;
    for (let seen = histogram[0]!; seen < half && level < LEVELS - 1; ) seen += histogram[++level]!;
    return this.#counted === 0 ? 0 : level - 255;
  }

  /** @returns cells that differ by more than their limit */
  #compare(shift: number): number {
    const [now, background, noise, counts, changed] = [
      this.#now,
      this.#background,
      this.#noise,
      this.#counts,
      this.#changed,
    ];
    const least = this.#threshold;
    const most = LARGEST_LIMIT * least;
    let count = 0;
    for (let at = 0; at < now.length; at++) {
      const difference = Math.abs(now[at]! - background[at]! - shift);
      const isChanged =
        difference > least && counts[at] === 1 && difference > Math.min(most, DEVIATIONS * noise[at]!);
      changed[at] = isChanged ? 1 : 0;
      if (isChanged) count++;
    }
    return count;
  }

  /** Whether enough changed cells lie together, corners included: scattered ones are noise. Uses up 1 for 2. */
  #hasGroup(): boolean {
    const [changed, stack, columns] = [this.#changed, this.#stack, this.#columns];
    for (let start = 0; start < changed.length; start++) {
      if (changed[start] !== 1) continue;
      changed[start] = 2;
      stack[0] = start;
      let [waiting, size] = [1, 0];
      while (waiting > 0) {
        const at = stack[--waiting]!;
        if (++size >= this.#leastCells) return true;
        const column = at % columns;
        const left = column > 0 ? -1 : 0;
        const right = column < columns - 1 ? 1 : 0;
        for (let row = at - columns; row <= at + columns; row += columns) {
          for (let next = row + left; next <= row + right; next++) {
            if (changed[next] !== 1) continue; // nothing there above the first row and below the last
            changed[next] = 2;
            stack[waiting++] = next;
          }
        }
      }
    }
    return false;
  }

  /** The first pictures of a background count alike: noise would look like motion for long. */
  #learn(stepSeconds: number): void {
    const [now, background, noise, changed] = [this.#now, this.#background, this.#noise, this.#changed];
    const still = Math.max(1 - Math.exp(-stepSeconds / STILL_SECONDS), 1 / ++this.#learned);
    const moving = 1 - Math.exp(-stepSeconds / MOVING_SECONDS);
    const most = 2 * LARGEST_LIMIT * this.#threshold;
    for (let at = 0; at < now.length; at++) {
      const rate = changed[at] === 0 ? still : moving;
      const difference = now[at]! - background[at]!;
      const deviation = difference < 0 ? -difference : difference;
      background[at]! += rate * difference;
      noise[at]! += rate * (Math.min(deviation, most) - noise[at]!);
    }
  }
}
