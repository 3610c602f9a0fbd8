// Tiny graphs whose end is built as real heads are: the structure that tells heads of equal shape apart.
import type { Size } from '#core';
import type { ModelProto, NodeProto, TensorProto } from '#onnx';
import { ElementType, floats, graph, ints, model, node, tensor, valueInfo } from '#onnx';
import { cellCount, pythonNames } from './tiny-models.ts';

export interface RowPart {
  readonly width: number;
  /** Operator that makes the part from raw values: `Sigmoid`, `Exp`, ... */
  readonly through?: string;
}

/**
 * `output0[1, A, sum of widths]` (or turned) joined from parts that come out of convolutions, as real heads are:
 * the structure that tells heads of equal shape apart. Values are zeros before `through`.
 */
export function joinedRows(
  parts: readonly RowPart[],
  options: {
    readonly input?: Size;
    readonly anchors?: number;
    readonly channelsFirst?: boolean;
    /** Adds a grid of positions to the first part, as decoding does. */
    readonly grid?: boolean;
    readonly metadata?: Readonly<Record<string, string>>;
  } = {},
): ModelProto {
  const { input = { width: 96, height: 96 }, channelsFirst = false, grid = false, metadata = {} } = options;
  const anchors = options.anchors ?? cellCount(input);
  const total = parts.reduce((sum, { width }) => sum + width, 0);
  const firstWidth = parts[0]?.width ?? 0;
  const nodes = parts.flatMap(({ through, width }, index) => [
    node('Conv', ['column', `kernel${width}`], [`raw${index}`]), // [1, width, A, 1]
    node('Reshape', [`raw${index}`, `shape${width}`], [`rows${index}`]), // [1, width, A]
    node(through ?? 'Identity', [`rows${index}`], [`part${index}`]),
    ...(grid && index === 0 ? [node('Add', ['part0', 'grid'], ['placed'])] : []),
  ]);
  const joined = parts.map((_, index) => (grid && index === 0 ? 'placed' : `part${index}`));
  const widths = [...new Set(parts.map(({ width }) => width))];
  return model(
    graph({
      name: 'joined_rows',
      nodes: [
        ...nodes,
        node('Concat', joined, [channelsFirst ? 'output0' : 'columns'], { axis: 1n }),
        ...(channelsFirst ? [] : [node('Transpose', ['columns'], ['output0'], { perm: [0n, 2n, 1n] })]),
      ],
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, input.height, input.width])],
      outputs: [
        valueInfo('output0', ElementType.FLOAT, channelsFirst ? [1, total, anchors] : [1, anchors, total]),
      ],
      initializers: [
        tensor('column', [1, 1, anchors, 1], new Float32Array(anchors)),
        ...widths.map((width) => tensor(`kernel${width}`, [width, 1, 1, 1], new Float32Array(width))),
        ...widths.map((width) => ints(`shape${width}`, [1, width, anchors])),
        ...(grid
          ? [
              tensor(
                'grid',
                [1, firstWidth, anchors],
                new Float32Array(firstWidth * anchors).map((_, i) => i % anchors),
              ),
            ]
          : []),
      ],
    }),
    { metadata },
  );
}

/** Rows of which the graph takes the best class itself (DeepStream exports): `[1, A, 6]`, not suppressed. */
export function bestClassRows(
  input: Size = { width: 96, height: 96 },
  anchors = cellCount(input),
): ModelProto {
  return model(
    graph({
      name: 'best_class',
      nodes: [
        node('TopK', ['scores', 'one'], ['score', 'class'], { axis: 2n }),
        node('Cast', ['class'], ['label'], { to: BigInt(ElementType.FLOAT) }),
        node('Concat', ['boxes', 'score', 'label'], ['output'], { axis: 2n }),
      ],
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, input.height, input.width])],
      outputs: [valueInfo('output', ElementType.FLOAT, [1, anchors, 6])],
      initializers: [
        ints('one', [1]),
        tensor('scores', [1, anchors, 2], new Float32Array(2 * anchors)),
        tensor('boxes', [1, anchors, 4], new Float32Array(4 * anchors)),
      ],
    }),
  );
}

export interface DistributionDetectorSpec {
  readonly input?: Size;
  readonly bins?: number;
  readonly classNames?: readonly string[];
  /** Logits of the bins, one set per side (left, top, right, bottom), in the first anchor. */
  readonly sideLogits?: readonly (readonly number[])[];
  /** How the expectation is taken: a 1x1 convolution over the bins, or a product with a vector. */
  readonly expectation?: 'Conv' | 'MatMul';
  /** Puts an attention-like Softmax, whose product is no expectation, before the head. */
  readonly attention?: boolean;
}

/** YOLOv8 form with a box distribution in the graph: `[1, 4 * bins, A]` logits → Softmax → expectation → boxes in px. */
export function distributionDetector(spec: DistributionDetectorSpec = {}): ModelProto {
  const { input = { width: 96, height: 96 }, bins = 16, classNames = ['car'], expectation = 'Conv' } = spec;
  const anchors = cellCount(input);
  const logits = new Float32Array(4 * bins * anchors);
  (spec.sideLogits ?? []).forEach((side, index) => {
    side.forEach((logit, bin) => {
      logits[(index * bins + bin) * anchors] = logit;
    });
  });
  const ramp = Array.from({ length: bins }, (_, bin) => bin);
  const byConvolution = expectation === 'Conv';
  const nodes: NodeProto[] = [
    node('Reshape', ['logits', 'split'], ['split_logits']), // [1, 4, bins, A]
    node('Transpose', ['split_logits'], ['side_logits'], {
      perm: byConvolution ? [0n, 2n, 1n, 3n] : [0n, 3n, 1n, 2n],
    }), // [1, bins, 4, A] or [1, A, 4, bins]
    node('Softmax', ['side_logits'], ['side_probabilities'], { axis: byConvolution ? 1n : -1n }),
    node(expectation, ['side_probabilities', 'ramp'], ['distances']),
    ...(byConvolution
      ? [node('Reshape', ['distances', 'flat'], ['sides'])]
      : [
          node('Reshape', ['distances', 'rows'], ['distance_rows']), // [1, A, 4]
          node('Transpose', ['distance_rows'], ['sides'], { perm: [0n, 2n, 1n] }),
        ]),
    node('Split', ['sides', 'halves'], ['left_top', 'right_bottom'], { axis: 1n }), // [1, 2, A] in cells
    node('Sub', ['centers', 'left_top'], ['near']),
    node('Add', ['centers', 'right_bottom'], ['far']),
    node('Add', ['near', 'far'], ['twice_center']),
    node('Div', ['twice_center', 'two'], ['center']),
    node('Sub', ['far', 'near'], ['size']),
    node('Concat', ['center', 'size'], ['cells'], { axis: 1n }),
    node('Mul', ['cells', 'strides'], ['boxes']), // [1, 4, A] in px
    node('Concat', ['boxes', 'scores'], ['output0'], { axis: 1n }),
  ];
  if (spec.attention) {
    nodes.unshift(
      node('Softmax', ['attention_logits'], ['attention'], { axis: -1n }),
      node('MatMul', ['attention', 'attention_logits'], ['attended']),
    );
  }
  return model(
    graph({
      name: 'distribution',
      nodes,
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, input.height, input.width])],
      outputs: [valueInfo('output0', ElementType.FLOAT, [1, 4 + classNames.length, anchors])],
      initializers: [
        tensor('logits', [1, 4 * bins, anchors], logits),
        ints('split', [1, 4, bins, anchors]),
        ints('flat', [1, 4, anchors]),
        ints('rows', [1, anchors, 4]),
        ...cellGrid(input),
        ints('halves', [2, 2]),
        floats('two', [], [2]),
        floats('ramp', byConvolution ? [1, bins, 1, 1] : [bins, 1], ramp),
        tensor(
          'scores',
          [1, classNames.length, anchors],
          new Float32Array(classNames.length * anchors).fill(0.9, 0, 1),
        ),
        ...(spec.attention
          ? [tensor('attention_logits', [1, 2, bins, bins], new Float32Array(2 * bins * bins))]
          : []),
      ],
    }),
    { metadata: { names: pythonNames(classNames), task: 'detect', stride: '32' } },
  );
}

/** `centers[1, 2, A]` in cells and `strides[1, A]` in px, for strides 8, 16, 32. */
function cellGrid({ width, height }: Size): TensorProto[] {
  const xs: number[] = [];
  const ys: number[] = [];
  const strides: number[] = [];
  for (const stride of [8, 16, 32]) {
    const columns = Math.ceil(width / stride);
    for (let cell = 0; cell < columns * Math.ceil(height / stride); cell++) {
      xs.push((cell % columns) + 0.5);
      ys.push(Math.floor(cell / columns) + 0.5);
      strides.push(stride);
    }
  }
  return [floats('centers', [1, 2, xs.length], [...xs, ...ys]), floats('strides', [1, xs.length], strides)];
}
