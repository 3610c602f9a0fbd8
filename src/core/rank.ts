// Orders candidates by rank, best first, ties by place: a radix sort on float32 bits, without a comparator.

const DIGIT_BITS = 11;
const BUCKETS = 1 << DIGIT_BITS;
const MASK = BUCKETS - 1;
const DIGITS = 3; // 3 * 11 >= 32 bits

interface Run {
  /** Turned-round bits of the rank: the smallest is the highest rank. */
  readonly keys: Int32Array;
  readonly places: Int32Array;
}

/** Scratch of one sorter; grown, never shrunk. */
export class RankSorter {
  #front: Run = createRun(0);
  #back: Run = createRun(0);
  /** Per digit, how many keys have each value; then where their first goes. */
  readonly #starts = new Int32Array(DIGITS * BUCKETS);

  /**
   * @param places places to order, `places[0..count)`, rising
   * @param ranks float32 by place; finite and >= 0, where the bits of a float rise with its value
   * @returns `[0..count)` of a reused array: places by falling rank, equal ranks in the order that they came in
   */
  sort(places: Int32Array, ranks: Float32Array, count: number): Int32Array {
    if (this.#front.places.length < count) {
      this.#front = createRun(ranks.length);
      this.#back = createRun(ranks.length);
    }
    this.#load(places, ranks, count);
    for (let digit = 0; digit < DIGITS; digit++) {
      if (!this.#prepare(digit, count)) continue;
      this.#distribute(digit, count);
      const sorted = this.#back;
      this.#back = this.#front;
      this.#front = sorted;
    }
    return this.#front.places;
  }

  #load(places: Int32Array, ranks: Float32Array, count: number): void {
    const bits = new Int32Array(ranks.buffer, ranks.byteOffset, ranks.length);
    const front = this.#front;
    const counts = this.#starts.fill(0);
    for (let index = 0; index < count; index++) {
      const place = places[index]!;
      const key = ~bits[place]!;
      front.places[index] = place;
      front.keys[index] = key;
      counts[key & MASK]!++;
      counts[BUCKETS + ((key >>> DIGIT_BITS) & MASK)]!++;
      counts[2 * BUCKETS + (key >>> (2 * DIGIT_BITS))]!++;
    }
  }

  /** Counts become starts. @returns false where all keys agree in this digit, so that nothing would move */
  #prepare(digit: number, count: number): boolean {
    const starts = this.#starts;
    const first = digit * BUCKETS;
    let start = 0;
    for (let bucket = first; bucket < first + BUCKETS; bucket++) {
      const size = starts[bucket]!;
      if (size === count) return false;
      starts[bucket] = start;
      start += size;
    }
    return true;
  }

  #distribute(digit: number, count: number): void {
    const { keys, places } = this.#front;
    const { keys: keysTo, places: placesTo } = this.#back;
    const starts = this.#starts;
    const first = digit * BUCKETS;
    const shift = digit * DIGIT_BITS;
    for (let index = 0; index < count; index++) {
      const key = keys[index]!;
      const bucket = first + ((key >>> shift) & MASK);
      const to = starts[bucket]!;
      starts[bucket] = to + 1;
      keysTo[to] = key;
      placesTo[to] = places[index]!;
    }
  }
}

function createRun(capacity: number): Run {
  return { keys: new Int32Array(capacity), places: new Int32Array(capacity) };
}
