// An ordinal logistic regression (proportional odds) by gradient ascent: small, full-batch, the same every time.

export interface OrdinalRow {
  readonly cues: readonly number[];
  /** 0 the lowest of three states, 2 the highest. */
  readonly state: 0 | 1 | 2;
}

/** value = constant + sum of weight x cue; its cut points are 0 and 1. */
export interface OrdinalModel {
  readonly constant: number;
  readonly weights: readonly number[];
}

const STEPS = 3000;
const RIDGE = 1e-3;
const RATE = 0.05;

/** Penalised likelihood on standardised cues, each state with the same total weight. */
export function fitOrdinal(rows: readonly OrdinalRow[]): OrdinalModel {
  const width = rows[0]!.cues.length;
  const columns = Array.from({ length: width }, (_, cue) => rows.map(({ cues }) => cues[cue]!));
  const means = columns.map((column) => average(column));
  const deviations = columns.map((column, cue) =>
    Math.sqrt(average(column.map((x) => (x - means[cue]!) ** 2))),
  );
  const points = rows.map(({ cues }) => cues.map((x, cue) => (x - means[cue]!) / deviations[cue]!));
  const stateCounts = [0, 1, 2].map((state) => rows.filter((row) => row.state === state).length);
  // Parameters: the weights, the lower cut point, the log of the distance to the upper one.
  const parameters = [...new Array<number>(width).fill(0), -1, Math.log(2)];
  const [first, second] = [parameters.map(() => 0), parameters.map(() => 0)];
  for (let step = 1; step <= STEPS; step++) {
    const gradient = parameters.map((weight, index) => (index < width ? -RIDGE * weight : 0));
    for (const [index, { state }] of rows.entries()) {
      const share = 1 / (3 * stateCounts[state]!);
      addGradient(gradient, parameters, { point: points[index]!, state, share });
    }
    const rate = step < 0.7 * STEPS ? RATE : RATE / 5;
    for (const [index, slope] of gradient.entries()) {
      // Adam (Kingma and Ba 2015, algorithm 1), uphill.
      first[index] = 0.9 * first[index]! + 0.1 * slope;
      second[index] = 0.999 * second[index]! + 0.001 * slope ** 2;
      const scale = Math.sqrt(second[index]! / (1 - 0.999 ** step)) + 1e-8;
      parameters[index] = parameters[index]! + (rate * first[index]!) / (1 - 0.9 ** step) / scale;
    }
  }
  const gap = Math.exp(parameters[width + 1]!);
  const weights = means.map((_, cue) => parameters[cue]! / deviations[cue]! / gap);
  const shift = weights.reduce((sum, weight, cue) => sum + weight * means[cue]!, 0);
  return { constant: -parameters[width]! / gap - shift, weights };
}

function addGradient(
  gradient: number[],
  parameters: readonly number[],
  {
    point,
    state,
    share,
  }: { readonly point: readonly number[]; readonly state: number; readonly share: number },
): void {
  const width = point.length;
  const score = point.reduce((sum, x, cue) => sum + x * parameters[cue]!, 0);
  const gap = Math.exp(parameters[width + 1]!);
  const [below, belowUpper] = [0, gap].map((above) => logistic(parameters[width]! + above - score));
  const [lower, upper] = [below! * (1 - below!), belowUpper! * (1 - belowUpper!)];
  const inside = Math.max(1e-12, belowUpper! - below!);
  const byLower = [1 - below!, -lower / inside, 0][state]!;
  const byUpper = [0, upper / inside, -belowUpper!][state]!;
  for (const [cue, x] of point.entries()) gradient[cue]! -= share * (byLower + byUpper) * x;
  gradient[width]! += share * (byLower + byUpper);
  gradient[width + 1]! += share * byUpper * gap;
}

export function ordinalValue({ constant, weights }: OrdinalModel, cues: readonly number[]): number {
  return cues.reduce((sum, cue, index) => sum + weights[index]! * cue, constant);
}

function logistic(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
