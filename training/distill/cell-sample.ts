// Which cells of which pictures a compact head learns from: all that could become detections, a share of the rest.
import { createRandom } from '#core';

/** Cells whose expected quality lies above are kept first: what readers see starts here. */
export const FOREGROUND = 0.02;

export interface CellSample {
  /** @param row [width]; copied where the cell is kept */
  offer(mean: number, fill: (target: Float32Array, at: number) => void): void;
  readonly foreground: number;
  readonly background: number;
  /** [foreground + background, width], foreground first. */
  rows(): Float32Array;
}

/**
 * At most so many cells of either kind, each cell with the same chance (Vitter's algorithm R), whatever number of
 * pictures they come from.
 */
export function createCellSample(width: number, most: number, seed: number): CellSample {
  const random = createRandom(seed);
  const kept = { front: createPile(width, most), back: createPile(width, Math.ceil(most / 2)) };
  return {
    offer(mean, fill) {
      const { front, back } = kept;
      (mean > FOREGROUND ? front : back).offer(random, fill);
    },
    get foreground() {
      return kept.front.count();
    },
    get background() {
      return kept.back.count();
    },
    rows() {
      const [front, back] = [kept.front.values(), kept.back.values()];
      const joined = new Float32Array(front.length + back.length);
      joined.set(front);
      joined.set(back, front.length);
      return joined;
    },
  };
}

function createPile(width: number, most: number) {
  // Grows by doubling: few pictures need little.
  let memory = new Float32Array(Math.min(most, 1024) * width);
  let seen = 0;
  const count = () => Math.min(seen, most);
  return {
    count,
    values: () => memory.subarray(0, count() * width),
    offer(random: { integer(count: number): number }, fill: (target: Float32Array, at: number) => void) {
      const place = seen < most ? seen : random.integer(seen + 1);
      seen++;
      if (place >= most) return;
      if ((place + 1) * width > memory.length) {
        const larger = new Float32Array(Math.min(2 * memory.length, most * width));
        larger.set(memory);
        memory = larger;
      }
      fill(memory, place * width);
    },
  };
}
