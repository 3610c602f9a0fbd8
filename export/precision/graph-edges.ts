// The one input of a network that is ready to run, and its outputs.
import { formatShape, ModelError } from '#core';
import type { ModelProto } from '#onnx';
import { ElementType, elementTypeName, normalizeInputs, prune, viewGraph, withGraph } from '#onnx';

export interface FixedInput {
  readonly name: string;
  readonly shape: readonly number[];
}

/** @throws ModelError for several inputs, an open axis, or an input that is not float32 */
export function fixedInput(model: ModelProto): FixedInput {
  const view = viewGraph(normalizeInputs(model));
  const [input, ...others] = view.graph.input;
  if (input === undefined || others.length > 0) {
    throw new ModelError(`calibration needs a network with one input, found ${view.graph.input.length}`, {
      hint: 'export the model with the picture as its only input',
    });
  }
  const { name } = input;
  const type = view.elementType(name);
  if (type !== ElementType.FLOAT) {
    throw new ModelError(`input ${name} is ${elementTypeName(type ?? 0)}, calibration needs float32`, {
      hint: 'calibrate before the uint8 preamble is put in front, and widen half floats first',
    });
  }
  const shape = view.shape(name) ?? [];
  const fixed = shape.filter((axis): axis is number => typeof axis === 'number' && axis > 0);
  if (fixed.length === 0 || fixed.length < shape.length) {
    throw new ModelError(`input ${name} has the open shape ${formatShape(shape)}`, {
      hint: 'fix the input size with imgsz=',
    });
  }
  return { name, shape: fixed };
}

/** The part of the network that the named outputs need. */
export function onlyOutputs(model: ModelProto, names: ReadonlySet<string>): ModelProto {
  const { graph } = viewGraph(model);
  return prune(withGraph(model, { output: graph.output.filter(({ name }) => names.has(name)) }));
}
