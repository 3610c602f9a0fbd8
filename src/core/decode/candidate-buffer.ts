// The struct of arrays that a decoder fills: grown when a picture needs more, never shrunk, reused for the next.
import type { Candidates } from '../candidates.ts';

const FIRST_CAPACITY = 1024;

/** Columns that a head fills. */
interface Certainties {
  readonly scoreVariance: boolean;
  readonly epistemic: boolean;
  readonly boxVariance: boolean;
}

export class CandidateBuffer implements Candidates {
  count = 0;
  boxes = new Float32Array(FIRST_CAPACITY * 4);
  scores = new Float32Array(FIRST_CAPACITY);
  classIds = new Int32Array(FIRST_CAPACITY);
  anchors = new Int32Array(FIRST_CAPACITY);
  scoreVariances?: Float32Array;
  scoreVariancesEpistemic?: Float32Array;
  boxVariances?: Float32Array;

  constructor({ scoreVariance, epistemic, boxVariance }: Certainties) {
    if (scoreVariance) this.scoreVariances = new Float32Array(FIRST_CAPACITY);
    if (epistemic) this.scoreVariancesEpistemic = new Float32Array(FIRST_CAPACITY);
    if (boxVariance) this.boxVariances = new Float32Array(FIRST_CAPACITY * 4);
  }

  /** Makes room for one more and gives its place; nothing counts until `keep` or the next `place`. */
  place(anchor: number, classId: number, score: number): number {
    if (this.count === this.scores.length) this.#grow();
    const place = this.count;
    this.anchors[place] = anchor;
    this.classIds[place] = classId;
    this.scores[place] = score;
    return place;
  }

  /**
   * Keeps the placed candidate with this box, unless a number in it is NaN or infinite.
   * @returns whether it was kept
   */
  keepCorners(x1: number, y1: number, x2: number, y2: number): boolean {
    // A difference is not finite when either side is not, so four tests become two.
    if (!Number.isFinite(x2 - x1) || !Number.isFinite(y2 - y1)) return false;
    const first = this.count * 4;
    const { boxes } = this;
    boxes[first] = x1;
    boxes[first + 1] = y1;
    boxes[first + 2] = x2;
    boxes[first + 3] = y2;
    this.count++;
    return true;
  }

  /** As `keepCorners`, from a centre and a size. */
  keepCenter(centerX: number, centerY: number, width: number, height: number): boolean {
    const x1 = centerX - width / 2;
    const y1 = centerY - height / 2;
    return this.keepCorners(x1, y1, x1 + width, y1 + height);
  }

  /** Takes the newest candidate back where its box variance is NaN or infinite. @returns whether it stayed */
  keepIfVarianceFinite(): boolean {
    const first = 4 * (this.count - 1);
    const variances = this.boxVariances;
    if (variances === undefined) return true;
    for (let side = first; side < first + 4; side++) {
      if (!Number.isFinite(variances[side]!)) {
        this.count--;
        return false;
      }
      // float16 rounding can leave a spike a little below 0.
      if (variances[side]! < 0) variances[side] = 0;
    }
    return true;
  }

  #grow(): void {
    const capacity = this.scores.length * 2;
    this.boxes = grown(this.boxes, new Float32Array(capacity * 4));
    this.scores = grown(this.scores, new Float32Array(capacity));
    this.classIds = grown(this.classIds, new Int32Array(capacity));
    this.anchors = grown(this.anchors, new Int32Array(capacity));
    if (this.scoreVariances) this.scoreVariances = grown(this.scoreVariances, new Float32Array(capacity));
    if (this.scoreVariancesEpistemic) {
      this.scoreVariancesEpistemic = grown(this.scoreVariancesEpistemic, new Float32Array(capacity));
    }
    if (this.boxVariances) this.boxVariances = grown(this.boxVariances, new Float32Array(capacity * 4));
  }
}

function grown<T extends Float32Array | Int32Array>(old: T, next: T): T {
  next.set(old);
  return next;
}
