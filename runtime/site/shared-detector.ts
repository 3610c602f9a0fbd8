// One model for many cameras: frames wait their turn, the oldest first, so that a camera that gives many does not make
// the others wait.
import type { ThresholdPolicy } from '#core';
import type { Detected, Detector } from '../detector.ts';
import type { Frame } from '../frame.ts';

export interface SharedDetector {
  /** A detector of one camera: the same model, a threshold of its own. Closing it does not close the model. */
  view(): Detector;
  /** Frames that wait for their turn. */
  readonly waiting: number;
}

interface Waiting {
  readonly frame: Frame;
  readonly threshold: ThresholdPolicy | undefined;
  /** ms since 1970. */
  readonly sinceMs: number;
  resolve(detected: Detected): void;
  reject(error: unknown): void;
}

/** @param threshold of views that have not chosen one */
export function shareDetector(detector: Detector, threshold: ThresholdPolicy): SharedDetector {
  const queue = new Queue(detector);
  return {
    view: () => viewOf(detector, queue, threshold),
    get waiting() {
      return queue.waiting.length;
    },
  };
}

function viewOf(detector: Detector, queue: Queue, first: ThresholdPolicy): Detector {
  let chosen = first;
  const underWay = new Set<Promise<unknown>>();
  return {
    ...detector,
    // A frame at a time: several frames of one camera side by side would take the turns of the others.
    batchSize: 1,
    sessions: 1,
    async detect(frames, thresholds = []) {
      const answers = frames.map((frame, place) => queue.push(frame, thresholds[place] ?? chosen));
      const all = Promise.all(answers);
      const settled = Promise.allSettled(answers);
      underWay.add(settled);
      settled.finally(() => underWay.delete(settled));
      return all;
    },
    useThreshold(next) {
      chosen = next;
    },
    async close() {
      await Promise.all(underWay);
    },
  };
}

class Queue {
  readonly waiting: Waiting[] = [];
  readonly #detector: Detector;
  #running = 0;

  constructor(detector: Detector) {
    this.#detector = detector;
  }

  push(frame: Frame, threshold: ThresholdPolicy | undefined): Promise<Detected> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ frame, threshold, sinceMs: frame.capturedAtMs ?? Date.now(), resolve, reject });
      // After the turns of all that ask at this moment: they may fill one batch.
      queueMicrotask(() => this.#start());
    });
  }

  #start(): void {
    while (this.#running < this.#detector.sessions && this.waiting.length > 0) {
      this.waiting.sort((a, b) => a.sinceMs - b.sinceMs);
      const batch = this.waiting.splice(0, this.#detector.batchSize);
      this.#running++;
      void this.#run(batch).finally(() => {
        this.#running--;
        this.#start();
      });
    }
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    try {
      const frames = batch.map(({ frame }) => frame);
      const answers = await this.#detector.detect(
        frames,
        batch.map(({ threshold }) => threshold),
      );
      for (const [place, { resolve, reject }] of batch.entries()) {
        const answer = answers[place];
        if (answer === undefined) reject(new Error('the detector gave fewer answers than frames'));
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
