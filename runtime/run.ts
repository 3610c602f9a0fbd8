// One run from the first frame to the last: results go to every sink as they come, and what happened is summed up.
import type { DetectionResult, DetectionsOptions } from './detections.ts';
import { detections } from './detections.ts';
import type { Sink } from './sinks/sink.ts';
import type { SourceStats } from './sources/source.ts';

/** A run over a whole source, with somewhere for the results to go. */
export interface RunOptions extends DetectionsOptions {
  readonly sinks: readonly Sink[];
  /** Stops after so many frames. */
  readonly maxFrames?: number;
  /** Called after the sinks have taken a result. */
  readonly onResult?: (result: DetectionResult) => void;
  /** Told what was done where the run ends by an error or the signal, after the sinks were closed. */
  readonly onBroken?: (summary: RunSummary) => void;
}

/** What a run did. */
export interface RunSummary {
  readonly frames: number;
  /** Detections by class name, most frequent first. */
  readonly counts: ReadonlyMap<string, number>;
  /** Frames in which `max_det` was reached. */
  readonly limitReachedFrames: number;
  /** Frames in which the model gave NaN or infinite values; those locations were dropped. */
  readonly nonFiniteFrames: number;
  readonly wallSeconds: number;
  /** Mean per frame in ms. `draw` is the time in the sinks. */
  readonly stages: {
    readonly pre: number;
    readonly infer: number;
    readonly post: number;
    readonly draw: number;
  };
  readonly source: SourceStats;
  /** Paths of what was written. */
  readonly outputs: readonly string[];
}

/**
 * Runs to the end of the source. The sinks are closed in any case, so that what was written is whole.
 * @throws what the source, the model or a sink throws, or the signal's reason
 */
export async function runDetections(options: RunOptions): Promise<RunSummary> {
  const { sinks } = options;
  const tally = new Tally();
  try {
    await pump(options, tally);
  } catch (error) {
    await closeAll(sinks).catch(() => undefined); // the first error is the one to report
    options.onBroken?.(tally.summary(options));
    throw error;
  }
  await closeAll(sinks);
  return tally.summary(options);
}

async function pump({ sinks, maxFrames, onResult, ...options }: RunOptions, tally: Tally): Promise<void> {
  for await (const result of detections(options)) {
    const started = performance.now();
    await Promise.all(sinks.map((sink) => sink.write(result)));
    tally.add(result, performance.now() - started);
    onResult?.(result);
    if (maxFrames !== undefined && tally.frames >= maxFrames) return;
  }
}

async function closeAll(sinks: readonly Sink[]): Promise<void> {
  const closings = await Promise.allSettled(sinks.map((sink) => sink.close()));
  for (const closing of closings) if (closing.status === 'rejected') throw closing.reason;
}

class Tally {
  frames = 0;
  #limitReached = 0;
  #nonFinite = 0;
  readonly #started = performance.now();
  readonly #counts = new Map<string, number>();
  readonly #sums = { pre: 0, infer: 0, post: 0, draw: 0 };

  add({ detections: found, timing, limitReached, nonFinite }: DetectionResult, drawMs: number): void {
    this.frames++;
    if (limitReached) this.#limitReached++;
    if (nonFinite > 0) this.#nonFinite++;
    for (const { className } of found) this.#counts.set(className, (this.#counts.get(className) ?? 0) + 1);
    this.#sums.pre += timing.preMs;
    this.#sums.infer += timing.inferMs;
    this.#sums.post += timing.postMs;
    this.#sums.draw += drawMs;
  }

  summary({ source, sinks }: RunOptions): RunSummary {
    const perFrame = (sum: number) => (this.frames === 0 ? 0 : sum / this.frames);
    const { pre, infer, post, draw } = this.#sums;
    return {
      frames: this.frames,
      counts: new Map([...this.#counts].sort(([, a], [, b]) => b - a)),
      limitReachedFrames: this.#limitReached,
      nonFiniteFrames: this.#nonFinite,
      wallSeconds: (performance.now() - this.#started) / 1000,
      stages: { pre: perFrame(pre), infer: perFrame(infer), post: perFrame(post), draw: perFrame(draw) },
      source: source.stats(),
      outputs: sinks.flatMap((sink) => sink.outputs),
    };
  }
}
