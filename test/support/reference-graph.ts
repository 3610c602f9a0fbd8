// An interpreter of ONNX graphs in float64 and plain loops: slow, obvious, and independent of the engines.
import type { ModelProto, NodeProto } from '#onnx';
import { attributeInt, attributeInts, inferGraph, tensorValues, viewGraph } from '#onnx';

export interface Values {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

interface Call {
  readonly node: NodeProto;
  readonly inputs: readonly Values[];
  /** Shapes of the outputs. */
  readonly shapes: readonly (readonly number[])[];
  readonly integers: (index: number) => readonly number[] | undefined;
  readonly ownStatistics: boolean;
}

/**
 * @param values inputs and parameters; other initializers come from the file
 * @param batchStatistics means of the BatchNormalization nodes that use the statistics of the batch
 */
export function runReference(
  model: ModelProto,
  values: ReadonlyMap<string, Values>,
  batchStatistics: ReadonlySet<string> = new Set(),
): Map<string, Values> {
  const graph = viewGraph(model).graph;
  const shapes = new Map([...values].map(([name, { shape }]) => [name, shape]));
  const inferred = inferGraph(model, shapes);
  const known = new Map<string, Values>();
  for (const tensor of graph.initializer) {
    const data = Float64Array.from(tensorValues(tensor) as ArrayLike<number | bigint>, Number);
    known.set(tensor.name, { shape: tensor.dims.map(Number), data });
  }
  for (const [name, value] of values) known.set(name, value);
  for (const node of graph.node) {
    const run = operators[node.opType];
    if (run === undefined) throw new Error(`the reference has no ${node.opType}`);
    const results = run({
      node,
      inputs: node.input.map((name) => known.get(name) ?? { shape: [0], data: new Float64Array(0) }),
      shapes: node.output.map((name) => inferred.shapes.get(name) ?? []),
      integers: (index) => inferred.integers(node.input[index] ?? ''),
      ownStatistics: batchStatistics.has(node.input[3] ?? ''),
    });
    node.output.forEach((name, index) => {
      const data = results[index];
      if (data !== undefined) known.set(name, { shape: inferred.shapes.get(name) ?? [], data });
    });
  }
  return known;
}

type Operator = (call: Call) => readonly Float64Array[];

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const clamp = (x: number, low: number, high: number) => Math.min(Math.max(x, low), high);

function each(f: (x: number, node: NodeProto) => number): Operator {
  return ({ inputs, node }) => [inputs[0]!.data.map((x) => f(x, node))];
}

function float(node: NodeProto, name: string, fallback: number): number {
  return node.attribute.find((attribute) => attribute.name === name)?.f ?? fallback;
}

function text(node: NodeProto, name: string, fallback: string): string {
  const found = node.attribute.find((attribute) => attribute.name === name);
  return found ? new TextDecoder().decode(found.s) : fallback;
}

const size = (shape: readonly number[]) => shape.reduce((count, extent) => count * extent, 1);

function stridesOf(shape: readonly number[]): number[] {
  return shape.map((_, axis) => size(shape.slice(axis + 1)));
}

/** Coordinates of every element, in order. */
function* coordinates(shape: readonly number[]): Generator<number[]> {
  const total = size(shape);
  const strides = stridesOf(shape);
  for (let flat = 0; flat < total; flat++) {
    yield shape.map((extent, axis) => Math.floor(flat / strides[axis]!) % extent);
  }
}

function at(values: Values, position: readonly number[]): number {
  const offset = position.length - values.shape.length;
  const strides = stridesOf(values.shape);
  let flat = 0;
  values.shape.forEach((extent, axis) => {
    flat += (extent === 1 ? 0 : position[axis + offset]!) * strides[axis]!;
  });
  return values.data[flat]!;
}

function broadcast(f: (a: number, b: number) => number): Operator {
  return ({ inputs, shapes }) => {
    const [first, ...others] = inputs;
    const result: number[] = [];
    for (const position of coordinates(shapes[0]!)) {
      result.push(others.reduce((sum, other) => f(sum, at(other, position)), at(first!, position)));
    }
    return [Float64Array.from(result)];
  };
}

function geometry({ node, inputs }: Call, kernel: readonly number[]) {
  const sizes = inputs[0]!.shape.slice(2);
  const strides = attributeInts(node, 'strides') ?? sizes.map(() => 1);
  const dilations = attributeInts(node, 'dilations') ?? sizes.map(() => 1);
  const pads = [...(attributeInts(node, 'pads') ?? sizes.flatMap(() => [0, 0]))];
  const automatic = text(node, 'auto_pad', 'NOTSET');
  if (automatic.startsWith('SAME')) {
    sizes.forEach((extent, axis) => {
      const total = Math.max(
        0,
        (Math.ceil(extent / strides[axis]!) - 1) * strides[axis]! + kernel[axis]! - extent,
      );
      pads[axis] = automatic === 'SAME_UPPER' ? Math.floor(total / 2) : Math.ceil(total / 2);
      pads[axis + 2] = total - pads[axis]!;
    });
  }
  return { sizes, strides, dilations, pads };
}

const convolution: Operator = (call) => {
  const [x, w, bias] = call.inputs;
  const groups = attributeInt(call.node, 'group') ?? 1;
  const [, depth, rows, columns] = w!.shape as [number, number, number, number];
  const { strides, pads, dilations } = geometry(call, [rows, columns]);
  const [, channels, height, width] = x!.shape as [number, number, number, number];
  const perGroup = w!.shape[0]! / groups;
  const result: number[] = [];
  for (const [n, k, oy, ox] of coordinates(call.shapes[0]!) as Iterable<[number, number, number, number]>) {
    let sum = bias?.data[k] ?? 0;
    const firstChannel = Math.floor(k / perGroup) * depth;
    for (let c = 0; c < depth; c++) {
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++) {
          const y = oy * strides[0]! - pads[0]! + i * dilations[0]!;
          const z = ox * strides[1]! - pads[1]! + j * dilations[1]!;
          if (y < 0 || z < 0 || y >= height || z >= width) continue;
          const from = ((n * channels + firstChannel + c) * height + y) * width + z;
          sum += x!.data[from]! * w!.data[((k * depth + c) * rows + i) * columns + j]!;
        }
      }
    }
    result.push(sum);
  }
  return [Float64Array.from(result)];
};

function pooling(reduce: (values: number[], windowSize: number, node: NodeProto) => number): Operator {
  return (call) => {
    const kernel = attributeInts(call.node, 'kernel_shape')!;
    const { strides, pads, sizes } = geometry(call, kernel);
    const result: number[] = [];
    for (const [n, c, oy, ox] of coordinates(call.shapes[0]!) as Iterable<[number, number, number, number]>) {
      const seen: number[] = [];
      for (let i = 0; i < kernel[0]!; i++) {
        for (let j = 0; j < kernel[1]!; j++) {
          const [y, z] = [oy * strides[0]! - pads[0]! + i, ox * strides[1]! - pads[1]! + j];
          if (y >= 0 && z >= 0 && y < sizes[0]! && z < sizes[1]!)
            seen.push(at(call.inputs[0]!, [n, c, y, z]));
        }
      }
      result.push(reduce(seen, kernel[0]! * kernel[1]!, call.node));
    }
    return [Float64Array.from(result)];
  };
}

const normalization: Operator = ({ inputs, node, ownStatistics }) => {
  const [x, gamma, beta, mean, variance] = inputs;
  const channels = x!.shape[1]!;
  const area = size(x!.shape.slice(2));
  const channelOf = (index: number) => Math.floor(index / area) % channels;
  const means = Float64Array.from(mean!.data);
  const variances = Float64Array.from(variance!.data);
  if (ownStatistics) {
    const count = x!.data.length / channels;
    means.fill(0);
    variances.fill(0);
    x!.data.forEach((value, index) => {
      means[channelOf(index)]! += value / count;
    });
    x!.data.forEach((value, index) => {
      variances[channelOf(index)]! += (value - means[channelOf(index)]!) ** 2 / count;
    });
  }
  const y = x!.data.map((value, index) => {
    const c = channelOf(index);
    const normal = (value - means[c]!) / Math.sqrt(variances[c]! + float(node, 'epsilon', 1e-5));
    return normal * gamma!.data[c]! + beta!.data[c]!;
  });
  return [y, means, variances];
};

/** Every output element is the input element at a position that `source` tells; undefined gives 0. */
function moved(source: (position: number[], call: Call, output: number) => number[] | undefined): Operator {
  return (call) =>
    call.shapes.map((shape, output) => {
      const result: number[] = [];
      for (const position of coordinates(shape)) {
        const from = source(position, call, output);
        result.push(from === undefined ? 0 : at(call.inputs[0]!, from));
      }
      return Float64Array.from(result);
    });
}

const softmax: Operator = ({ node, inputs }) => {
  const { shape, data } = inputs[0]!;
  const given = attributeInt(node, 'axis') ?? -1;
  const axis = given < 0 ? given + shape.length : given;
  const [extent, step] = [shape[axis]!, size(shape.slice(axis + 1))];
  return [
    data.map((value, index) => {
      const first = index - (Math.floor(index / step) % extent) * step;
      let sum = 0;
      for (let item = 0; item < extent; item++) sum += Math.exp(data[first + item * step]! - value);
      return 1 / sum;
    }),
  ];
};

const concat: Operator = ({ node, inputs, shapes }) => {
  const rank = shapes[0]!.length;
  const axis = ((attributeInt(node, 'axis') ?? 0) + rank) % rank;
  const result: number[] = [];
  for (const position of coordinates(shapes[0]!)) {
    let left = position[axis]!;
    const source = inputs.find(({ shape }) => {
      if (left < shape[axis]!) return true;
      left -= shape[axis]!;
      return false;
    });
    result.push(at(source!, position.with(axis, left)));
  }
  return [Float64Array.from(result)];
};

function reduction(mean: boolean): Operator {
  return (call) => {
    const { shape, data } = call.inputs[0]!;
    const axes = attributeInts(call.node, 'axes') ?? call.integers(1) ?? shape.map((_, axis) => axis);
    const kept = shape.map((extent, axis) => (axes.includes(axis) ? 1 : extent));
    const strides = stridesOf(kept);
    const sums = new Float64Array(size(kept));
    let index = 0;
    for (const position of coordinates(shape)) {
      const to = position.reduce(
        (flat, place, axis) => flat + (kept[axis] === 1 ? 0 : place * strides[axis]!),
        0,
      );
      sums[to]! += data[index++]! / (mean ? data.length / sums.length : 1);
    }
    return [sums];
  };
}

const copy: Operator = ({ inputs }) => [inputs[0]!.data];

const operators: Readonly<Record<string, Operator>> = {
  Add: broadcast((a, b) => a + b),
  AveragePool: pooling((seen, windowSize, node) => {
    const count = attributeInt(node, 'count_include_pad') === 1 ? windowSize : seen.length;
    return seen.reduce((a, b) => a + b, 0) / count;
  }),
  BatchNormalization: normalization,
  Clip: ({ inputs, node }) => {
    const low = inputs[1]?.data[0] ?? float(node, 'min', -Infinity);
    const high = inputs[2]?.data[0] ?? float(node, 'max', Infinity);
    return [inputs[0]!.data.map((x) => clamp(x, low, high))];
  },
  Concat: concat,
  Constant: () => [],
  Conv: convolution,
  Div: broadcast((a, b) => a / b),
  Dropout: copy,
  Exp: each(Math.exp),
  Flatten: copy,
  GlobalAveragePool: ({ inputs: [x] }) => {
    const area = size(x!.shape.slice(2));
    const count = x!.data.length / area;
    return [
      Float64Array.from({ length: count }, (_, index) =>
        x!.data.subarray(index * area, (index + 1) * area).reduce((sum, value) => sum + value / area, 0),
      ),
    ];
  },
  HardSigmoid: each((x, node) => clamp(float(node, 'alpha', 0.2) * x + float(node, 'beta', 0.5), 0, 1)),
  HardSwish: each((x) => x * clamp(x / 6 + 0.5, 0, 1)),
  Identity: copy,
  LeakyRelu: each((x, node) => (x > 0 ? x : float(node, 'alpha', 0.01) * x)),
  MaxPool: pooling((seen) => Math.max(...seen)),
  Mul: broadcast((a, b) => a * b),
  Pad: moved((position, call) => {
    const { shape } = call.inputs[0]!;
    const from = position.map((place, axis) => place - call.integers(1)![axis]!);
    return from.every((place, axis) => place >= 0 && place < shape[axis]!) ? from : undefined;
  }),
  ReduceMean: reduction(true),
  ReduceSum: reduction(false),
  Relu: each((x) => Math.max(x, 0)),
  Reshape: copy,
  Resize: moved((position, call) => {
    const { shape } = call.inputs[0]!;
    return position.map((place, axis) => Math.floor((place * shape[axis]!) / call.shapes[0]![axis]!));
  }),
  Sigmoid: each(sigmoid),
  Slice: moved((position, call) => {
    const { shape } = call.inputs[0]!;
    const from = [...position];
    const axes = call.integers(3) ?? call.integers(1)!.map((_, index) => index);
    axes.forEach((given, index) => {
      const axis = (given + shape.length) % shape.length;
      const step = call.integers(4)?.[index] ?? 1;
      const start = call.integers(1)![index]!;
      const first = clamp(start < 0 ? start + shape[axis]! : start, 0, shape[axis]! - (step < 0 ? 1 : 0));
      from[axis] = first + position[axis]! * step;
    });
    return from;
  }),
  Softmax: softmax,
  Softplus: each((x) => Math.log1p(Math.exp(x))),
  Split: moved((position, call, output) => {
    const axis = attributeInt(call.node, 'axis') ?? 0;
    const before = call.shapes.slice(0, output).reduce((sum, shape) => sum + shape[axis]!, 0);
    return position.with(axis, position[axis]! + before);
  }),
  Squeeze: copy,
  Sub: broadcast((a, b) => a - b),
  Sum: broadcast((a, b) => a + b),
  Tanh: each(Math.tanh),
  Transpose: moved((position, call) => {
    const permutation =
      attributeInts(call.node, 'perm') ?? position.map((_, axis) => position.length - 1 - axis);
    const from = new Array<number>(position.length);
    permutation.forEach((axis, index) => {
      from[axis] = position[index]!;
    });
    return from;
  }),
  Unsqueeze: copy,
};
