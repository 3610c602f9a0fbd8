// A network of our own with random weights, as options ask for it.
import type { HeadedModel } from '#onnx';
import { buildDetector } from '#onnx';
import type { TrainOptions } from './options.ts';

const DEFAULT_INPUT = { width: 640, height: 640 };

/** @throws ConfigError where the input size cannot be built */
export function buildScratch(options: TrainOptions, classNames: readonly string[]): HeadedModel {
  return buildDetector({
    size: options.model === 'edge-s' ? 's' : 'n',
    input: options.imageSize ?? DEFAULT_INPUT,
    classNames,
    bins: options.bins,
    dropout: options.dropout,
    classLaw: options.classLaw,
    seed: options.loop.seed,
  });
}
