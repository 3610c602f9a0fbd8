// Weights in files beside the model: which there are, and whether their places are allowed.
import { ModelError } from '#core';
import type { AttributeProto, GraphProto, ModelProto, TensorProto } from './proto/onnx_pb.ts';
import { isExternal } from './tensor.ts';

export interface ExternalFile {
  /** Relative to the model's folder, with forward slashes. */
  readonly location: string;
  /** The file must be at least this long, in bytes. */
  readonly neededBytes: number;
}

/**
 * The files that hold tensors of the model, each once.
 * @throws ModelError when a location is empty, absolute or leaves the model's folder
 */
export function externalFiles(model: ModelProto): readonly ExternalFile[] {
  const needed = new Map<string, number>();
  for (const tensor of allTensors(model)) {
    if (!isExternal(tensor)) continue;
    const fields = new Map(tensor.externalData.map(({ key, value }) => [key, value]));
    const location = insideFolder(tensor.name, fields.get('location') ?? '');
    const end = Number(fields.get('offset') ?? 0) + Number(fields.get('length') ?? 0);
    needed.set(location, Math.max(needed.get(location) ?? 0, end));
  }
  return Array.from(needed, ([location, neededBytes]) => ({ location, neededBytes }));
}

function insideFolder(tensorName: string, location: string): string {
  const parts = location.split(/[/\\]/);
  const absolute = /^([/\\]|[A-Za-z]:)/.test(location);
  if (location === '' || absolute || parts.includes('..')) {
    throw new ModelError(
      `tensor ${tensorName} wants its values from '${location}', which is not inside the model's folder`,
      {
        hint: 'put the weights beside the model and name them by a relative path, or export the model as one file',
      },
    );
  }
  return parts.filter((part) => part !== '.' && part !== '').join('/');
}

function* allTensors(model: ModelProto): Generator<TensorProto> {
  if (model.graph) yield* tensorsOfGraph(model.graph);
  for (const training of model.trainingInfo) {
    if (training.initialization) yield* tensorsOfGraph(training.initialization);
    if (training.algorithm) yield* tensorsOfGraph(training.algorithm);
  }
  for (const { node } of model.functions) {
    for (const { attribute } of node) yield* tensorsOfAttributes(attribute);
  }
}

function* tensorsOfGraph(graph: GraphProto): Generator<TensorProto> {
  yield* graph.initializer;
  for (const sparse of graph.sparseInitializer) {
    if (sparse.values) yield sparse.values;
    if (sparse.indices) yield sparse.indices;
  }
  for (const { attribute } of graph.node) yield* tensorsOfAttributes(attribute);
}

function* tensorsOfAttributes(attributes: readonly AttributeProto[]): Generator<TensorProto> {
  for (const { t, tensors, g, graphs } of attributes) {
    if (t) yield t;
    yield* tensors;
    for (const graph of g ? [g, ...graphs] : graphs) yield* tensorsOfGraph(graph);
  }
}
