// Small blurs of linear light: out of focus, or moved during a long exposure. A row at a time, so that all of it stays
// in the processor's cache.

export type Blur =
  | { readonly kind: 'none' }
  /** Light smeared along the rows, as of traffic that crosses the view; from 1 (none) to `MAX_LENGTH_PX`. */
  | { readonly kind: 'motion'; readonly lengthPx: number }
  /** Up to `MAX_SIGMA_PX`. */
  | { readonly kind: 'gaussian'; readonly sigmaPx: number };

/** Neighbours on each side that a blur reaches; what lies beyond is cut off. */
export const REACH = 3;
/** Longest smear and widest Gaussian that fit into that reach (of that Gaussian 1 part in 300 is cut off). */
export const MAX_LENGTH_PX = 2 * REACH + 1;
export const MAX_SIGMA_PX = 1.2;

/** [centre, first, second, third neighbour]; with both sides it sums to 1. */
type HalfKernel = readonly [number, number, number, number];

/** Rows of interleaved RGB, the reach repeated at both ends. */
export interface RowBlur {
  readonly kernel: HalfKernel;
  /** Whether rows are mixed too. */
  readonly isVertical: boolean;
}

export function rowBlurOf(blur: Blur): RowBlur {
  switch (blur.kind) {
    case 'none':
      return { kernel: [1, 0, 0, 0], isVertical: false };
    case 'motion':
      return { kernel: boxKernel(blur.lengthPx), isVertical: false };
    case 'gaussian':
      return { kernel: gaussianKernel(blur.sigmaPx), isVertical: true };
    default:
      return blur satisfies never;
  }
}

/** A bar, its ends weighted by what they reach of their px. */
function boxKernel(lengthPx: number): HalfKernel {
  const reach = (lengthPx - 1) / 2;
  return normalized((step) => Math.min(1, Math.max(0, reach - step + 1)));
}

function gaussianKernel(sigmaPx: number): HalfKernel {
  return normalized((step) => (step === 0 ? 1 : Math.exp(-0.5 * (step / sigmaPx) ** 2)));
}

function normalized(weightOf: (step: number) => number): HalfKernel {
  const [centre, first, second, third] = [weightOf(0), weightOf(1), weightOf(2), weightOf(3)];
  const total = centre + 2 * (first + second + third);
  return [centre / total, first / total, second / total, third / total];
}

/**
 * @param target the blurred row, `length` values from `to`
 * @param line the row with 3 · REACH values of padding before and behind, which are written here
 */
export function blurRowInto(
  target: Float64Array,
  to: number,
  line: Float64Array,
  { kernel, length }: { readonly kernel: HalfKernel; readonly length: number },
): void {
  const [centre, first, second, third] = kernel;
  const before = 3 * REACH;
  for (let i = 0; i < before; i++) {
    line[i] = line[before + (i % 3)]!;
    line[before + length + i] = line[before + length - 3 + (i % 3)]!;
  }
  for (let i = 0; i < length; i++) {
    target[to + i] =
      centre * line[i + 9]! +
      first * (line[i + 6]! + line[i + 12]!) +
      second * (line[i + 3]! + line[i + 15]!) +
      third * (line[i]! + line[i + 18]!);
  }
}

/**
 * @param target the mixed row, from its start
 * @param startOf start of the row `step` above (negative) or below the middle one in `rows`
 */
export function mixRowsInto(
  target: Float64Array,
  rows: Float64Array,
  startOf: (step: number) => number,
  { kernel, length }: { readonly kernel: HalfKernel; readonly length: number },
): void {
  const [centre, first, second, third] = kernel;
  const middle = startOf(0);
  const [up1, up2, up3] = [startOf(-1), startOf(-2), startOf(-3)];
  const [down1, down2, down3] = [startOf(1), startOf(2), startOf(3)];
  for (let i = 0; i < length; i++) {
    target[i] =
      centre * rows[middle + i]! +
      first * (rows[up1 + i]! + rows[down1 + i]!) +
      second * (rows[up2 + i]! + rows[down2 + i]!) +
      third * (rows[up3 + i]! + rows[down3 + i]!);
  }
}
