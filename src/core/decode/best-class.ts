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
   * Class by class, so that memory is read in order.
   */
  scanPlanes(data: Float32Array, { offset, step, classCount, count }: ScanShape, floor: number): void {
    const { best, bestClass } = this;
    best.fill(floor, 0, count);
    for (let classId = 0; classId < classCount; classId++) {
      const first = offset + classId * step;
      for (let location = 0; location < count; location++) {
        const score = data[first + location]!;
        // Turned round so that NaN goes in: one test for both, almost never taken.
        if (!(score <= best[location]!)) {
          best[location] = Number.isNaN(score) ? Infinity : score;
          bestClass[location] = classId;
        }
      }
    }
    this.#collect(count, floor);
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
