// The one scan that touches every number of a head: which locations have a class above the floor, and which class.

/**
 * Scratch of one decoder. After a scan, `survivors[0..count)` are locations in rising order and `best`, `bestClass`
 * are theirs. Ties go to the lower class. Locations with a NaN class, or +Infinity, are dropped and counted.
 */
export class BestClassScan {
  readonly best: Float32Array;
  readonly bestClass: Uint16Array;
  readonly survivors: Int32Array;
  count = 0;
  nonFinite = 0;

  constructor(capacity: number) {
    this.best = new Float32Array(capacity);
    this.bestClass = new Uint16Array(capacity);
    this.survivors = new Int32Array(capacity);
  }

  /**
   * Classes lie one after the other, each a run of locations: `data[offset + class * classStep + location]`.
   * Four classes at a time, so that memory is read in order and nearly every group ends at four comparisons
   * with a constant (2.5 times as fast here as one class at a time against the best so far).
   */
  scanPlanes(data: Float32Array, { offset, step, classCount, count }: ScanShape, floor: number): void {
    this.best.fill(floor, 0, count);
    let classId = 0;
    for (; classId + 4 <= classCount; classId += 4) {
      const a = offset + classId * step;
      const b = a + step;
      const c = b + step;
      const d = c + step;
      for (let location = 0; location < count; location++) {
        const first = data[a + location]!;
        const second = data[b + location]!;
        const third = data[c + location]!;
        const fourth = data[d + location]!;
        // No comparison holds for NaN, so NaN is offered too.
        if (first <= floor && second <= floor && third <= floor && fourth <= floor) continue;
        this.#offer(location, classId, first);
        this.#offer(location, classId + 1, second);
        this.#offer(location, classId + 2, third);
        this.#offer(location, classId + 3, fourth);
      }
    }
    for (; classId < classCount; classId++) {
      const first = offset + classId * step;
      for (let location = 0; location < count; location++) {
        const score = data[first + location]!;
        if (!(score <= floor)) this.#offer(location, classId, score);
      }
    }
    this.#collect(count, floor);
  }

  /** Infinity marks a location that is not to be trusted: nothing but NaN can follow it. */
  #offer(location: number, classId: number, score: number): void {
    if (score <= this.best[location]!) return;
    this.best[location] = Number.isNaN(score) ? Infinity : score;
    this.bestClass[location] = classId;
  }

  /** Locations lie one after the other, each a run of classes: `data[offset + location * step + class]`. */
  scanRows(data: Float32Array, { offset, step, classCount, count }: ScanShape, floor: number): void {
    const { best, bestClass } = this;
    for (let location = 0; location < count; location++) {
      const first = offset + location * step;
      const end = first + classCount;
      let top = floor;
      let topIndex = first;
      for (let index = first; index < end; index++) {
        const score = data[index]!;
        if (!(score <= top)) {
          top = Number.isNaN(score) ? Infinity : score;
          topIndex = index;
        }
      }
      best[location] = top;
      bestClass[location] = topIndex - first;
    }
    this.#collect(count, floor);
  }

  #collect(count: number, floor: number): void {
    const { best, survivors } = this;
    let kept = 0;
    let nonFinite = 0;
    // The floor as `best` holds it: float32.
    const stored = Math.fround(floor);
    for (let location = 0; location < count; location++) {
      const score = best[location]!;
      if (score <= stored) continue;
      if (score === Infinity) nonFinite++;
      else survivors[kept++] = location;
    }
    this.count = kept;
    this.nonFinite = nonFinite;
  }
}

export interface ScanShape {
  readonly offset: number;
  /** From one class to the next (planes) or from one location to the next (rows). */
  readonly step: number;
  readonly classCount: number;
  readonly count: number;
}

/** Best class of one row, ties to the lower id; -1 where a number is NaN. */
export function bestOfRow(data: Float32Array, first: number, classCount: number): number {
  let best = -Infinity;
  let bestClass = 0;
  for (let classId = 0; classId < classCount; classId++) {
    const score = data[first + classId]!;
    if (Number.isNaN(score)) return -1;
    if (score > best) {
      best = score;
      bestClass = classId;
    }
  }
  return bestClass;
}
