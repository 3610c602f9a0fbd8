// Box codes as graph nodes: raw rows `[1, A, channels]` → corners in input px, and the variance of the sides where the
// box has a distribution.
import { node } from '../builder.ts';
import type { TailBuilder } from './tail-builder.ts';
import { anchorsOf } from './tail-builder.ts';
import type { BoxCode, HeadSpec } from './types.ts';

/** Writes the outputs `boxes[1, A, 4]` and, for sides with a distribution, `box_var[1, A, 4]`. */
export function boxTail(tail: TailBuilder, spec: HeadSpec, rows: string): void {
  const { boxCode } = spec;
  switch (boxCode.kind) {
    case 'dfl':
      dflBoxes(tail, spec, rows, boxCode.bins);
      break;
    case 'distance':
      distanceBoxes(tail, spec, rows);
      break;
    case 'yolox':
      yoloxBoxes(tail, spec, rows);
      break;
    case 'anchors':
      anchorBoxes(tail, spec, rows, boxCode);
      break;
    default:
      boxCode satisfies never;
  }
}

/** One value per anchor and column, in the order of the anchors. */
function perAnchor(
  spec: HeadSpec,
  values: (cell: {
    column: number;
    row: number;
    stride: number;
    level: number;
    location: number;
  }) => readonly number[],
): number[] {
  const all: number[] = [];
  spec.levels.forEach(({ stride, columns, rows }, level) => {
    for (let location = 0; location < spec.locations; location++) {
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
          all.push(...values({ column, row, stride, level, location }));
        }
      }
    }
  });
  return all;
}

/** Corners from distances in cells: centre + (−l, −t, r, b) · stride. */
function distanceBoxes(tail: TailBuilder, spec: HeadSpec, distances: string): void {
  const anchors = anchorsOf(spec);
  const steps = perAnchor(spec, ({ stride }) => [-stride, -stride, stride, stride]);
  const centers = perAnchor(spec, ({ column, row, stride }) => {
    const x = (column + 0.5) * stride;
    const y = (row + 0.5) * stride;
    return [x, y, x, y];
  });
  const step = tail.floats('box.steps', [1, anchors, 4], steps);
  const center = tail.floats('box.centers', [1, anchors, 4], centers);
  const offsets = tail.add('Mul', [distances, step], 'box.offsets');
  tail.nodes.push(node('Add', [offsets, center], ['boxes']));
}

/** Expectation and variance of every side: E = Σ i p_i, Var = Σ p_i (i − E)², in cells and cells². */
function dflBoxes(tail: TailBuilder, spec: HeadSpec, rows: string, bins: number): void {
  const anchors = anchorsOf(spec);
  const places = Array.from({ length: bins }, (_, bin) => bin);
  const split = tail.ints('box.split', [1, anchors, 4, bins]);
  const joined = tail.ints('box.joined', [1, anchors, 4]);
  const last = tail.ints('box.last_axis', [-1]);
  const column = tail.floats('box.bin_column', [bins, 1], places);
  const row = tail.floats('box.bin_row', [1, 1, 1, bins], places);
  const sides = tail.add('Reshape', [rows, split], 'box.sides'); // [1, A, 4, bins]
  const law = tail.add('Softmax', [sides], 'box.law', { axis: -1n });
  const mean = tail.add('MatMul', [law, column], 'box.mean'); // [1, A, 4, 1]
  const deviation = tail.add('Sub', [row, mean], 'box.deviation');
  const squared = tail.add('Mul', [deviation, deviation], 'box.squared');
  const weighted = tail.add('Mul', [squared, law], 'box.weighted');
  const variance = tail.add('ReduceSum', [weighted, last], 'box.variance', { keepdims: 0n }); // [1, A, 4]
  const areas = perAnchor(spec, ({ stride }) => [stride * stride]);
  const area = tail.floats('box.areas', [1, anchors, 1], areas);
  tail.nodes.push(node('Mul', [variance, area], ['box_var']));
  distanceBoxes(tail, spec, tail.add('Reshape', [mean, joined], 'box.distances'));
}

/** Centre (offset + cell) · stride, size exp(·) · stride (YOLOX, Ge et al., 2021). */
function yoloxBoxes(tail: TailBuilder, spec: HeadSpec, rows: string): void {
  const anchors = anchorsOf(spec);
  const stride = tail.floats(
    'box.strides',
    [1, anchors, 1],
    perAnchor(spec, (cell) => [cell.stride]),
  );
  const cells = tail.floats(
    'box.cells',
    [1, anchors, 2],
    perAnchor(spec, ({ column, row }) => [column, row]),
  );
  const { first, second } = halves(tail, rows);
  const moved = tail.add('Add', [first, cells], 'box.moved');
  const center = tail.add('Mul', [moved, stride], 'box.center');
  const size = tail.add('Mul', [tail.add('Exp', [second], 'box.growth'), stride], 'box.size');
  cornersOutput(tail, center, size);
}

/** Centre (2σ − .5 + cell) · stride, size (2σ)² · anchor (YOLOv5). */
function anchorBoxes(
  tail: TailBuilder,
  spec: HeadSpec,
  rows: string,
  { sizes }: Extract<BoxCode, { kind: 'anchors' }>,
): void {
  const anchors = anchorsOf(spec);
  const stride = perAnchor(spec, (cell) => [2 * cell.stride]);
  const corner = perAnchor(spec, (cell) => [
    (cell.column - 0.5) * cell.stride,
    (cell.row - 0.5) * cell.stride,
  ]);
  const factor = perAnchor(spec, ({ level, location }) => {
    const [width = 0, height = 0] = sizes[level]?.[location] ?? [];
    return [4 * width, 4 * height];
  });
  const gate = tail.add('Sigmoid', [rows], 'box.gate');
  const { first, second } = halves(tail, gate);
  const moved = tail.add('Mul', [first, tail.floats('box.strides', [1, anchors, 1], stride)], 'box.moved');
  const center = tail.add('Add', [moved, tail.floats('box.cells', [1, anchors, 2], corner)], 'box.center');
  const squared = tail.add('Mul', [second, second], 'box.squared');
  const size = tail.add('Mul', [squared, tail.floats('box.anchors', [1, anchors, 2], factor)], 'box.size');
  cornersOutput(tail, center, size);
}

/** `[1, A, 4]` → the first and the last two columns. */
function halves(tail: TailBuilder, rows: string) {
  const first = tail.label('box.first');
  const second = tail.label('box.second');
  tail.nodes.push(node('Split', [rows, tail.ints('box.halves', [2, 2])], [first, second], { axis: -1n }));
  return { first, second };
}

function cornersOutput(tail: TailBuilder, center: string, size: string): void {
  const half = tail.add('Mul', [size, tail.floats('box.half', [], [0.5])], 'box.half_size');
  const near = tail.add('Sub', [center, half], 'box.near');
  const far = tail.add('Add', [center, half], 'box.far');
  tail.nodes.push(node('Concat', [near, far], ['boxes'], { axis: -1n }));
}
