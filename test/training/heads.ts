// Small heads with random float64 outputs, for tests of the criterion.
import { createRandom } from '#core';
import type { BoxCode, HeadSpec } from '#onnx';
import type { Targets } from '../../training/criterion.ts';
import type { Tensors } from '../../training/engines/engine.ts';

export interface TestHead {
  readonly spec: HeadSpec;
  /** float64 outputs under the type of float32 ones. */
  readonly outputs: Tensors;
  readonly targets: Targets;
}

export interface TestHeadOptions {
  readonly classes?: number;
  readonly bins?: number;
  readonly classLaw?: 'softmax' | 'sigmoid';
  readonly boxCode?: BoxCode;
  readonly locations?: number;
  readonly pictures?: number;
  /** Objects of every picture: class, x1 y1 x2 y2. */
  readonly objects?: readonly (readonly number[])[][];
  readonly ignore?: readonly (readonly number[])[][];
  readonly float32?: boolean;
}

const OBJECTS = [
  [
    [0, 3, 2, 30, 25],
    [1, 20, 10, 46, 40],
  ],
  [[2, 10, 4, 42, 38]],
];

export function testHead(options: TestHeadOptions = {}): TestHead {
  const {
    classes = 3,
    bins = 5,
    classLaw = 'softmax',
    boxCode = { kind: 'dfl', bins: 6 },
    locations = 1,
  } = options;
  const { objects = OBJECTS, ignore = [] } = options;
  const pictures = options.pictures ?? objects.length;
  const random = createRandom(7);
  const boxChannels = boxCode.kind === 'dfl' ? 4 * boxCode.bins : 4;
  const levels = [8, 16].map((stride) => ({
    stride,
    columns: 48 / stride,
    rows: Math.ceil(40 / stride),
    quality: `quality${stride}`,
    ...(classes > 1 && { classes: `classes${stride}` }),
    box: `box${stride}`,
  }));
  const outputs = new Map<string, unknown>();
  const add = (name: string, channels: number, rows: number, columns: number): void => {
    const values = Array.from({ length: pictures * channels * rows * columns }, () => 0.8 * random.normal());
    const data = options.float32 ? Float32Array.from(values) : Float64Array.from(values);
    outputs.set(name, { shape: [pictures, channels, rows, columns], data });
  };
  for (const { quality, classes: name, box, rows, columns } of levels) {
    add(quality, locations * bins, rows, columns);
    if (name !== undefined) add(name, locations * classes, rows, columns);
    add(box, locations * boxChannels, rows, columns);
  }
  const spec: HeadSpec = {
    input: { width: 48, height: 40 },
    classNames: Array.from({ length: classes }, (_, index) => `class ${index}`),
    bins,
    classLaw,
    boxCode,
    locations,
    levels,
    adapter: 0,
    dropout: 0,
    preprocess: {} as HeadSpec['preprocess'], // not read by a criterion
  };
  return { spec, outputs: outputs as Tensors, targets: testTargets(pictures, objects, ignore) };
}

export function testTargets(
  pictures: number,
  objects: readonly (readonly (readonly number[])[])[],
  ignore: readonly (readonly (readonly number[])[])[] = [],
): Targets {
  const startsOf = (lists: readonly (readonly unknown[])[]): Int32Array => {
    const starts = new Int32Array(pictures + 1);
    for (let n = 0; n < pictures; n++) starts[n + 1] = starts[n]! + (lists[n]?.length ?? 0);
    return starts;
  };
  return {
    starts: startsOf(objects),
    boxes: Float32Array.from(objects.flat().flatMap((object) => object.slice(1))),
    classIds: Int32Array.from(objects.flat().map((object) => object[0]!)),
    ignoreStarts: startsOf(ignore),
    ignoreBoxes: Float32Array.from(ignore.flat(2)),
  };
}
