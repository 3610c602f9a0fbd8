// args.yaml: every option of a run under the name that the command line knows, so that the run can be typed again.
import { presetCriterion, type TrainOptions } from '../options.ts';

export function toArguments(options: TrainOptions): Record<string, unknown> {
  const { loop, augment, imageSize } = options;
  const weights = { ...presetCriterion(options.preset).weights, ...options.weights };
  const { cutout, dusk_strength, ...photometric } = augment;
  return {
    model: options.model,
    data: options.data,
    epochs: loop.epochs,
    batch: options.batch,
    ...(imageSize && { imgsz: [imageSize.height, imageSize.width] }),
    ...(options.preset && { preset: options.preset }),
    patience: loop.patience,
    seed: loop.seed,
    optimizer: loop.optimizer.name === 'sgd' ? 'SGD' : 'AdamW',
    lr0: loop.schedule.lr0,
    lrf: loop.schedule.lrf,
    momentum: loop.optimizer.momentum,
    weight_decay: loop.optimizer.weightDecay,
    warmup_epochs: loop.schedule.warmupEpochs,
    box: weights.box,
    cls: weights.classification,
    dfl: weights.boxDfl,
    quality: weights.quality,
    ...photometric,
    erasing: cutout,
    single_cls: options.singleClass,
    freeze: options.freeze,
    freeze_box: options.freezeBox,
    bins: options.bins,
    adapter: options.adapter,
    dropout: options.dropout,
    mc_passes: options.monteCarloPasses,
    class_law: options.classLaw,
    class_loss: options.classLoss,
    gamma: options.gamma,
    beta: options.beta,
    logit_range: options.logitRange,
    cache: options.cache,
    cache_gb: options.cacheBytes / 1e9,
    variants: options.variants,
  };
}
