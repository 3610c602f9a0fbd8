// Boxes whose sides are distributions: means and variances of the bins, as graph nodes.
import type { BoxDistributionTap, Level } from '#core';
import { anchorCount } from '#core';
import { type DecodeWriter, perAnchor } from './rows.ts';

/** Distributions `[N, A, 4, bins]`, sides left, top, right, bottom. */
export interface SideLaws {
  readonly law: string;
  readonly bins: number;
  readonly levels: readonly Level[];
}

/** `[N, A, 4, bins]` of probabilities from logits. */
export function lawOfLogits(writer: DecodeWriter, logits: string): string {
  return writer.add('Softmax', [logits], 'law', { axis: 3n });
}

/** The tapped distribution of a YOLOv8 head as `[N, A, 4, bins]`. */
export function lawOfTap(writer: DecodeWriter, tap: BoxDistributionTap): SideLaws {
  const { bins, levels, output, values } = tap;
  const { dims, order } = memoryOf(tap);
  const turned = writer.transpose(writer.source(output, dims), 'sides', order);
  if (values === 'logits') return { law: lawOfLogits(writer, turned), bins, levels };
  // A quantised softmax does not sum to 1. Where it is 0 throughout, the variance is 0 too.
  const ones = writer.floats('ones', [bins, 1], new Array<number>(bins).fill(1));
  const sum = writer.add('MatMul', [turned, ones], 'law.sum'); // [N, A, 4, 1]
  const total = writer.add('Max', [sum, writer.floats('law.least', [], [1e-30])], 'law.total');
  return { law: writer.add('Div', [turned, total], 'law'), bins, levels };
}

/** Shape of a tap without its batch, and the order of axes that makes it `[N, A, 4, bins]`. */
function memoryOf({ order, bins, levels }: BoxDistributionTap) {
  const count = anchorCount(levels);
  switch (order) {
    case 'bins-sides-anchors':
      return { dims: [bins, 4, count], order: [0, 3, 2, 1] };
    case 'sides-bins-anchors':
      return { dims: [4, bins, count], order: [0, 3, 1, 2] };
    case 'anchors-sides-bins':
      return { dims: [count, 4, bins], order: [0, 1, 2, 3] };
    case 'sides-anchors-bins':
      return { dims: [4, count, bins], order: [0, 2, 1, 3] };
    default:
      return order satisfies never;
  }
}

/** E[bin] of every side, `[N, A, 4, 1]`. */
export function sideMeans(writer: DecodeWriter, { law, bins }: SideLaws): string {
  const ramp = Array.from({ length: bins }, (_, bin) => bin);
  return writer.add('MatMul', [law, writer.floats('bin_column', [bins, 1], ramp)], 'means');
}

/** Corners from the means: cell centre + (−l, −t, r, b), times the stride. */
export function boxesFromMeans(
  writer: DecodeWriter,
  means: string,
  levels: readonly Level[],
  cellOffset: number,
): string {
  const distances = writer.reshape(means, 'distances', [0, anchorCount(levels), 4]);
  const steps = perAnchor(writer, 'steps', levels, ({ stride }) => [-stride, -stride, stride, stride]);
  const centers = perAnchor(writer, 'centers', levels, ({ column, row, stride }) => {
    const [x, y] = [(column + cellOffset) * stride, (row + cellOffset) * stride];
    return [x, y, x, y];
  });
  return writer.add('Add', [writer.add('Mul', [distances, steps], 'offsets'), centers], 'corners');
}

/** stride² Σ p_i (i − E)², `[N, A, 4]` px². About the mean, so that nothing cancels. */
export function sideVariances(writer: DecodeWriter, laws: SideLaws, means: string): string {
  const { law, bins, levels } = laws;
  const row = writer.floats(
    'bin_row',
    [1, 1, 1, bins],
    Array.from({ length: bins }, (_, bin) => bin),
  );
  const deviation = writer.add('Sub', [row, means], 'deviation');
  const squared = writer.add('Mul', [deviation, deviation], 'deviation.squared');
  const weighted = writer.add('Mul', [squared, law], 'deviation.weighted');
  // A product with ones is the sum that every opset writes alike.
  const column = writer.floats('bin_ones', [bins, 1], new Array<number>(bins).fill(1));
  const sum = writer.add('MatMul', [weighted, column], 'variance.cells'); // [N, A, 4, 1]
  const cells = writer.reshape(sum, 'variance.sides', [0, anchorCount(levels), 4]);
  const areas = perAnchor(writer, 'areas', levels, ({ stride }) => [stride * stride]);
  return writer.add('Mul', [cells, areas], 'variance');
}
