// Whether the model that a server runs is the one whose file is here, axis by axis.
import { DeviceError, formatShape, ModelError } from '#core';
import { ElementType, elementTypeOf, graphOf, parseModel, shapeOf } from '#onnx';
import { OUTPUT_TYPES } from './datatypes.ts';
import type { ModelDescription, TensorDescription } from './transport.ts';

/** An axis that is free or not known is undefined. */
interface Expected {
  readonly name: string;
  readonly shape?: readonly (number | undefined)[];
}

/** What a graph takes and gives, as it is opened here: its free axes fixed, float32 in the place of float16. */
export interface ExpectedModel {
  readonly input: Expected & { readonly isUint8: boolean };
  readonly outputs: readonly Expected[];
}

/** What is run on a server: only the outputs that are known here. */
export interface ServedModel {
  readonly input: TensorDescription;
  readonly outputs: readonly TensorDescription[];
  /** Every tensor has a free first axis: several runs can go as one request. */
  readonly freeBatch: boolean;
}

/**
 * @param model bytes of an ONNX file
 * @throws ModelError where they are none
 */
export function expectedOf(modelName: string, model: Uint8Array): ExpectedModel {
  const graph = graphOf(parseModel(modelName, model));
  const [input] = graph.input;
  const expected = (info: Parameters<typeof shapeOf>[0] & { name: string }): Expected => {
    const shape = shapeOf(info)?.map((axis) => (typeof axis === 'number' && axis > 0 ? axis : undefined));
    return { name: info.name, ...(shape && { shape }) };
  };
  if (input === undefined) {
    throw new ModelError(`${modelName} has no input to send to a server`, { hint: 'export the model again' });
  }
  return {
    input: { ...expected(input), isUint8: elementTypeOf(input) === ElementType.UINT8 },
    outputs: graph.output.map(expected),
  };
}

/**
 * @param taps outputs that were added to the graph here: a server runs the file as it was, and may lack them
 * @throws DeviceError that names everything that differs
 */
export function matchServed(
  served: ModelDescription,
  expected: ExpectedModel,
  { where, modelName, taps }: { where: string; modelName: string; taps: readonly string[] },
): ServedModel {
  const inputs = new Map(served.inputs.map((tensor) => [tensor.name, tensor]));
  const outputs = new Map(served.outputs.map((tensor) => [tensor.name, tensor]));
  const input = inputs.get(expected.input.name);
  const wanted = expected.outputs.filter(({ name }) => outputs.has(name) || !taps.includes(name));
  const faults = [
    ...inputFaults(input, expected.input, [...inputs.keys()]),
    ...wanted.flatMap((output) => outputFaults(outputs.get(output.name), output, [...outputs.keys()])),
  ];
  if (faults.length > 0 || input === undefined) {
    throw new DeviceError(`${where} does not serve ${modelName}: ${faults.join('; ')}`, {
      hint: 'serve this very file, or give the file that is served as model=',
    });
  }
  const found = wanted.flatMap(({ name }) => outputs.get(name) ?? []);
  return { input, outputs: found, freeBatch: [input, ...found].every(({ shape }) => shape[0] === -1) };
}

function inputFaults(
  served: TensorDescription | undefined,
  expected: ExpectedModel['input'],
  names: readonly string[],
): readonly string[] {
  if (served === undefined) return [missing('input', expected.name, names)];
  const types = expected.isUint8 ? ['UINT8'] : ['FP32', 'FP16'];
  const others = names.filter((name) => name !== expected.name);
  return [
    ...(types.includes(served.datatype)
      ? []
      : [`its input ${served.name} is ${served.datatype}, the file's is ${types.join(' or ')}`]),
    ...shapeFaults('input', served, expected),
    ...(others.length > 0 ? [`it has more inputs: ${others.join(', ')}`] : []),
  ];
}

function outputFaults(
  served: TensorDescription | undefined,
  expected: Expected,
  names: readonly string[],
): readonly string[] {
  if (served === undefined) return [missing('output', expected.name, names)];
  return [
    ...(OUTPUT_TYPES.includes(served.datatype)
      ? []
      : [`its output ${served.name} is ${served.datatype}, expected ${OUTPUT_TYPES.join(', ')}`]),
    ...shapeFaults('output', served, expected),
  ];
}

function missing(what: string, name: string, names: readonly string[]): string {
  return `it has no ${what} ${name} (it has ${names.join(', ') || 'none'})`;
}

function shapeFaults(
  what: string,
  { name, shape }: TensorDescription,
  { shape: expected }: Expected,
): readonly string[] {
  if (expected === undefined) return [];
  const differ =
    shape.length !== expected.length ||
    shape.some((axis, place) => axis >= 0 && expected[place] !== undefined && axis !== expected[place]);
  if (!differ) return [];
  const known = formatShape(expected.map((axis) => axis ?? -1));
  return [`its ${what} ${name} is ${formatShape(shape)}, the file's is ${known}`];
}
