// Tiny ONNX graphs made for tests: detectors whose answer is known, look-alikes, and files that are broken in one way.
// All answers are constants or simple measures of the input, so that a test can state the right result by hand.

import { create } from '@bufbuild/protobuf';
import type { HeadKind, Size } from '#core';
import { toHalfBits } from '#core';
import type { AttributeValue, ModelProto, TensorProto } from '#onnx';
import {
  ElementType,
  floats,
  graph,
  ints,
  model,
  node,
  serialize,
  standInDetector,
  tensor,
  valueInfo,
} from '#onnx';
import { StringStringEntryProtoSchema, TensorProto_DataLocation } from '../../src/onnx/proto/onnx_pb.ts';

export type Axis = number | string | null;

/** A box that a constant detector reports: centre and size in input px. */
export interface KnownBox {
  readonly cx: number;
  readonly cy: number;
  readonly w: number;
  readonly h: number;
  readonly classId: number;
  readonly score: number;
}

/** Number of cells over the given strides. */
export function cellCount({ width, height }: Size, strides: readonly number[] = [8, 16, 32]): number {
  return strides.reduce((sum, stride) => sum + Math.ceil(width / stride) * Math.ceil(height / stride), 0);
}

/** `{0: 'a', 1: 'b'}` as Ultralytics writes it. */
export function pythonNames(names: readonly string[]): string {
  return `{${names.map((name, id) => `${id}: '${name}'`).join(', ')}}`;
}

export interface ConstantOutput {
  readonly name: string;
  readonly shape: readonly number[];
  /** Missing values are zero. */
  readonly values?: ArrayLike<number>;
  readonly type?: 'float32' | 'float16' | 'int32' | 'int64';
  /** Operator through which the constant goes, as evidence of structure: `Sigmoid`, `Softmax`, `Exp`, ... */
  readonly through?: string;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
}

export interface ConstantGraphSpec {
  readonly outputs: readonly ConstantOutput[];
  /** Shape of the input named `images`. */
  readonly inputShape?: readonly Axis[];
  readonly inputType?: 'float32' | 'float16' | 'uint8';
  readonly metadata?: Readonly<Record<string, string>>;
  readonly opset?: number;
  readonly irVersion?: number;
}

const INPUT_TYPES = {
  float32: ElementType.FLOAT,
  float16: ElementType.FLOAT16,
  uint8: ElementType.UINT8,
} as const;

/** A graph that ignores its picture and gives constants. */
export function constantGraph(spec: ConstantGraphSpec): ModelProto {
  const {
    outputs,
    inputShape = [1, 3, 96, 96],
    inputType = 'float32',
    metadata = {},
    opset,
    irVersion,
  } = spec;
  return model(
    graph({
      name: 'constant',
      nodes: outputs.map((output) =>
        node(output.through ?? 'Identity', [`${output.name}_value`], [output.name], output.attributes ?? {}),
      ),
      inputs: [valueInfo('images', INPUT_TYPES[inputType], inputShape)],
      outputs: outputs.map((output) => valueInfo(output.name, constantOf(output).dataType, output.shape)),
      initializers: outputs.map(constantOf),
    }),
    { metadata, ...(opset ? { opset } : {}), ...(irVersion ? { irVersion } : {}) },
  );
}

function constantOf({ name, shape, values = [], type = 'float32' }: ConstantOutput): TensorProto {
  const count = shape.reduce((product, axis) => product * axis, 1);
  const filled = Float32Array.from({ length: count }, (_, index) => values[index] ?? 0);
  const label = `${name}_value`;
  switch (type) {
    case 'float32':
      return tensor(label, shape, filled);
    case 'float16':
      return tensor(label, shape, Uint16Array.from(filled, toHalfBits), ElementType.FLOAT16);
    case 'int32':
      return tensor(label, shape, Int32Array.from(filled));
    case 'int64':
      return tensor(
        label,
        shape,
        BigInt64Array.from(filled, (value) => BigInt(Math.round(value))),
      );
  }
}

export type ConstantDetectorKind = Extract<HeadKind, 'yolov5' | 'yolov8' | 'end-to-end' | 'nms-outputs'>;

export interface ConstantDetectorSpec {
  readonly kind: ConstantDetectorKind;
  /** Size that the anchors are counted for. Default 96x96. */
  readonly input?: Size;
  readonly classNames?: readonly string[];
  /** Reported in the first anchors or rows, the same for every picture of the batch. */
  readonly boxes?: readonly KnownBox[];
  /** YOLOv8 only: `[1, A, 4 + C]`. */
  readonly transposed?: boolean;
  /** A fixed batch larger than 1. */
  readonly batch?: number;
  /** Shape of the input where it differs from `[batch, 3, H, W]`: free axes, NHWC. */
  readonly inputShape?: readonly Axis[];
  readonly inputType?: 'float32' | 'float16' | 'uint8';
  readonly outputType?: 'float32' | 'float16';
  /** Added to `names`, `task` and `stride`; an undefined value takes a key away. */
  readonly metadata?: Readonly<Record<string, string | undefined>>;
}

export const DEFAULT_BOXES: readonly KnownBox[] = [
  { cx: 30, cy: 40, w: 20, h: 30, classId: 0, score: 0.9 },
  { cx: 70, cy: 60, w: 24, h: 16, classId: 1, score: 0.7 },
];

/** A detector of one of the common forms that reports the same known boxes for every picture. */
export function constantDetector(spec: ConstantDetectorSpec): ModelProto {
  const { input = { width: 96, height: 96 }, classNames = ['car', 'person'], batch = 1 } = spec;
  const metadata: Record<string, string> = {};
  const wanted = { names: pythonNames(classNames), task: 'detect', stride: '32', ...spec.metadata };
  for (const [key, value] of Object.entries(wanted)) {
    if (value !== undefined) metadata[key] = value;
  }
  return constantGraph({
    outputs: constantOutputs(spec, input, classNames.length, batch),
    inputShape: spec.inputShape ?? [batch, 3, input.height, input.width],
    inputType: spec.inputType ?? 'float32',
    metadata,
  });
}

function constantOutputs(
  spec: ConstantDetectorSpec,
  input: Size,
  classCount: number,
  batch: number,
): ConstantOutput[] {
  const type = spec.outputType ?? 'float32';
  const boxes = (spec.boxes ?? DEFAULT_BOXES).filter((box) => box.classId < classCount);
  const repeat = (values: Float32Array) => Array.from({ length: batch }, () => Array.from(values)).flat();
  const one = (shape: readonly number[], values: Float32Array): ConstantOutput[] => [
    { name: 'output0', shape: [batch, ...shape], values: repeat(values), type },
  ];
  switch (spec.kind) {
    case 'yolov5': {
      const stride = 5 + classCount;
      const anchors = 3 * cellCount(input);
      const values = new Float32Array(anchors * stride);
      boxes.forEach((box, row) => {
        values.set([box.cx, box.cy, box.w, box.h, 1], row * stride);
        values[row * stride + 5 + box.classId] = box.score;
      });
      return one([anchors, stride], values);
    }
    case 'yolov8': {
      const channels = 4 + classCount;
      const anchors = cellCount(input);
      const values = new Float32Array(anchors * channels);
      boxes.forEach((box, row) => {
        const write = (channel: number, value: number) => {
          values[spec.transposed ? row * channels + channel : channel * anchors + row] = value;
        };
        [box.cx, box.cy, box.w, box.h].forEach((value, channel) => {
          write(channel, value);
        });
        write(4 + box.classId, box.score);
      });
      return one(spec.transposed ? [anchors, channels] : [channels, anchors], values);
    }
    case 'end-to-end': {
      const values = new Float32Array(300 * 6);
      boxes.forEach((box, row) => {
        values.set([...corners(box), box.score, box.classId], row * 6);
      });
      return one([300, 6], values);
    }
    case 'nms-outputs': {
      const rows = 100;
      const flat = new Float32Array(rows * 4);
      boxes.forEach((box, row) => {
        flat.set(corners(box), row * 4);
      });
      const of = (value: (box: KnownBox) => number) =>
        repeat(Float32Array.from({ length: rows }, (_, row) => (boxes[row] ? value(boxes[row]) : 0)));
      return [
        { name: 'num_dets', shape: [batch, 1], values: Array(batch).fill(boxes.length), type: 'int32' },
        { name: 'det_boxes', shape: [batch, rows, 4], values: repeat(flat) },
        { name: 'det_scores', shape: [batch, rows], values: of((box) => box.score) },
        { name: 'det_classes', shape: [batch, rows], values: of((box) => box.classId), type: 'int32' },
      ];
    }
  }
}

function corners({ cx, cy, w, h }: KnownBox): number[] {
  return [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2];
}

/** Finds the bounding box of the near-white px of its input (score 0.9). */
export function whiteBoxProbe(size: Size = { width: 96, height: 96 }): ModelProto {
  return standInDetector(size);
}

/**
 * Three classes `red`, `green`, `blue`, each scoring the mean of its input plane (0..1 when the contract is RGB/255) in
 * that picture of the batch, in one box over the whole input. Tells swapped channels, wrong scaling, mixed-up pictures.
 */
export function channelMeanProbe(
  size: Size = { width: 96, height: 96 },
  { batch = 1, order = 'nchw' }: { readonly batch?: number; readonly order?: 'nchw' | 'nhwc' } = {},
): ModelProto {
  const { width, height } = size;
  const anchors = cellCount(size);
  const boxes = new Float32Array(batch * 4 * anchors);
  for (let row = 0; row < batch * 4; row++) {
    boxes[row * anchors] = [width / 2, height / 2, width, height][row % 4] ?? 0;
  }
  const nchw = order === 'nchw';
  const shape = nchw ? [batch, 3, height, width] : [batch, height, width, 3];
  return model(
    graph({
      name: 'channel_means',
      nodes: [
        node('ReduceMean', ['images'], ['means'], { axes: nchw ? [2n, 3n] : [1n, 2n], keepdims: 1n }),
        node('Reshape', ['means', 'one_column'], ['column']), // [batch, 3, 1]
        node('Concat', ['column', 'no_scores'], ['scores'], { axis: 2n }), // [batch, 3, A]
        node('Concat', ['boxes', 'scores'], ['output0'], { axis: 1n }), // [batch, 7, A]
      ],
      inputs: [valueInfo('images', ElementType.FLOAT, shape)],
      outputs: [valueInfo('output0', ElementType.FLOAT, [batch, 7, anchors])],
      initializers: [
        ints('one_column', [batch, 3, 1]),
        floats('no_scores', [batch, 3, anchors - 1], new Float32Array(batch * 3 * (anchors - 1))),
        tensor('boxes', [batch, 4, anchors], boxes),
      ],
    }),
    { metadata: { names: pythonNames(['red', 'green', 'blue']), task: 'detect', stride: '32' } },
  );
}

/** `images[1, 3, 32, 32]` → class probabilities `[1, classes]`. */
export function classifier(classes = 1000): ModelProto {
  return constantGraph({
    inputShape: [1, 3, 32, 32],
    outputs: [{ name: 'probabilities', shape: [1, classes], through: 'Softmax' }],
  });
}

/** A graph that only suppresses boxes: it has no picture input. */
export function nmsOnly(): ModelProto {
  return model(
    graph({
      name: 'nms',
      nodes: [node('NonMaxSuppression', ['boxes', 'scores', 'max_output'], ['selected'])],
      inputs: [
        valueInfo('boxes', ElementType.FLOAT, [1, 100, 4]),
        valueInfo('scores', ElementType.FLOAT, [1, 2, 100]),
      ],
      outputs: [valueInfo('selected', ElementType.INT64, ['kept', 3])],
      initializers: [ints('max_output', [10])],
    }),
  );
}

/** `[1, A, 7]` with one anchor per cell and no word about classes: YOLOv8 turned (3 classes) or YOLOX (2 classes). */
export function twoLayoutsFit(input: Size = { width: 96, height: 96 }): ModelProto {
  return constantGraph({
    inputShape: [1, 3, input.height, input.width],
    outputs: [{ name: 'output0', shape: [1, cellCount(input), 7] }],
  });
}

/** Three YOLOv5 feature maps before decoding: `[1, 3, H, W, 5 + C]`, or `[1, 3 (5 + C), H, W]` when `joined`. */
export function rawFeatureMaps({ joined = false, classCount = 80 } = {}): ModelProto {
  return constantGraph({
    inputShape: [1, 3, 64, 64],
    outputs: [8, 4, 2].map((side, level) => ({
      name: `map${level}`,
      shape: joined ? [1, 3 * (5 + classCount), side, side] : [1, 3, side, side, 5 + classCount],
    })),
  });
}

/**
 * A detector whose constants lie in a second file.
 * @returns the model, and the bytes that belong at `location` beside it
 */
export function externalData(location = 'w.bin'): {
  readonly model: ModelProto;
  readonly weights: Uint8Array;
} {
  const whole = constantDetector({ kind: 'yolov8' });
  const constant = whole.graph?.initializer[0];
  if (!constant) throw new Error('the constant detector has no initializer');
  const weights = constant.rawData;
  // An empty rawData would still be written, so the field has to go.
  Reflect.deleteProperty(constant, 'rawData');
  constant.dataLocation = TensorProto_DataLocation.EXTERNAL;
  constant.externalData = Object.entries({ location, offset: '0', length: String(weights.length) }).map(
    ([key, value]) => create(StringStringEntryProtoSchema, { key, value }),
  );
  return { model: whole, weights };
}

/** Bytes of an `.onnx` file. */
export function modelBytes(made: ModelProto): Uint8Array {
  return serialize(made);
}
