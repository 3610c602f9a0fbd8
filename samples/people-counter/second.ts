// What was seen within one second of a video, and how sure it is.
import type { Detection } from 'edge-detect';

export interface Second {
  readonly at: number;
  /** Takes what was found of one class in one frame. */
  add(found: readonly Detection[]): void;
  /** ` 12 s  person  2.0 (1..3)  expected 1.6 ±0.6  score ±0.06  edges ±4.1 px`. */
  line(): string;
}

/**
 * The expected number reads each score s as the chance that the object is there: its mean is Σ s, its variance
 * Σ s (1 - s). That is only as right as the scores are calibrated.
 */
export function createSecond(at: number, className: string): Second {
  const counts: number[] = [];
  const expected: number[] = [];
  const variances: number[] = [];
  const scoreVariances: number[] = [];
  const edgeVariances: number[] = [];
  return {
    at,
    add(found) {
      counts.push(found.length);
      expected.push(found.reduce((sum, { score }) => sum + score, 0));
      variances.push(found.reduce((sum, { score }) => sum + score * (1 - score), 0));
      for (const { scoreVariance, boxVariance } of found) {
        if (scoreVariance !== undefined) scoreVariances.push(scoreVariance);
        if (boxVariance !== undefined) edgeVariances.push(mean(Object.values(boxVariance)));
      }
    },
    line() {
      const range = `${mean(counts).toFixed(1)} (${Math.min(...counts)}..${Math.max(...counts)})`;
      const sure = `expected ${mean(expected).toFixed(1)} ±${Math.sqrt(mean(variances)).toFixed(1)}`;
      const score = deviation(scoreVariances, 2, '');
      const edges = deviation(edgeVariances, 1, ' px');
      return `${`${at} s`.padStart(6)}  ${className}  ${range}  ${sure}  score ${score}  edges ${edges}`;
    },
  };
}

/** Root of the mean variance; what a model does not say is not shown as a number. */
function deviation(variances: readonly number[], decimals: number, unit: string): string {
  return variances.length === 0 ? '-' : `±${Math.sqrt(mean(variances)).toFixed(decimals)}${unit}`;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
