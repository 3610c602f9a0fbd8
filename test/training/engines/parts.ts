// Trainable parts of a few nodes, and the loss Σ r·output whose gradient a test can compare.
import type { NodeProto, TensorProto, TrainablePart } from '#onnx';
import { ElementType, floats, graph, inferShapes, model, valueInfo } from '#onnx';
import { createRandom } from '../../../src/core/random.ts';
import type { ParameterValues, Tensors } from '../../../training/engines/engine.ts';
import { runReference, type Values } from '../../support/reference-graph.ts';

export interface PartSpec {
  readonly nodes: readonly NodeProto[];
  /** Shapes without the axis N. */
  readonly inputs?: Readonly<Record<string, readonly number[]>>;
  readonly parameters: Readonly<Record<string, readonly number[]>>;
  readonly constants?: readonly TensorProto[];
  readonly outputs?: readonly string[];
  /** [mean, variance] of each normalisation that uses the batch. */
  readonly normalizations?: readonly (readonly [string, string])[];
  readonly opset?: number;
}

/** Values of a parameter: away from kinks, positive where a name says so. */
function initial(name: string, shape: readonly number[]): Float32Array<ArrayBuffer> {
  const random = createRandom([...name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7));
  const count = shape.reduce((product, size) => product * size, 1);
  return Float32Array.from(
    { length: count },
    () => random.normal() * 0.5 + (name.startsWith('gamma') ? 1.5 : 0),
  );
}

export function makePart(spec: PartSpec, batch: number) {
  const { nodes, inputs = { x: [3, 5, 4] }, parameters, constants = [], outputs = ['y'] } = spec;
  const { normalizations = [], opset = 17 } = spec;
  const info = (name: string, shape?: readonly (number | string)[]) =>
    valueInfo(name, ElementType.FLOAT, shape);
  const initializers = Object.entries(parameters).map(([name, shape]) =>
    floats(name, shape, initial(name, shape)),
  );
  const bare = model(
    graph({
      nodes,
      inputs: Object.entries(inputs).map(([name, shape]) => info(name, ['N', ...shape])),
      outputs: outputs.map((name) => info(name)),
      initializers: [...initializers, ...constants],
    }),
    { opset },
  );
  const shapes = inferShapes(
    bare,
    new Map(Object.entries(inputs).map(([name, shape]) => [name, [batch, ...shape]])),
  );
  const part: TrainablePart = {
    model: bare,
    inputs: Object.entries(inputs).map(([name, shape]) => ({ name, shape, kind: 'features' as const })),
    outputs: outputs.map((name) => ({ name, shape: shapes.get(name)!.slice(1) })),
    parameters: Object.entries(parameters).map(([name, shape]) => ({ name, shape, role: 'weight' as const })),
    normalizations: normalizations.map(([mean, variance]) => ({ mean, variance })),
  };
  const values: ParameterValues = new Map(
    Object.entries(parameters).map(([name, shape]) => [name, initial(name, shape)]),
  );
  return { part, values };
}

export function makeTensors(
  specs: readonly { readonly name: string; readonly shape: readonly number[] }[],
  batch: number,
  seed: number,
): Tensors {
  const random = createRandom(seed);
  return new Map(
    specs.map(({ name, shape }) => {
      const count = shape.reduce((product, size) => product * size, batch);
      return [
        name,
        { shape: [batch, ...shape], data: Float32Array.from({ length: count }, () => random.normal()) },
      ];
    }),
  );
}

/** d Σ weights·outputs / d parameter, for the named ones, by central differences in float64. */
export function differences(
  part: TrainablePart,
  inputs: Tensors,
  parameters: ParameterValues,
  weights: Tensors,
  names: readonly string[] = part.parameters.map(({ name }) => name),
): Map<string, Float64Array> {
  const batchMeans = new Set(part.normalizations.map(({ mean }) => mean));
  const values = new Map<string, Values>();
  for (const [name, { shape, data }] of inputs) values.set(name, { shape, data: Float64Array.from(data) });
  for (const { name, shape } of part.parameters) {
    values.set(name, { shape, data: Float64Array.from(parameters.get(name)!) });
  }
  const loss = () => {
    const results = runReference(part.model, values, batchMeans);
    let sum = 0;
    for (const [name, weight] of weights) {
      weight.data.forEach((factor, index) => {
        sum += factor * results.get(name)!.data[index]!;
      });
    }
    return sum;
  };
  return new Map(
    names.map((name) => {
      const { data } = values.get(name)!;
      return [
        name,
        data.map((value, index) => {
          const step = 1e-5;
          data[index] = value + step;
          const above = loss();
          data[index] = value - step;
          const below = loss();
          data[index] = value;
          return (above - below) / (2 * step);
        }),
      ];
    }),
  );
}

/** ‖a − b‖ / ‖b‖ */
export function relativeError(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [apart, norm] = [0, 0];
  for (let index = 0; index < b.length; index++) {
    apart += (a[index]! - b[index]!) ** 2;
    norm += b[index]! ** 2;
  }
  return norm === 0 ? Math.sqrt(apart) : Math.sqrt(apart / norm);
}
