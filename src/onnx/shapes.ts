// The picture input of a graph, and the rewriting of its free axes and outputs before a session is created.
import { create } from '@bufbuild/protobuf';
import { formatShape, ModelError } from '#core';
import { valueInfo } from './builder.ts';
import type { Axis } from './graph.ts';
import {
  attributeInt,
  elementTypeOf,
  graphOf,
  normalizeInputs,
  shapeOf,
  viewGraph,
  withGraph,
} from './graph.ts';
import type { ModelProto, ValueInfoProto } from './proto/onnx_pb.ts';
import { ValueInfoProtoSchema } from './proto/onnx_pb.ts';
import { ElementType, elementTypeName } from './tensor.ts';

export interface PictureInput {
  readonly name: string;
  readonly dtype: 'float32' | 'float16' | 'uint8';
  readonly order: 'nchw' | 'nhwc';
  readonly channels: 1 | 3;
  /** Absent where the axis is free. */
  readonly height?: number;
  readonly width?: number;
  readonly batch?: number;
}

/**
 * The one input that takes pictures.
 * @throws ModelError for graphs that take no picture (suppression only, features, text), that want further inputs, or
 * whose element type is not float32, float16 or uint8
 */
export function pictureInput(model: ModelProto): PictureInput {
  const graph = graphOf(normalizeInputs(model));
  const candidates = graph.input.filter((info) => layoutOf(model, info) !== undefined);
  const [input] = candidates;
  if (!input || candidates.length > 1) {
    throw noPicture(model, graph.input, candidates.length);
  }
  const others = graph.input.filter((info) => info !== input);
  if (others.length > 0) {
    throw new ModelError(
      `the model wants further inputs besides the picture ${input.name}: ${list(others)}`,
      {
        hint: 'export the model with the picture as its only input (PaddleDetection: without scale_factor and im_shape)',
      },
    );
  }
  const { order, channels } = layoutOf(model, input) ?? { order: 'nchw', channels: 3 };
  const [batch, second, third, fourth] = shapeOf(input) ?? [];
  const [height, width] = order === 'nchw' ? [third, fourth] : [second, third];
  return {
    name: input.name,
    dtype: dtypeOf(input),
    order,
    channels,
    ...(isFixed(height) ? { height } : {}),
    ...(isFixed(width) ? { width } : {}),
    ...(isFixed(batch) ? { batch } : {}),
  };
}

/** -1 and 0 are written by exporters that mean a free axis. */
function isFixed(axis: Axis | undefined): axis is number {
  return typeof axis === 'number' && axis > 0;
}

function layoutOf(model: ModelProto, info: ValueInfoProto) {
  const shape = shapeOf(info);
  if (shape?.length !== 4) return undefined;
  const channelsOf = (axis: Axis | undefined) => (axis === 3 || axis === 1 ? axis : undefined);
  const [, second, third, last] = shape;
  const planar = channelsOf(second);
  const interleaved = channelsOf(last);
  // [1, 1, 28, 1] says nothing; three channels on one side decide before one channel on the other.
  if (planar === 3 || (planar === 1 && interleaved !== 3))
    return { order: 'nchw', channels: planar } as const;
  if (interleaved) return { order: 'nhwc', channels: interleaved } as const;
  const free = ![second, third, last].some(isFixed);
  const channels = free ? channelsOf(firstConvolutionChannels(model, info.name)) : undefined;
  return channels ? ({ order: 'nchw', channels } as const) : undefined;
}

/** Where every axis is free, the first convolution tells how many planes it reads. */
function firstConvolutionChannels(model: ModelProto, inputName: string): number | undefined {
  const view = viewGraph(model);
  let name = inputName;
  for (let step = 0; step < 16; step++) {
    const [reader] = view.consumers(name);
    if (!reader) return undefined;
    if (reader.opType === 'Conv') {
      const planes = Number(view.constant(reader.input[1] ?? '')?.dims[1] ?? 0);
      return planes * (attributeInt(reader, 'group') ?? 1);
    }
    name = reader.output[0] ?? '';
  }
  return undefined;
}

function dtypeOf(input: ValueInfoProto): PictureInput['dtype'] {
  switch (elementTypeOf(input)) {
    case ElementType.FLOAT:
      return 'float32';
    case ElementType.FLOAT16:
      return 'float16';
    case ElementType.UINT8:
      return 'uint8';
    default:
      throw new ModelError(
        `the picture input ${input.name} is ${elementTypeName(elementTypeOf(input) ?? 0)}; expected float32, float16 or uint8`,
        { hint: 'export the model with a float32 input' },
      );
  }
}

function noPicture(model: ModelProto, inputs: readonly ValueInfoProto[], count: number): ModelError {
  const operators = new Set(graphOf(model).node.map((node) => node.opType));
  const found = inputs.length === 0 ? 'it has no inputs' : `its inputs are ${list(inputs)}`;
  if (count > 1) {
    return new ModelError(`the model takes ${count} pictures at once: ${found}`, {
      hint: 'a detector with a single picture input [N, 3, H, W] or [N, H, W, 3] is expected',
    });
  }
  if (operators.has('NonMaxSuppression') && !operators.has('Conv')) {
    return new ModelError(`this is a post-processing graph (NonMaxSuppression), not a detector: ${found}`, {
      hint: 'give the detector itself (the file with the convolutions); suppression is done here',
    });
  }
  return new ModelError(`the model takes no picture: ${found}`, {
    hint: 'a detector has one input of shape [N, 3, H, W] or [N, H, W, 3]',
  });
}

function list(inputs: readonly ValueInfoProto[]): string {
  return inputs.map((info) => `${info.name} ${formatShape(shapeOf(info) ?? [])}`).join(', ');
}

export interface StaticInput {
  readonly batch: number;
  readonly height: number;
  readonly width: number;
}

/**
 * Writes numbers for the free axes of the picture input (the Node binding ignores `freeDimensionOverrides`) and drops
 * the shapes of outputs and intermediate tensors that were written for free axes.
 * @throws ModelError when an axis is already fixed to another number
 */
export function withStaticInput(model: ModelProto, wanted: StaticInput): ModelProto {
  const input = pictureInput(model);
  for (const axis of ['batch', 'height', 'width'] as const) {
    const fixed = input[axis];
    if (fixed !== undefined && fixed !== wanted[axis]) {
      throw new ModelError(`the model is exported for a ${axis} of ${fixed}; ${wanted[axis]} was asked for`, {
        hint: `use ${fixed}, or export the model with a free ${axis} (dynamic=True)`,
      });
    }
  }
  if (input.batch !== undefined && input.height !== undefined && input.width !== undefined) return model;
  const { batch, height, width } = wanted;
  const shape =
    input.order === 'nchw' ? [batch, input.channels, height, width] : [batch, height, width, input.channels];
  const graph = graphOf(model);
  return withGraph(model, {
    input: graph.input.map((info) =>
      info.name === input.name ? valueInfo(info.name, elementTypeOf(info) ?? ElementType.FLOAT, shape) : info,
    ),
    output: graph.output.map(withoutFreeShape),
    valueInfo: graph.valueInfo.filter((info) => (shapeOf(info) ?? []).every(isFixed)),
  });
}

function withoutFreeShape(info: ValueInfoProto): ValueInfoProto {
  const shape = shapeOf(info);
  if (!shape || shape.every(isFixed)) return info;
  return valueInfo(info.name, elementTypeOf(info) ?? ElementType.UNDEFINED);
}

/**
 * Adds tensors to the graph's outputs; the runtime works out their type and shape.
 * @throws ModelError when no node makes a tensor of that name
 */
export function withExtraOutputs(model: ModelProto, names: readonly string[]): ModelProto {
  const graph = graphOf(model);
  const present = new Set(graph.output.map((info) => info.name));
  const made = new Set(graph.node.flatMap((node) => node.output));
  const added = names.filter((name) => !present.has(name));
  for (const name of added) {
    if (!made.has(name)) {
      throw new ModelError(`the graph has no tensor named ${name}`, { hint: 'see the names in `inspect`' });
    }
  }
  if (added.length === 0) return model;
  return withGraph(model, {
    output: [...graph.output, ...added.map((name) => create(ValueInfoProtoSchema, { name }))],
  });
}
