// The frozen class layer of a model before its adaptation, beside the adapted one: what both share is computed once, and
// what the adaptation changed is copied.
import { toBinary } from '@bufbuild/protobuf';
import { ModelError } from '#core';
import type { GraphView } from '../graph.ts';
import { copyMessage, viewGraph } from '../graph.ts';
import { ownFormat } from '../head-finder/own-format.ts';
import { featureShapes } from '../heads/feature-shapes.ts';
import { rowsOf, type TailBuilder } from '../heads/tail-builder.ts';
import type { HeadSpec } from '../heads/types.ts';
import { readMetadata } from '../metadata.ts';
import type { ModelProto, NodeProto, TensorProto } from '../proto/onnx_pb.ts';
import { AttributeProtoSchema } from '../proto/onnx_pb.ts';
import { subgraph } from '../subgraph.ts';
import { elementCount, tensorValues } from '../tensor.ts';
import { FreeNames } from './prune.ts';

export interface GraftedReference {
  /** Rows of the reference, `[1, A, C]`. */
  readonly logits: string;
  readonly nodes: readonly NodeProto[];
  readonly initializers: readonly TensorProto[];
  /** Of the copies. */
  readonly parameters: number;
  readonly multiplyAdds: number;
}

/**
 * @param spec of the adapted model
 * @throws ModelError where the adapted model does not come from this one, or their classes or grids differ
 */
export function graftReference(
  model: ModelProto,
  spec: HeadSpec,
  { before, sha256 }: { readonly before: ModelProto; readonly sha256: string },
  tail: TailBuilder,
): GraftedReference {
  const old = expectBefore(model, spec, { before, sha256 });
  const picture = viewGraph(before).graph.input[0]?.name ?? '';
  const maps = old.levels.map(({ classes = '' }) => classes);
  const entry = { name: picture, shape: [1, 3, spec.input.height, spec.input.width] };
  const part = subgraph(before, { inputs: [entry], outputs: maps.map((name) => ({ name })) });
  const { names, nodes, initializers } = unshared(viewGraph(model), viewGraph(part));
  const shapes = featureShapes(before, { name: picture, ...spec.input }, maps);
  const logits = rowsOf(
    tail,
    { ...spec, levels: old.levels },
    { name: 'reference', channels: spec.classNames.length, passes: 1 },
    ({ classes = '' }) => names.get(classes) ?? classes,
  );
  return {
    logits,
    nodes: nodes.map(({ copy }) => copy),
    initializers,
    parameters: initializers.reduce((sum, constant) => sum + elementCount(constant), 0),
    multiplyAdds: nodes.reduce((sum, { from }) => sum + convolutionWork(from, shapes), 0),
  };
}

/** The nodes of `part` that the model does not compute, renamed, with the names that all of its tensors have now. */
function unshared(model: GraphView, part: GraphView) {
  const free = new FreeNames(model.graph);
  const names = new Map<string, string>(part.graph.input.map(({ name }) => [name, name]));
  const initializers: TensorProto[] = [];
  const nodes: { readonly from: NodeProto; readonly copy: NodeProto }[] = [];
  for (const constant of part.graph.initializer) {
    if (sameConstant(constant, model.constant(constant.name))) names.set(constant.name, constant.name);
  }
  const copied = (name: string): string => {
    const known = names.get(name);
    if (known !== undefined) return known;
    const constant = part.constant(name);
    const fresh = name === '' ? '' : free.take(`sals.${name}`);
    names.set(name, fresh);
    if (constant) initializers.push(copyMessage(constant, { name: fresh }));
    return fresh;
  };
  for (const from of part.graph.node) {
    const mask = maskOf(from, part);
    if (mask !== undefined) {
      // A fixed mask of MC dropout: the reference is what the layer says without dropout.
      const kept = from.input.find((name) => name !== mask) ?? '';
      names.set(from.output[0] ?? '', names.get(kept) ?? kept);
      continue;
    }
    const twin = model.producer(from.output[0] ?? '');
    if (twin && sameNode(from, twin, names)) {
      for (const name of from.output) names.set(name, name);
      continue;
    }
    const input = from.input.map(copied);
    const output = from.output.map(copied);
    nodes.push({ from, copy: copyMessage(from, { name: `sals.${from.name}`, input, output }) });
  }
  return { names, nodes, initializers };
}

function maskOf({ opType, input }: NodeProto, part: GraphView): string | undefined {
  if (opType !== 'Mul') return undefined;
  return input.find((name) => /^mask\.\d+$/.test(name) && part.constant(name) !== undefined);
}

function sameNode(node: NodeProto, twin: NodeProto, names: ReadonlyMap<string, string>): boolean {
  return (
    node.opType === twin.opType &&
    node.domain === twin.domain &&
    node.input.length === twin.input.length &&
    node.input.every((name, place) => (name === '' ? '' : names.get(name)) === twin.input[place]) &&
    node.output.every((name, place) => name === twin.output[place]) &&
    attributesOf(node) === attributesOf(twin)
  );
}

function attributesOf({ attribute }: NodeProto): string {
  return attribute
    .map((one) => Buffer.from(toBinary(AttributeProtoSchema, one)).toString('base64'))
    .sort()
    .join();
}

function sameConstant(constant: TensorProto, other: TensorProto | undefined): boolean {
  if (other?.dataType !== constant.dataType || String(other.dims) !== String(constant.dims)) return false;
  const [one, two] = [tensorValues(constant), tensorValues(other)];
  return one.every((value: number | bigint, place: number) => Object.is(value, two[place]));
}

/** Multiply-adds of a convolution of one picture: every weight meets every place of the map that it makes. */
function convolutionWork(
  { opType, input, output }: NodeProto,
  shapes: ReadonlyMap<string, readonly number[]>,
): number {
  if (opType !== 'Conv') return 0;
  const count = (name: string | undefined) =>
    (shapes.get(name ?? '') ?? []).reduce((product, axis) => product * axis, 1);
  const [, , rows = 1, columns = 1] = shapes.get(output[0] ?? '') ?? [];
  return count(input[1]) * rows * columns;
}

function expectBefore(
  model: ModelProto,
  spec: HeadSpec,
  { before, sha256 }: { readonly before: ModelProto; readonly sha256: string },
): HeadSpec {
  const old = ownFormat(readMetadata(before))?.head?.spec;
  const { host } = JSON.parse(readMetadata(model).edgeDetect ?? '{}') as { host?: { sha256?: string } };
  if (old === undefined || host?.sha256 !== sha256) {
    throw new ModelError(
      old === undefined
        ? 'the model before adaptation has no head of ours: it has no class layer that could be a reference'
        : `the model was not adapted from this one: it comes from ${host?.sha256 ?? 'no file'}, this is ${sha256}`,
      { hint: 'name the model= that the training run was started from' },
    );
  }
  const [was, is] = [old.classNames, spec.classNames];
  if (was.length !== is.length || was.some((name, id) => name !== is[id])) {
    throw new ModelError(
      `sals has no reference: the classes were ${was.join(', ')} before, and are ${is.join(', ')}`,
      {
        hint: 'other classes have no class layer to be held to: use stored ranges (ceilings), if there are any',
      },
    );
  }
  if (old.classLaw !== spec.classLaw || JSON.stringify(gridOf(old)) !== JSON.stringify(gridOf(spec))) {
    throw new ModelError('the model before adaptation has another grid or another law of classes', {
      hint: 'name the model= that the training run was started from',
    });
  }
  return old;
}

function gridOf({ input, levels, locations }: HeadSpec) {
  return [input.width, input.height, locations, levels.map(({ rows, columns }) => [rows, columns])];
}
