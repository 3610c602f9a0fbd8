// A straight line through measurements: does something grow?

/** Least squares; the error is that of the slope. */
export function fitLine(points: readonly (readonly [number, number])[]): {
  readonly slope: number;
  readonly error: number;
} {
  const count = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / count;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count;
  const sxx = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / sxx;
  const residual = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0);
  return { slope, error: Math.sqrt(residual / Math.max(1, count - 2) / sxx) };
}
