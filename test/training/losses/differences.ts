// Central differences with one step of Richardson, in float64.

/** d f / d x_i for every i, or for those named; `x` is changed and put back. */
export function differences(
  f: () => number,
  x: Float64Array,
  step = 1e-3,
  indices: readonly number[] = [...x.keys()],
): number[] {
  return indices.map((index) => {
    const value = x[index]!;
    const slope = (h: number): number => {
      x[index] = value + h;
      const above = f();
      x[index] = value - h;
      const below = f();
      x[index] = value;
      return (above - below) / (2 * h);
    };
    return (4 * slope(step / 2) - slope(step)) / 3;
  });
}

/** Largest |a − b| over |b| in norm. */
export function relativeError(found: ArrayLike<number>, wanted: ArrayLike<number>): number {
  let difference = 0;
  let norm = 0;
  for (let index = 0; index < wanted.length; index++) {
    difference += (found[index]! - wanted[index]!) ** 2;
    norm += wanted[index]! ** 2;
  }
  return Math.sqrt(difference) / Math.max(Math.sqrt(norm), 1e-12);
}

/** |a − b| within 1e-9 of the larger of 1 and |b|. */
export function near(found: number, wanted: number): boolean {
  return Math.abs(found - wanted) <= 1e-9 * Math.max(Math.abs(wanted), 1e-3);
}
