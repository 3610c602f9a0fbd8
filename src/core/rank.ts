// Orders candidates by rank, best first, ties by place: a radix sort on float32 bits, without a comparator.

const DIGIT_BITS = 11;
const BUCKETS = 1 << DIGIT_BITS;
const DIGITS = 3; // 3 * 11 >= 32 bits

/** Scratch of one sorter; grown, never shrunk. */
export class RankSorter {
  #keys = new Uint32Array(0);
  #order = new Int32Array(0);
  #swap = new Int32Array(0);
  readonly #starts = new Uint32Array(BUCKETS);

  /**
   * @param places places to order, `places[0..count)`, rising
   * @param ranks float32 by place; finite and >= 0, where the bits of a float rise with its value
   * @returns `[0..count)` of a reused array: places by falling rank, equal ranks in the order that they came in
   */
  sort(places: Int32Array, ranks: Float32Array, count: number): Int32Array {
    this.#reserve(ranks.length, count);
    const bits = new Uint32Array(ranks.buffer, ranks.byteOffset, ranks.length);
    const keys = this.#keys;
    // Turned round: the smallest key is the highest rank, and a stable pass keeps ties in place.
    for (let index = 0; index < count; index++) keys[places[index]!] = ~bits[places[index]!]!;
    let from = this.#order;
    let to = this.#swap;
    from.set(count === places.length ? places : places.subarray(0, count));
    for (let digit = 0; digit < DIGITS; digit++) {
      if (!this.#pass(from, to, count, digit * DIGIT_BITS)) continue;
      const previous = from;
      from = to;
      to = previous;
    }
    return from;
  }

  /** @returns false where all keys agree in this digit, so that nothing was moved */
  #pass(from: Int32Array, to: Int32Array, count: number, shift: number): boolean {
    const keys = this.#keys;
    const starts = this.#starts.fill(0);
    const mask = BUCKETS - 1;
    for (let index = 0; index < count; index++) starts[(keys[from[index]!]! >>> shift) & mask]!++;
    if (count > 0 && starts[(keys[from[0]!]! >>> shift) & mask] === count) return false;
    let start = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const size = starts[bucket]!;
      starts[bucket] = start;
      start += size;
    }
    for (let index = 0; index < count; index++) {
      const place = from[index]!;
      to[starts[(keys[place]! >>> shift) & mask]!++] = place;
    }
    return true;
  }

  #reserve(capacity: number, count: number): void {
    if (this.#keys.length < capacity) this.#keys = new Uint32Array(capacity);
    if (this.#order.length >= count) return;
    this.#order = new Int32Array(Math.max(count, capacity));
    this.#swap = new Int32Array(Math.max(count, capacity));
  }
}
