// What a trainable part starts from: everything that changes during a run, as its file holds it.
import type { TrainablePart } from '#onnx';
import { tensorNumbers } from '#onnx';
import type { ParameterValues } from './engines/engine.ts';

/** First values of parameters and running statistics, by name. */
export function initialValues({ model, parameters, normalizations }: TrainablePart): ParameterValues {
  const wanted = new Set([
    ...parameters.map(({ name }) => name),
    ...normalizations.flatMap(({ mean, variance }) => [mean, variance]),
  ]);
  return new Map(
    (model.graph?.initializer ?? [])
      .filter(({ name }) => wanted.has(name))
      .map((constant) => [constant.name, Float32Array.from(tensorNumbers(constant))]),
  );
}
