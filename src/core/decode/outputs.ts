// Checked access to what a session returned: the inner loops rely on it and check nothing themselves.
import type { HeadOutputs, HeadTensor } from '../candidates.ts';
import { ModelError } from '../errors.ts';
import { formatShape } from '../shapes.ts';

const HINT =
  'the head was read wrongly: run `edge-detect inspect` on the model and name its layout with layout=';

export function tensorOf(outputs: HeadOutputs, name: string): HeadTensor {
  const tensor = outputs.get(name);
  if (tensor !== undefined) return tensor;
  throw new ModelError(
    `the model returned no output '${name}', only ${[...outputs.keys()].map((key) => `'${key}'`).join(', ') || 'none'}`,
    { hint: HINT },
  );
}

/** A float output of exactly `length` elements, given as the shape that the layout promises. */
export function floatsOf(outputs: HeadOutputs, name: string, shape: readonly number[]): Float32Array {
  const tensor = tensorOf(outputs, name);
  if (!(tensor.data instanceof Float32Array)) {
    throw new ModelError(`output '${name}' is not float32, found ${tensor.data.constructor.name}`, {
      hint: HINT,
    });
  }
  const length = shape.reduce((product, axis) => product * axis, 1);
  if (tensor.data.length === length) return tensor.data;
  throw new ModelError(
    `output '${name}' has shape ${formatShape(tensor.shape)}, expected ${formatShape(shape)}`,
    { hint: HINT },
  );
}

/** A class id that a head wrote as a number of its own. */
export function classIdOf(value: number, classCount: number, name: string): number {
  const classId = Math.round(value);
  if (classId >= 0 && classId < classCount) return classId;
  throw new ModelError(
    `output '${name}' names class ${value}, but the model has ${classCount} classes (0..${classCount - 1})`,
    { hint: 'give the full list of class names with names=, or name the layout with layout=' },
  );
}
