// Moves the arithmetic on pixels into the graph: it then takes the bytes of a picture as they are.
import { ModelError, type PreprocessContract } from '#core';
import {
  type Axis,
  ElementType,
  graphOf,
  type ModelProto,
  normalizeInputs,
  type PictureInput,
  shapeOf,
  type ValueInfoProto,
  valueInfo,
  withGraph,
} from '#onnx';
import { GraphWriter } from './graph-writer.ts';
import { freeTensorNames } from './rename-tensors.ts';

export interface PreambleOptions {
  /** As `pictureInput` finds it in the model. */
  readonly input: PictureInput;
  /** What the model wants done to its pictures. */
  readonly contract: PreprocessContract;
  /** `uint8` takes bytes; `float32` takes the same values 0..255, for TensorRT 8.5, which casts no bytes. */
  readonly dtype: 'uint8' | 'float32';
  /** Axes of the new input. Default `nhwc`, in which pictures are decoded. */
  readonly order?: PictureInput['order'];
}

const INPUT_TYPES = {
  float32: ElementType.FLOAT,
  float16: ElementType.FLOAT16,
  uint8: ElementType.UINT8,
} as const;

/**
 * Cast, Sub mean, Mul 1/std, Transpose before the first node; what would change nothing is left out. The Cast comes
 * first, since TensorRT has bytes as an input type and nowhere else. The input keeps its name.
 * @returns the contract of the new input: mean 0, std 1, all else as before
 * @throws ModelError where float32 is asked for and the graph takes bytes already
 */
export function withPicturePreamble(
  model: ModelProto,
  { input, contract, dtype, order = 'nhwc' }: PreambleOptions,
): { readonly model: ModelProto; readonly contract: PreprocessContract } {
  const identity: PreprocessContract = { ...contract, mean: [0, 0, 0], std: [1, 1, 1] };
  if (input.dtype === dtype && input.order === order && changesNothing(contract)) {
    return { model, contract: identity };
  }
  if (input.dtype === 'uint8' && dtype !== 'uint8') {
    throw new ModelError(
      `the picture input ${input.name} takes bytes (uint8) already, float32 was asked for`,
      {
        hint: 'export from the model with a float32 input',
      },
    );
  }
  const { model: freed, nameOf } = freeTensorNames(normalizeInputs(model), [input.name]);
  const graph = graphOf(freed);
  const inner = nameOf(input.name);
  const writer = new GraphWriter(freed, 'picture.');
  writer.name(writeArithmetic(writer, { input, contract, dtype, order }), inner);
  const changed = withGraph(freed, {
    node: [...writer.nodes, ...graph.node],
    initializer: [...graph.initializer, ...writer.initializers],
    input: graph.input.map((info) => (info.name === inner ? newInput(info, { input, dtype, order }) : info)),
  });
  return { model: changed, contract: identity };
}

function changesNothing({ mean, std }: PreprocessContract): boolean {
  return mean.every((value) => value === 0) && std.every((value) => value === 1);
}

function writeArithmetic(
  writer: GraphWriter,
  { input, contract, dtype, order }: Required<PreambleOptions>,
): string {
  const perChannel = order === 'nhwc' ? [1, 1, 1, 3] : [1, 3, 1, 1];
  let at = dtype === 'float32' ? input.name : writer.toFloat32(input.name, 'float');
  if (contract.mean.some((value) => value !== 0)) {
    at = writer.add('Sub', [at, writer.floats('mean', perChannel, contract.mean)], 'centred');
  }
  if (contract.std.some((value) => value !== 1)) {
    const factors = contract.std.map((value) => 1 / value);
    at = writer.add('Mul', [at, writer.floats('factor', perChannel, factors)], 'normalised');
  }
  if (order !== input.order) {
    at = writer.transpose(at, 'turned', input.order === 'nchw' ? [0, 3, 1, 2] : [0, 2, 3, 1]);
  }
  if (input.dtype === 'float32') return at;
  return writer.add('Cast', [at], 'converted', { to: BigInt(INPUT_TYPES[input.dtype]) });
}

function newInput(
  info: ValueInfoProto,
  { input, dtype, order }: Pick<Required<PreambleOptions>, 'input' | 'dtype' | 'order'>,
): ValueInfoProto {
  const axes: readonly Axis[] = shapeOf(info) ?? [null, null, null, null];
  const [batch = null, first = null, second = null, third = null] = axes;
  const { channels } = input;
  const [height, width] = input.order === 'nchw' ? [second, third] : [first, second];
  const shape = order === 'nhwc' ? [batch, height, width, channels] : [batch, channels, height, width];
  return valueInfo(input.name, INPUT_TYPES[dtype], shape);
}
