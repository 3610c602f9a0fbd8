// Tiny detectors with random weights whose heads are built as real ones are: hosts for a head where no real model is.
import { createRandom } from '#core';
import type { AttributeValue, ModelProto, NodeProto, TensorProto } from '#onnx';
import { ElementType, floats, graph, ints, model, node, tensor, valueInfo } from '#onnx';
import { pythonNames } from './tiny-models.ts';

export type HostFamily = 'yolox' | 'nanodet' | 'yolov5' | 'yolov8' | 'yolo26';

export const HOST_INPUT = { width: 96, height: 64 };
const STRIDES = [8, 16, 32];
const WIDTH = 8;
const CLASSES = 3;

export interface TinyHostOptions {
  /** Of the upward path of the neck. Default nearest. */
  readonly enlarge?: 'nearest' | 'linear';
  /** An operator without gradient in the backbone. */
  readonly attention?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Default 17; 11 writes Split as it was then. */
  readonly opset?: 11 | 17;
}

class HostBuilder {
  readonly nodes: NodeProto[] = [];
  readonly initializers: TensorProto[] = [];
  readonly #random = createRandom(7);

  add(
    opType: string,
    inputs: readonly string[],
    output: string,
    attributes: Record<string, AttributeValue> = {},
  ) {
    this.nodes.push(node(opType, inputs, [output], attributes));
    return output;
  }

  ints(name: string, values: readonly number[]) {
    this.initializers.push(ints(name, values));
    return name;
  }

  floats(name: string, dims: readonly number[], values: Iterable<number>) {
    this.initializers.push(floats(name, dims, values));
    return name;
  }

  /** A convolution with bias; `active` adds SiLU. */
  conv(
    name: string,
    input: string,
    [inputs, outputs]: readonly [number, number],
    options: { kernel?: number; stride?: number; active?: boolean } = {},
  ) {
    const { kernel = 1, stride = 1, active = true } = options;
    const spread = 1.5 / Math.sqrt(inputs * kernel * kernel);
    const count = outputs * inputs * kernel * kernel;
    const weight = Float32Array.from({ length: count }, () => spread * this.#random.normal());
    const bias = Float32Array.from({ length: outputs }, () => 0.3 * this.#random.normal());
    this.initializers.push(
      tensor(`${name}.w`, [outputs, inputs, kernel, kernel], weight),
      tensor(`${name}.b`, [outputs], bias),
    );
    const pad = BigInt((kernel - 1) / 2);
    const raw = this.add('Conv', [input, `${name}.w`, `${name}.b`], active ? `${name}.raw` : name, {
      kernel_shape: [BigInt(kernel), BigInt(kernel)],
      strides: [BigInt(stride), BigInt(stride)],
      pads: [pad, pad, pad, pad],
    });
    if (!active) return name;
    return this.add('Mul', [raw, this.add('Sigmoid', [raw], `${name}.gate`)], name);
  }
}

const cellsOf = (stride: number) => ({
  columns: HOST_INPUT.width / stride,
  rows: HOST_INPUT.height / stride,
});
const countOf = (stride: number) => cellsOf(stride).columns * cellsOf(stride).rows;
const ANCHORS = STRIDES.reduce((sum, stride) => sum + countOf(stride), 0);

/** Three maps of `WIDTH` channels: a backbone, a path up by Resize, a path down. */
function buildTrunk(
  host: HostBuilder,
  { enlarge = 'nearest', attention = false, opset = 17 }: TinyHostOptions,
): string[] {
  const down = { kernel: 3, stride: 2 };
  let map = host.conv('stem', 'images', [3, WIDTH], { kernel: 3, stride: 4 });
  const maps = ['b3', 'b4', 'b5'].map((name) => {
    map = host.conv(name, map, [WIDTH, WIDTH], down);
    return map;
  });
  if (attention) maps[2] = host.add('Erf', [maps[2]!], 'attended');
  const scales = host.floats('scales', [4], [1, 1, 2, 2]);
  // The region of interest is required before opset 13, and empty.
  const region = opset < 13 ? host.floats('region', [0], []) : '';
  const up = (from: string, name: string) =>
    host.add('Resize', [from, region, scales], name, {
      mode: enlarge,
      coordinate_transformation_mode: enlarge === 'nearest' ? 'asymmetric' : 'pytorch_half_pixel',
      ...(enlarge === 'nearest' ? { nearest_mode: 'floor' } : {}),
    });
  const join = (name: string, a: string, b: string) =>
    host.conv(name, host.add('Concat', [a, b], `${name}.in`, { axis: 1n }), [2 * WIDTH, WIDTH]);
  const n4 = join('n4', up(maps[2]!, 'up5'), maps[1]!);
  const p3 = join('p3', up(n4, 'up4'), maps[0]!);
  const p4 = join('p4', host.conv('down3', p3, [WIDTH, WIDTH], down), n4);
  const p5 = join('p5', host.conv('down4', p4, [WIDTH, WIDTH], down), maps[2]!);
  return [p3, p4, p5];
}

/** A host of one family at 96x64 px with three classes. */
export function tinyHost(family: HostFamily, options: TinyHostOptions = {}): ModelProto {
  const host = new HostBuilder();
  const maps = buildTrunk(host, options);
  const outputs = HEADS[family](host, maps, options.opset ?? 17);
  const { height, width } = HOST_INPUT;
  return model(
    graph({
      name: family,
      nodes: host.nodes,
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, height, width])],
      outputs: outputs.map(([name, shape]) => valueInfo(name, ElementType.FLOAT, shape)),
      initializers: host.initializers,
    }),
    {
      metadata:
        family === 'yolox' || family === 'nanodet'
          ? {}
          : { names: pythonNames(['a', 'b', 'c']), stride: '32', task: 'detect', ...options.metadata },
      ...(options.opset ? { opset: options.opset } : {}),
    },
  );
}

type Outputs = [string, number[]][];
type Head = (host: HostBuilder, maps: readonly string[], opset: number) => Outputs;

const tower = (host: HostBuilder, name: string, map: string) =>
  host.conv(name, map, [WIDTH, WIDTH], { kernel: 3 });
const last = (host: HostBuilder, name: string, map: string, channels: number) =>
  host.conv(name, map, [WIDTH, channels], { active: false });

function yolox(host: HostBuilder, maps: readonly string[]): Outputs {
  const parts = maps.map((map, level) => {
    const stem = host.conv(`stem${level}`, map, [WIDTH, WIDTH]);
    const classes = last(host, `cls${level}`, tower(host, `ct${level}`, stem), CLASSES);
    const boxTower = tower(host, `bt${level}`, stem);
    const box = last(host, `reg${level}`, boxTower, 4);
    const objectness = host.add('Sigmoid', [last(host, `obj${level}`, boxTower, 1)], `so${level}`);
    const scores = host.add('Sigmoid', [classes], `sc${level}`);
    const joined = host.add('Concat', [box, objectness, scores], `j${level}`, { axis: 1n });
    return host.add('Reshape', [joined, host.ints(`f${level}`, [1, 5 + CLASSES, -1])], `r${level}`);
  });
  host.add('Transpose', [host.add('Concat', parts, 'all', { axis: 2n })], 'output', { perm: [0n, 2n, 1n] });
  return [['output', [1, ANCHORS, 5 + CLASSES]]];
}

function nanodet(host: HostBuilder, maps: readonly string[], opset: number): Outputs {
  const outputs: Outputs = [];
  maps.forEach((map, level) => {
    const both = last(host, `gfl${level}`, tower(host, `t${level}`, map), CLASSES + 32);
    const names = [`cls${level}`, `dis${level}`];
    host.nodes.push(
      opset < 13
        ? node('Split', [both], names, { axis: 1n, split: [BigInt(CLASSES), 32n] })
        : node('Split', [both, host.ints(`parts${level}`, [CLASSES, 32])], names, { axis: 1n }),
    );
    const rows = (from: string, channels: number, output: string) => {
      const flat = host.add('Reshape', [from, host.ints(`${output}.f`, [1, channels, -1])], `${output}.r`);
      host.add('Transpose', [flat], output, { perm: [0n, 2n, 1n] });
      return [output, [1, countOf(STRIDES[level]!), channels]] as [string, number[]];
    };
    const scores = host.add('Sigmoid', [`cls${level}`], `s${level}`);
    outputs[level] = rows(scores, CLASSES, `cls_pred_${level}`);
    outputs[level + 3] = rows(`dis${level}`, 32, `dis_pred_${level}`);
  });
  return outputs;
}

export const TINY_ANCHORS = [
  [
    [10, 13],
    [16, 30],
    [33, 23],
  ],
  [
    [30, 61],
    [62, 45],
    [59, 119],
  ],
  [
    [116, 90],
    [156, 198],
    [373, 326],
  ],
];

function yolov5(host: HostBuilder, maps: readonly string[]): Outputs {
  const two = host.floats('two', [], [2]);
  const halves = host.ints('halves', [2, 2, 1 + CLASSES]);
  const parts = maps.map((map, level) => {
    const stride = STRIDES[level]!;
    const { columns, rows } = cellsOf(stride);
    const raw = last(host, `m${level}`, map, 3 * (5 + CLASSES));
    const apart = host.add(
      'Reshape',
      [raw, host.ints(`a${level}`, [1, 3, 5 + CLASSES, rows, columns])],
      `ap${level}`,
    );
    const turned = host.add('Transpose', [apart], `t${level}`, { perm: [0n, 1n, 3n, 4n, 2n] });
    const names = [`xy${level}`, `wh${level}`, `conf${level}`];
    host.nodes.push(node('Split', [host.add('Sigmoid', [turned], `s${level}`), halves], names, { axis: 4n }));
    const cells = TINY_ANCHORS[level]!.flatMap(() =>
      Array.from({ length: rows * columns }, (_, cell) => [
        (cell % columns) - 0.5,
        Math.floor(cell / columns) - 0.5,
      ]).flat(),
    );
    const grid = host.floats(`g${level}`, [1, 3, rows, columns, 2], cells);
    const sizes = TINY_ANCHORS[level]!.flatMap((size) =>
      Array.from({ length: rows * columns }, () => size).flat(),
    );
    const anchor = host.floats(`an${level}`, [1, 3, rows, columns, 2], sizes);
    const step = host.floats(`st${level}`, [], [stride]);
    const xy = host.add(
      'Mul',
      [host.add('Add', [host.add('Mul', [`xy${level}`, two], `x2${level}`), grid], `xg${level}`), step],
      `xs${level}`,
    );
    const wh = host.add(
      'Mul',
      [host.add('Pow', [host.add('Mul', [`wh${level}`, two], `w2${level}`), two], `wp${level}`), anchor],
      `ws${level}`,
    );
    const joined = host.add('Concat', [xy, wh, `conf${level}`], `j${level}`, { axis: 4n });
    return host.add(
      'Reshape',
      [joined, host.ints(`f${level}`, [1, 3 * rows * columns, 5 + CLASSES])],
      `r${level}`,
    );
  });
  host.add('Concat', parts, 'output0', { axis: 1n });
  return [['output0', [1, 3 * ANCHORS, 5 + CLASSES]]];
}

/** Distances per side of all levels, `[1, 4, A]`, and class probabilities `[1, C, A]`. */
function twoTowers(host: HostBuilder, maps: readonly string[], bins: number) {
  const rows = (kind: string, channels: number) => {
    const parts = maps.map((map, level) => {
      const raw = last(host, `${kind}${level}`, tower(host, `${kind}t${level}`, map), channels);
      return host.add('Reshape', [raw, host.ints(`${kind}f${level}`, [1, channels, -1])], `${kind}r${level}`);
    });
    return host.add('Concat', parts, `${kind}`, { axis: 2n });
  };
  const sides = rows('box', 4 * bins);
  const scores = host.add('Sigmoid', [rows('cls', CLASSES)], 'scores');
  if (bins === 1) return { sides, scores };
  const apart = host.add('Reshape', [sides, host.ints('apart', [1, 4, bins, ANCHORS])], 'sides.apart');
  const turned = host.add('Transpose', [apart], 'sides.turned', { perm: [0n, 2n, 1n, 3n] });
  const law = host.add('Softmax', [turned], 'sides.law', { axis: 1n });
  const ramp = host.floats(
    'ramp',
    [1, bins, 1, 1],
    Array.from({ length: bins }, (_, bin) => bin),
  );
  const mean = host.add('Conv', [law, ramp], 'sides.mean');
  return { sides: host.add('Reshape', [mean, host.ints('flat', [1, 4, ANCHORS])], 'sides.flat'), scores };
}

/** Corners in px: near `[1, 2, A]` and far `[1, 2, A]`. */
function corners(host: HostBuilder, sides: string) {
  const xs: number[] = [];
  const ys: number[] = [];
  const strides: number[] = [];
  for (const stride of STRIDES) {
    const { columns } = cellsOf(stride);
    for (let cell = 0; cell < countOf(stride); cell++) {
      xs.push((cell % columns) + 0.5);
      ys.push(Math.floor(cell / columns) + 0.5);
      strides.push(stride);
    }
  }
  const centers = host.floats('centers', [1, 2, ANCHORS], [...xs, ...ys]);
  const step = host.floats('strides', [1, ANCHORS], strides);
  host.nodes.push(node('Split', [sides, host.ints('two_two', [2, 2])], ['lt', 'rb'], { axis: 1n }));
  const near = host.add('Mul', [host.add('Sub', [centers, 'lt'], 'near.cells'), step], 'near');
  const far = host.add('Mul', [host.add('Add', [centers, 'rb'], 'far.cells'), step], 'far');
  return { near, far };
}

function yolov8(host: HostBuilder, maps: readonly string[]): Outputs {
  const { sides, scores } = twoTowers(host, maps, 16);
  const { near, far } = corners(host, sides);
  const half = host.floats('half', [], [0.5]);
  const center = host.add('Mul', [host.add('Add', [near, far], 'twice'), half], 'center');
  const box = host.add('Concat', [center, host.add('Sub', [far, near], 'size')], 'box_px', { axis: 1n });
  host.add('Concat', [box, scores], 'output0', { axis: 1n });
  return [['output0', [1, 4 + CLASSES, ANCHORS]]];
}

const ROWS = 20;

function yolo26(host: HostBuilder, maps: readonly string[]): Outputs {
  const { sides, scores } = twoTowers(host, maps, 1);
  const { near, far } = corners(host, sides);
  const joined = host.add('Concat', [near, far, scores], 'joined', { axis: 1n });
  const rows = host.add('Transpose', [joined], 'rows', { perm: [0n, 2n, 1n] }); // [1, A, 4 + C]
  host.nodes.push(
    node('Split', [rows, host.ints('box_cls', [4, CLASSES])], ['row.box', 'row.cls'], { axis: 2n }),
  );
  const best = host.add('ReduceMax', ['row.cls'], 'best', { axes: [2n], keepdims: 0n }); // [1, A]
  host.nodes.push(node('TopK', [best, host.ints('k', [ROWS])], ['top', 'index'], { axis: 1n }));
  const chosen = host.add(
    'Gather',
    [
      host.add('Squeeze', [rows, host.ints('zero', [0])], 'flat_rows'),
      host.add('Squeeze', ['index', 'zero'], 'flat_index'),
    ],
    'chosen',
    { axis: 0n },
  ); // [K, 4 + C]
  host.nodes.push(node('Split', [chosen, 'box_cls'], ['kept.box', 'kept.cls'], { axis: 1n }));
  const label = host.add(
    'Cast',
    [host.add('ArgMax', ['kept.cls'], 'arg', { axis: 1n, keepdims: 1n })],
    'label',
    { to: 1n },
  );
  const score = host.add('ReduceMax', ['kept.cls'], 'kept.score', { axes: [1n], keepdims: 1n });
  const all = host.add('Concat', ['kept.box', score, label], 'kept', { axis: 1n });
  host.add('Unsqueeze', [all, 'zero'], 'output0');
  return [['output0', [1, ROWS, 6]]];
}

const HEADS: Readonly<Record<HostFamily, Head>> = { yolox, nanodet, yolov5, yolov8, yolo26 };
