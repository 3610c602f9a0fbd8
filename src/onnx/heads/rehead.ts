// Puts our head on a detector that was trained before: cuts it at the freeze boundary, keeps its box layer, and builds
// what is trained.
import type { PreprocessContract, Size } from '#core';
import { ModelError } from '#core';
import { ownFormat } from '../head-finder/own-format.ts';
import { readMetadata } from '../metadata.ts';
import type { ModelProto } from '../proto/onnx_pb.ts';
import { pictureInput, withStaticInput } from '../shapes.ts';
import type { HostHead } from './host-head.ts';
import { findHostHead } from './host-head.ts';
import { openOwnHead } from './own-head.ts';
import { putHead } from './put-head.ts';
import type { FreezeLevel, HeadedModel, HeadSpec } from './types.ts';
import { upgradeOpset } from './upgrade-opset.ts';

export interface ReheadOptions {
  readonly classNames: readonly string[];
  readonly preprocess: PreprocessContract;
  /** Input size where the host leaves it free; another size than a fixed one is refused. Default 640x640. */
  readonly imageSize?: Size;
  /** Bins of the quality's law, 2 or more. Default 10, or what a model of ours has. */
  readonly bins?: number;
  /** Channels of the adapter, 0 for a linear head. Default 96, or what a model of ours has. */
  readonly adapter?: number;
  /** Probability of dropping a channel in training, in [0, 1). Default 0, or what a model of ours has. */
  readonly dropout?: number;
  /** Default `towers`. */
  readonly freeze?: FreezeLevel;
  /** Default softmax, or what a model of ours has. */
  readonly classLaw?: HeadSpec['classLaw'];
  /** Of the first weights. Default 0. */
  readonly seed?: number;
  /** Where the host comes from; its licence is read from its metadata. */
  readonly host?: { readonly name: string; readonly sha256: string };
}

const DEFAULTS = { bins: 10, adapter: 96, dropout: 0, classLaw: 'softmax' as const };
const DEFAULT_SIDE = 640;

/**
 * @param host float32 (see `dequantise` and `toFloat32`), of opset 11 or later
 * @throws ModelError where the head is not known, the size does not fit, or the part that should train holds an operator
 * without gradient, naming it and the nearest freeze level that works; ConfigError for choices out of range
 */
export function reheadHost(host: ModelProto, options: ReheadOptions): HeadedModel {
  const { model, picture, input } = prepareHost(host, options.imageSize);
  const metadata = readMetadata(host);
  const format = ownFormat(metadata);
  if (format?.quality !== undefined) throw exported(format.quality);
  const own = format?.head;
  const head = own
    ? openOwnHead(model, picture, own, { input, classNames: options.classNames })
    : findHostHead(model, picture, input);
  const opset = opsetOf(model);
  return putHead({
    detector: { model, picture, head, opset },
    spec: specOf(options, head, input),
    freeze: options.freeze ?? 'towers',
    seed: options.seed ?? 0,
    ...(options.host ? { host: provenance(options.host, head.family, metadata.license) } : {}),
  });
}

function exported(form: string): ModelError {
  return new ModelError(
    `the quality of this model is ${form}, which was made for export: its law over bins is gone`,
    {
      hint: 'train from the model that it was exported from (best.onnx), and export again',
    },
  );
}

function provenance(host: { name: string; sha256: string }, family: string, license: string | undefined) {
  return { ...host, family, ...(license ? { license } : {}) };
}

/** Everything at one opset, every axis of the picture a number, and only what leads from the picture to the outputs. */
function prepareHost(host: ModelProto, asked: Size | undefined) {
  const found = pictureInput(host);
  if (found.dtype !== 'float32' || found.order !== 'nchw' || found.channels !== 3) {
    throw new ModelError(
      `the picture input ${found.name} is ${found.dtype} in the order ${found.order} with ${found.channels} channels; training needs float32 [N, 3, H, W]`,
      {
        hint: 'export the model with a float32 input, channels first (half precision: convert it to float32)',
      },
    );
  }
  const { width = asked?.width ?? DEFAULT_SIDE, height = asked?.height ?? DEFAULT_SIDE } = found;
  const input = { width, height };
  if (asked && (asked.width !== width || asked.height !== height)) {
    throw new ModelError(
      `the host is exported for ${width}x${height} px; ${asked.width}x${asked.height} was asked for`,
      { hint: `leave imgsz away, or export the host with imgsz=${asked.height},${asked.width}` },
    );
  }
  const model = withStaticInput(upgradeOpset(host), { batch: found.batch ?? 1, ...input });
  return { model, picture: found.name, input };
}

function opsetOf({ opsetImport }: ModelProto): number {
  return Number(opsetImport.find(({ domain }) => domain === '' || domain === 'ai.onnx')?.version ?? 0n);
}

function specOf(options: ReheadOptions, { learnt, boxCode, locations }: HostHead, input: Size) {
  const { classNames, preprocess } = options;
  const defaults = learnt ?? DEFAULTS;
  return {
    input,
    classNames,
    preprocess,
    boxCode,
    locations,
    bins: options.bins ?? defaults.bins,
    adapter: options.adapter ?? defaults.adapter,
    dropout: options.dropout ?? defaults.dropout,
    classLaw: options.classLaw ?? defaults.classLaw,
  };
}
