// Repetitions of an arm as mean and range, and arms against the first one seed by seed.

/** Figures by name; null where there was nothing to measure. */
export type Figures = Readonly<Record<string, number | null>>;

/** One arm under one seed. */
export interface Run {
  readonly arm: string;
  readonly seed: number;
  readonly heldOut: readonly string[];
  readonly seconds: number;
  readonly figures: Figures;
}

export interface Range {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  /** Runs that gave the figure. */
  readonly count: number;
}

export interface ArmSummary {
  readonly arm: string;
  readonly figures: Readonly<Record<string, Range | null>>;
  /** Figure minus that of the first arm under the same seed; absent for the first arm. */
  readonly differences?: Readonly<Record<string, Range | null>>;
}

/** Arms in the order in which they first ran. */
export function summarize(runs: readonly Run[]): readonly ArmSummary[] {
  const arms = [...new Set(runs.map(({ arm }) => arm))];
  const names = [...new Set(runs.flatMap(({ figures }) => Object.keys(figures)))];
  const [first] = arms;
  return arms.map((arm) => {
    const own = runs.filter((run) => run.arm === arm);
    const byName = (figureOf: (run: Run, name: string) => number | null) =>
      Object.fromEntries(names.map((name) => [name, rangeOf(own.map((run) => figureOf(run, name)))]));
    const figures = byName((run, name) => run.figures[name] ?? null);
    if (arm === first) return { arm, figures };
    const differences = byName((run, name) => {
      const base = runs.find((other) => other.arm === first && other.seed === run.seed)?.figures[name];
      const value = run.figures[name];
      return base == null || value == null ? null : value - base;
    });
    return { arm, figures, differences };
  });
}

export function rangeOf(values: readonly (number | null)[]): Range | null {
  const known = values.filter((value) => value !== null && Number.isFinite(value)) as number[];
  if (known.length === 0) return null;
  return {
    mean: known.reduce((sum, value) => sum + value, 0) / known.length,
    low: Math.min(...known),
    high: Math.max(...known),
    count: known.length,
  };
}
