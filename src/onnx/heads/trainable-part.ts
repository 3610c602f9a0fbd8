// From the nodes behind the freeze boundary to the graph that an engine differentiates.
import { graph, model as makeModel, OWN_IR_VERSION, tensor, valueInfo } from '../builder.ts';
import type { GraphView } from '../graph.ts';
import { graphOf, viewGraph } from '../graph.ts';
import type { ModelProto, NodeProto, TensorProto } from '../proto/onnx_pb.ts';
import { ElementType, tensorValues } from '../tensor.ts';
import { boxChannels } from './box-channels.ts';
import type { HeadPiece } from './build-head.ts';
import type { FrozenCut } from './freeze.ts';
import type { HeadParameter, HeadSpec, NormalizationStatistics, TrainablePart } from './types.ts';

/**
 * @param cut the detector's own nodes from the boundary to the ends of its towers
 * @param pieces our head, level by level
 */
export function makeTrainablePart(
  { trunk, features }: Pick<FrozenCut, 'trunk' | 'features'>,
  pieces: readonly HeadPiece[],
  spec: HeadSpec,
  opset: number,
): TrainablePart {
  const inner = graphOf(trunk);
  const trainable = trunkParameters(viewGraph(trunk));
  const reshaped = withFreeBatch(trunk);
  const inputs = [
    ...features.map(({ name, shape }) => ({ name, shape, kind: 'features' as const })),
    ...pieces.flatMap(({ mask }) =>
      mask ? [{ name: mask.name, shape: [mask.channels, 1, 1], kind: 'mask' as const }] : [],
    ),
  ];
  const outputs = pieces.flatMap((piece) => outputsOf(piece, spec));
  const info = ({ name, shape }: { name: string; shape: readonly number[] }) =>
    valueInfo(name, ElementType.FLOAT, ['N', ...shape]);
  return {
    model: makeModel(
      graph({
        name: 'trainable',
        nodes: [...inner.node, ...pieces.flatMap(({ nodes }) => nodes)],
        inputs: inputs.map(info),
        outputs: outputs.map(info),
        initializers: [
          ...inner.initializer.map((constant) => reshaped.get(constant.name) ?? constant),
          ...pieces.flatMap(({ initializers }) => initializers),
        ],
      }),
      { opset, irVersion: OWN_IR_VERSION },
    ),
    inputs,
    outputs,
    parameters: [...trainable.parameters, ...pieces.flatMap(({ parameters }) => parameters)],
    normalizations: trainable.normalizations,
  };
}

function outputsOf({ level }: HeadPiece, { boxCode, bins, classNames, locations }: HeadSpec) {
  const map = (name: string, channels: number) => ({
    name,
    shape: [locations * channels, level.rows, level.columns],
  });
  return [
    map(level.quality, bins),
    ...(level.classes === undefined ? [] : [map(level.classes, classNames.length)]),
    map(level.box, boxChannels(boxCode)),
  ];
}

/** Which initializers of a trunk train: those of its convolutions and batch normalisations, each once. */
function trunkParameters(view: GraphView) {
  const parameters = new Map<string, HeadParameter>();
  const normalizations = new Map<string, NormalizationStatistics>();
  const add = (name: string | undefined, role: HeadParameter['role']) => {
    const constant = name ? view.constant(name) : undefined;
    if (!name || !constant || parameters.has(name)) return;
    parameters.set(name, { name, shape: constant.dims.map(Number), role });
  };
  for (const { opType, input } of view.graph.node) {
    if (opType === 'Conv') {
      add(input[1], 'weight');
      add(input[2], 'bias');
    } else if (opType === 'BatchNormalization') {
      add(input[1], 'scale');
      add(input[2], 'shift');
      const [, , , mean = '', variance = ''] = input;
      normalizations.set(mean, { mean, variance });
    }
  }
  return { parameters: [...parameters.values()], normalizations: [...normalizations.values()] };
}

/**
 * Exporters write a batch of one into the shapes that they reshape to; the target copies the first axis of what comes
 * in, so that any batch passes.
 */
function withFreeBatch(trunk: ModelProto): ReadonlyMap<string, TensorProto> {
  const view = viewGraph(trunk);
  const changed = new Map<string, TensorProto>();
  for (const node of view.graph.node) {
    const name = reshapeTarget(node);
    const constant = name === undefined ? undefined : view.constant(name);
    const values = constant && tensorValues(constant);
    if (!constant || name === undefined || !(values instanceof BigInt64Array) || values[0] !== 1n) continue;
    changed.set(name, tensor(name, [values.length], values.with(0, 0n)));
  }
  return changed;
}

function reshapeTarget({ opType, input }: NodeProto): string | undefined {
  return opType === 'Reshape' ? input[1] : undefined;
}
