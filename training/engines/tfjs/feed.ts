// Arrays of the caller as tensors: copies, because the caller may write to its arrays between the passes.
import type { TrainablePart } from '#onnx';
import type { ForwardOptions, ParameterValues, Tensors } from '../engine.ts';
import type { Feed, Program } from './program.ts';
import type { Tensorflow } from './tensorflow.ts';
import type { Value } from './value.ts';
import { channelsLastTensor, channelsLastValue, plainValue } from './value.ts';

interface Given {
  readonly inputs: Tensors;
  readonly parameters: ParameterValues;
  readonly mode: ForwardOptions['mode'];
}

/** Inputs with their channels last, parameters, and in mode `evaluate` the running statistics. */
export function feedOf(
  tf: Tensorflow,
  part: TrainablePart,
  { inputs, parameters, mode }: Given,
): { batch: number; feed: Feed } {
  const batch = batchOf(inputs, part);
  const fields = [...valueFields(part, mode)].map(({ name, shape }) => ({
    name,
    shape,
    data: expectValues(parameters.get(name), name, shape),
  }));
  const feed = new Map<string, Value>();
  for (const { name, shape } of part.inputs) {
    const data = expectValues(inputs.get(name)?.data, name, [batch, ...shape]);
    const tensor = tf.tidy(() => {
      const plain = plainValue(tf.tensor(data.slice(), [batch, ...shape], 'float32'));
      return channelsLastTensor(tf, plain);
    });
    feed.set(name, channelsLastValue(tensor));
  }
  for (const { name, shape, data } of fields) {
    feed.set(name, plainValue(tf.tensor(data.slice(), [...shape], 'float32')));
  }
  return { batch, feed };
}

/** Gradients of the outputs; what is not given counts as zero. */
export function gradientsOf(
  tf: Tensorflow,
  part: TrainablePart,
  { graph }: Program,
  outputGradients: Tensors,
): Feed {
  return new Map(
    part.outputs.map(({ name }) => {
      const shape = [...(graph.shapes.get(name) ?? [])];
      const given = outputGradients.get(name);
      const tensor =
        given === undefined
          ? tf.zeros(shape)
          : tf.tensor(expectValues(given.data, name, shape).slice(), shape, 'float32');
      return [name, plainValue(tensor)];
    }),
  );
}

export function releaseFeed(feed: Feed): void {
  for (const { tensor } of feed.values()) tensor.dispose();
}

function valueFields({ parameters, normalizations, model }: TrainablePart, mode: ForwardOptions['mode']) {
  if (mode === 'train') return parameters;
  const running = new Set(normalizations.flatMap(({ mean, variance }) => [mean, variance]));
  const statistics = (model.graph?.initializer ?? [])
    .filter(({ name }) => running.has(name))
    .map(({ name, dims }) => ({ name, shape: dims.map(Number) }));
  return [...parameters, ...statistics];
}

function expectValues(
  values: Float32Array<ArrayBuffer> | undefined,
  name: string,
  shape: readonly number[],
): Float32Array<ArrayBuffer> {
  if (values === undefined) throw new Error(`no values were given for ${name}`);
  const length = shape.reduce((count, size) => count * size, 1);
  if (values.length !== length) {
    throw new Error(`${name} has ${values.length} values, expected [${shape.join(', ')}]`);
  }
  return values;
}

function batchOf(inputs: Tensors, part: TrainablePart): number {
  let batch: number | undefined;
  for (const { name, shape } of part.inputs) {
    const given = inputs.get(name)?.shape ?? [];
    const expected = [batch ?? given[0], ...shape];
    if (given.length !== expected.length || expected.some((size, axis) => size !== given[axis])) {
      throw new Error(
        `input ${name} of the trainable part is [${batch ?? 'N'}, ${shape.join(', ')}], found [${given.join(', ') || 'nothing'}]`,
      );
    }
    batch ??= given[0];
  }
  return batch ?? 0;
}
