// A trained detector as one ONNX file: frozen part, trained part with its values, and the tail that decodes.
import { ModelError } from '#core';
import { graph, model as makeModel, OWN_IR_VERSION, OWN_OPSET, tensor, valueInfo } from '../builder.ts';
import { copyMessage, graphOf } from '../graph.ts';
import { OWN_FORMAT_VERSION } from '../head-finder/own-format.ts';
import type { StoredLogitRanges } from '../logit-ranges.ts';
import { formatNames } from '../metadata.ts';
import type { GraphProto, ModelProto, TensorProto } from '../proto/onnx_pb.ts';
import { ElementType } from '../tensor.ts';
import { decodeTail } from './decode-tail.ts';
import { foldNormalization } from './fold-normalization.ts';
import type { HeadedModel, PartValues } from './types.ts';

export interface AssembleOptions {
  /**
   * MC dropout (Gal and Ghahramani, 2016): T passes of the prediction layers under fixed masks. `masks[level]` is
   * float32[T · channels] of factors (0, or 1 / (1 − dropout)).
   */
  readonly monteCarlo?: { readonly passes: number; readonly masks: readonly Float32Array[] };
  /** Whether the law of the quality is written out beside its moments. Default true. */
  readonly qualityBins?: boolean;
  /** Ranges of the class logits in training, for the metadata. */
  readonly logitRanges?: StoredLogitRanges;
  /** Written as `training` into the metadata: settings, data set, figures. Must be JSON. */
  readonly training?: unknown;
}

/**
 * @param values of all parameters and running statistics of the trainable part; a missing one keeps its first value
 * @returns a model in the wire format `edge-detect`: static, batch 1, IR 8
 * @throws ModelError where a value has the wrong size, or masks are asked for that the head has no place for
 */
export function assembleDetector(
  headed: HeadedModel,
  values: PartValues,
  options: AssembleOptions = {},
): ModelProto {
  const { spec, trainable, frozen, pictureInput } = headed;
  const { monteCarlo, qualityBins = true } = options;
  const trained = foldNormalization(
    withMasks(headed, withValues(graphOf(trainable.model), values), monteCarlo),
  );
  const frozenGraph = frozen ? graphOf(frozen) : undefined;
  const tail = decodeTail(spec, { passes: monteCarlo?.passes ?? 1, qualityBins });
  const { width, height } = spec.input;
  return makeModel(
    graph({
      name: 'edge_detect',
      nodes: [...(frozenGraph?.node ?? []), ...trained.nodes, ...tail.nodes],
      inputs: [valueInfo(pictureInput, ElementType.FLOAT, [1, 3, height, width])],
      outputs: tail.outputs.map(({ name, shape }) => valueInfo(name, ElementType.FLOAT, shape)),
      initializers: distinct([
        ...(frozenGraph?.initializer ?? []),
        ...trained.initializers,
        ...tail.initializers,
      ]),
    }),
    {
      opset: Math.max(OWN_OPSET, headed.opset),
      irVersion: OWN_IR_VERSION,
      metadata: metadataOf(headed, options),
    },
  );
}

type Parts = Pick<GraphProto, 'node' | 'initializer'>;

function withValues({ node, initializer }: Parts, values: PartValues): Parts {
  const filled = initializer.map((constant) => {
    const given = values.get(constant.name);
    return given ? tensor(constant.name, constant.dims.map(Number), Float32Array.from(given)) : constant;
  });
  return { node, initializer: filled };
}

/** Masks are inputs in training; here they are constants of T rows, or gone. */
function withMasks(
  { trainable }: HeadedModel,
  { node, initializer }: Parts,
  monteCarlo: AssembleOptions['monteCarlo'],
): Parts {
  const masks = trainable.inputs.filter(({ kind }) => kind === 'mask');
  if (!monteCarlo) return { node: withoutMasks(node, new Set(masks.map(({ name }) => name))), initializer };
  const { passes } = monteCarlo;
  if (masks.length === 0 || masks.length !== monteCarlo.masks.length || passes < 2) {
    throw new ModelError(
      `MC dropout of ${passes} passes with masks for ${monteCarlo.masks.length} levels does not fit a head with ${masks.length} places for masks`,
      { hint: 'train with dropout above 0, and give one set of masks per level and 2 passes or more' },
    );
  }
  const constants = masks.map(({ name, shape }, level) =>
    tensor(name, [passes, ...shape], Float32Array.from(monteCarlo.masks[level] ?? [])),
  );
  return { node, initializer: [...initializer, ...constants] };
}

function withoutMasks(nodes: GraphProto['node'], masks: ReadonlySet<string>): GraphProto['node'] {
  const renamed = new Map<string, string>();
  return nodes.flatMap((made) => {
    const mask = made.opType === 'Mul' ? made.input.find((name) => masks.has(name)) : undefined;
    if (mask !== undefined) {
      renamed.set(made.output[0] ?? '', made.input.find((name) => name !== mask) ?? '');
      return [];
    }
    if (!made.input.some((name) => renamed.has(name))) return [made];
    return [copyMessage(made, { input: made.input.map((name) => renamed.get(name) ?? name) })];
  });
}

/** Constants that both parts read are written once. */
function distinct(initializers: readonly TensorProto[]): readonly TensorProto[] {
  return [...new Map(initializers.map((constant) => [constant.name, constant])).values()];
}

function metadataOf(
  { spec, cuts, host, freeze }: HeadedModel,
  { training, logitRanges }: AssembleOptions,
): Record<string, string> {
  const { classNames, preprocess, ...head } = spec;
  const own = {
    version: OWN_FORMAT_VERSION,
    classes: classNames,
    preprocess,
    head,
    cuts,
    freeze,
    ...(host ? { host } : {}),
    ...(logitRanges ? { logitRanges } : {}),
    ...(training === undefined ? {} : { training }),
  };
  return {
    edge_detect: JSON.stringify(own),
    names: formatNames(classNames),
    stride: String(Math.max(...spec.levels.map(({ stride }) => stride))),
    task: 'detect',
    ...(host?.license ? { license: host.license } : {}),
  };
}
