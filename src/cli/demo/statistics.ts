// What a run found, per class: how often, how sure.
import type { Detection } from '#core';

export interface ClassStatistics {
  readonly name: string;
  readonly count: number;
  readonly medianScore: number;
  /** Median standard deviation of an edge in px, where the model gives it. */
  readonly medianSigmaPx?: number;
}

export interface Collector {
  add(detections: readonly Detection[]): void;
  /** Most frequent first. */
  summary(): readonly ClassStatistics[];
}

export function createCollector(): Collector {
  const scores = new Map<string, number[]>();
  const sigmas = new Map<string, number[]>();
  const push = (map: Map<string, number[]>, name: string, value: number) => {
    const values = map.get(name);
    if (values === undefined) map.set(name, [value]);
    else values.push(value);
  };
  return {
    add(detections) {
      for (const { className, score, boxVariance: variance } of detections) {
        push(scores, className, score);
        if (variance === undefined) continue;
        push(sigmas, className, Math.sqrt((variance.x1 + variance.y1 + variance.x2 + variance.y2) / 4));
      }
    },
    summary() {
      return [...scores]
        .sort(([, a], [, b]) => b.length - a.length)
        .map(([name, values]) => {
          const sigma = sigmas.get(name);
          return {
            name,
            count: values.length,
            medianScore: median(values),
            ...(sigma === undefined ? {} : { medianSigmaPx: median(sigma) }),
          };
        });
    },
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
