// What a training run can be told, and what it does when it is told nothing: one set of defaults for a head on a host,
// another for a network from scratch, and the published recipe for comparison.
import type { Size } from '#core';
import { ConfigError } from '#core';
import type { FreezeLevel, HeadSpec } from '#onnx';
import {
  CRITERION_DEFAULTS,
  type CriterionConfig,
  classLossKind,
  type LossWeights,
  PUBLISHED_CRITERION,
} from './criterion-config.ts';
import type { LoopConfig } from './loop.ts';
import { AUGMENT_DEFAULTS, type AugmentConfig, expectAugmentConfig } from './pictures/augment-config.ts';

/** Sizes of the networks that we build ourselves. */
export const SCRATCH_MODELS = ['edge-n', 'edge-s'] as const;

/** What the user can say; everything that is left out takes its default. */
export interface TrainRequest {
  /** data.yaml, COCO JSON, or the folder of a VOC set. */
  readonly data: string;
  /** ONNX file of the host or of an earlier run, or one of `SCRATCH_MODELS`. */
  readonly model: string;
  readonly imageSize?: Size;
  readonly preset?: 'published';
  readonly epochs?: number;
  readonly batch?: number;
  readonly patience?: number;
  readonly seed?: number;
  readonly optimizer?: 'adamw' | 'sgd';
  readonly lr0?: number;
  readonly lrf?: number;
  readonly momentum?: number;
  readonly weightDecay?: number;
  readonly warmupEpochs?: number;
  readonly weights?: Partial<LossWeights>;
  /** Losses and targets other than those of the options above, for studies. */
  readonly criterion?: Partial<
    Pick<CriterionConfig, 'quality' | 'targets' | 'qualityReduction' | 'classification'>
  >;
  readonly augment?: Partial<AugmentConfig>;
  readonly singleClass?: boolean;
  readonly freeze?: FreezeLevel;
  readonly bins?: number;
  readonly adapter?: number;
  readonly dropout?: number;
  readonly monteCarloPasses?: number;
  readonly freezeBox?: boolean;
  readonly classLaw?: HeadSpec['classLaw'];
  readonly classLoss?: string;
  readonly gamma?: number;
  readonly beta?: number;
  readonly logitRange?: 'off' | 'penalty' | 'zs-norm';
  readonly cache?: 'disk' | 'none';
  readonly cacheBytes?: number;
  readonly variants?: number;
}

/** A request with every value decided. */
export interface TrainOptions {
  readonly data: string;
  readonly model: string;
  readonly imageSize?: Size;
  readonly preset?: 'published';
  readonly batch: number;
  readonly loop: LoopConfig;
  /** What differs from the weights of the preset. */
  readonly weights: Partial<LossWeights>;
  readonly criterion: NonNullable<TrainRequest['criterion']>;
  readonly augment: AugmentConfig;
  readonly singleClass: boolean;
  readonly freeze: FreezeLevel;
  readonly bins: number;
  readonly adapter: number;
  readonly dropout: number;
  readonly monteCarloPasses: number;
  readonly freezeBox: boolean;
  readonly classLaw: HeadSpec['classLaw'];
  readonly classLoss: string;
  readonly gamma: number;
  readonly beta: number;
  readonly logitRange: 'off' | 'penalty' | 'zs-norm';
  readonly cache: 'disk' | 'none';
  readonly cacheBytes: number;
  readonly variants: number;
}

/** A head on cached features sees a fixed set of variants, and mosaics would cost it the host's sense of scale. */
const HOST_DEFAULTS = { epochs: 30, lr0: 0.002, augment: { ...AUGMENT_DEFAULTS, mosaic: 0 } };
const SCRATCH_DEFAULTS = { epochs: 150, lr0: 0.002, augment: { ...AUGMENT_DEFAULTS, mosaic: 0.5 } };

const GIGABYTE = 1e9;

export function isScratch(model: string): model is (typeof SCRATCH_MODELS)[number] {
  return (SCRATCH_MODELS as readonly string[]).includes(model);
}

/** What a run is trained with, before its options change anything. */
export function presetCriterion(preset: TrainOptions['preset']): CriterionConfig {
  return preset === 'published' ? PUBLISHED_CRITERION : CRITERION_DEFAULTS;
}

/**
 * @throws ConfigError for values that exclude each other or lie out of range
 */
export function completeRequest(request: TrainRequest): TrainOptions {
  const scratch = isScratch(request.model);
  const defaults = scratch ? SCRATCH_DEFAULTS : HOST_DEFAULTS;
  const freeze = request.freeze ?? (scratch ? 'none' : 'towers');
  if (scratch && freeze !== 'none') {
    throw new ConfigError(`freeze=${freeze}: a network from scratch has nothing worth freezing`, {
      hint: `leave freeze= away, or name a trained model instead of ${request.model}`,
    });
  }
  const logitRange = request.logitRange ?? 'off';
  if (scratch && logitRange !== 'off') {
    throw new ConfigError(`logit_range=${logitRange}: a network from scratch has no range to keep`, {
      hint: 'adapt a model that this program trained, with the same classes, or leave logit_range= away',
    });
  }
  const monteCarloPasses = request.monteCarloPasses ?? 0;
  const dropout = request.dropout ?? 0;
  if (monteCarloPasses > 0 && dropout === 0) {
    throw new ConfigError(`mc_passes=${monteCarloPasses} needs dropout, and dropout is 0`, {
      hint: 'write dropout=0.1, for example, or leave mc_passes= away',
    });
  }
  const { imageSize, preset } = request;
  const { classification } = presetCriterion(preset);
  const { classLaw = 'softmax', classLoss = classification.kind } = request;
  classLossKind(classLaw, classLoss);
  return {
    data: request.data,
    model: request.model,
    ...(imageSize && { imageSize }),
    ...(preset && { preset }),
    batch: request.batch ?? 8,
    loop: loopConfig(request, defaults),
    weights: request.weights ?? {},
    criterion: request.criterion ?? {},
    augment: expectAugmentConfig({ ...defaults.augment, ...request.augment }),
    singleClass: request.singleClass ?? false,
    freeze,
    bins: request.bins ?? 10,
    adapter: request.adapter ?? 96,
    dropout,
    monteCarloPasses,
    freezeBox: request.freezeBox ?? false,
    classLaw,
    classLoss,
    gamma: request.gamma ?? classification.gamma,
    beta: request.beta ?? classification.beta,
    logitRange,
    cache: request.cache ?? 'disk',
    cacheBytes: request.cacheBytes ?? 8 * GIGABYTE,
    variants: request.variants ?? 4,
  };
}

function loopConfig(
  request: TrainRequest,
  defaults: { readonly epochs: number; readonly lr0: number },
): LoopConfig {
  return {
    epochs: request.epochs ?? defaults.epochs,
    seed: request.seed ?? 0,
    optimizer: {
      name: request.optimizer ?? 'adamw',
      weightDecay: request.weightDecay ?? 0.01,
      momentum: request.momentum ?? 0.9,
      beta2: 0.999,
    },
    schedule: {
      lr0: request.lr0 ?? defaults.lr0,
      lrf: request.lrf ?? 0.01,
      warmupEpochs: request.warmupEpochs ?? 1,
    },
    clip: 10,
    average: { decay: 0.998, tau: 200 },
    patience: request.patience ?? 30,
  };
}
