// Keeps the best anchors inside the graph, so that a device hands over hundreds of rows and not thousands.
import { ConfigError, ModelError } from '#core';
import {
  type Axis,
  elementTypeOf,
  graphOf,
  type ModelProto,
  opsetVersion,
  shapeOf,
  type ValueInfoProto,
  valueInfo,
  withGraph,
} from '#onnx';
import { GraphWriter } from './graph-writer.ts';
import { freeTensorNames } from './rename-tensors.ts';

/** Since then TopK has its count as an input and orders as asked. */
const LEAST_OPSET = 11;
/** Since then GatherND knows a batch. */
const LEAST_OPSET_OF_BATCHES = 12;
/** From here on ReduceMax has its axes as an input. */
const AXES_AS_INPUT = 18;

/**
 * The `count` anchors with the highest score of any class, best first (ties: the lower anchor first), of every output
 * `[N, A, …]`: `scores` of a decoded model, or `class_probs` · E[quality] of our own heads. Names and all other axes
 * stay. A model that has no more anchors than that stays as it is.
 * @throws ConfigError for a count below 1; ModelError where the outputs are not of our wire formats, their number of
 * anchors is not stated, or the opset is below 11 (12 where the batch is not 1)
 */
export function keepTopAnchors(model: ModelProto, { count }: { readonly count: number }): ModelProto {
  if (!Number.isInteger(count) || count < 1) {
    throw new ConfigError(`the number of anchors to keep is ${count}`, {
      hint: 'expected a whole number, 1 or more',
    });
  }
  const outputs = graphOf(model).output;
  const { anchors, batch } = commonAxes(outputs);
  if (count >= anchors) return model;
  expectOpset(model, batch);
  const { model: freed, nameOf } = freeTensorNames(
    model,
    outputs.map(({ name }) => name),
  );
  const writer = new GraphWriter(freed, 'top.');
  const best = bestScores(writer, outputs, nameOf, opsetVersion(model));
  const places = topPlaces(writer, best, count);
  const pick = batch === 1 ? pickShared(writer, places) : pickPerPicture(writer, places);
  for (const { name } of outputs) writer.name(pick(nameOf(name)), name);
  const graph = graphOf(freed);
  return withGraph(freed, {
    node: [...graph.node, ...writer.nodes],
    initializer: [...graph.initializer, ...writer.initializers],
    output: outputs.map((info) => withAnchors(info, count)),
  });
}

function commonAxes(outputs: readonly ValueInfoProto[]): { readonly anchors: number; readonly batch: Axis } {
  const [first] = outputs;
  const [batch = null, anchors] = shapeOf(first) ?? [];
  for (const info of outputs) {
    const shape = shapeOf(info);
    if (shape?.length === 3 && typeof anchors === 'number' && shape[1] === anchors) continue;
    throw new ModelError(
      `output ${info.name} of shape [${(shape ?? ['?']).join(', ')}] is not one row for each of ${anchors ?? '?'} anchors`,
      { hint: 'decode in the graph and fix its sizes before the best anchors are kept' },
    );
  }
  if (typeof anchors !== 'number')
    throw new ModelError('the model has no outputs', { hint: 'export it again' });
  return { anchors, batch };
}

function expectOpset(model: ModelProto, batch: Axis): void {
  const least = batch === 1 ? LEAST_OPSET : LEAST_OPSET_OF_BATCHES;
  const found = opsetVersion(model);
  if (found >= least) return;
  throw new ModelError(
    `keeping the best anchors needs opset ${least} at a batch of ${batch ?? 'any'}, the model has ${found}`,
    { hint: 'export the model again with opset=17, or leave the number of anchors away' },
  );
}

/** `[N, A, 1]` */
function bestScores(
  writer: GraphWriter,
  outputs: readonly ValueInfoProto[],
  nameOf: (name: string) => string,
  opset: number,
): string {
  const has = (name: string) => outputs.some((output) => output.name === name);
  const greatest = (name: string) =>
    opset >= AXES_AS_INPUT
      ? writer.add('ReduceMax', [nameOf(name), writer.ints('class_axis', [2])], 'best_class', {
          keepdims: 1n,
        })
      : writer.add('ReduceMax', [nameOf(name)], 'best_class', { axes: [2n], keepdims: 1n });
  if (has('scores')) return greatest('scores');
  if (has('quality')) {
    const quality = writer.slice(nameOf('quality'), 'quality', 2, [0, 1]);
    return has('class_probs') ? writer.add('Mul', [greatest('class_probs'), quality], 'best_score') : quality;
  }
  throw new ModelError(
    `no output says how good an anchor is: ${outputs.map(({ name }) => name).join(', ')}`,
    { hint: 'expected scores, or quality; decode in the graph before the best anchors are kept' },
  );
}

/** `[N, K, 1]` places along the axis of the anchors. K is an initializer, as TensorRT 8.5 wants it. */
function topPlaces(writer: GraphWriter, best: string, count: number): string {
  const attributes = { axis: 1n, largest: 1n, sorted: 1n };
  return (
    writer.addMany('TopK', [best, writer.ints('count', [count])], ['values', 'places'], attributes)[1] ?? ''
  );
}

function pickShared(writer: GraphWriter, places: string): (name: string) => string {
  const list = writer.reshape(places, 'list', [-1]);
  return (name) => writer.add('Gather', [name, list], `picked_${name}`, { axis: 1n });
}

/** Every picture of a batch has its own places. */
function pickPerPicture(writer: GraphWriter, places: string): (name: string) => string {
  return (name) => writer.add('GatherND', [name, places], `picked_${name}`, { batch_dims: 1n });
}

function withAnchors(info: ValueInfoProto, count: number): ValueInfoProto {
  const [batch = null, , columns = null] = shapeOf(info) ?? [];
  return valueInfo(info.name, elementTypeOf(info) ?? 0, [batch, count, columns]);
}
