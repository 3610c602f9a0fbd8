// One training sample: loaded, augmented by its own luck, and written as the network reads it.
import { createInputWriter, createLetterbox, DEFAULT_FIT, type Letterbox, type Random } from '#core';
import type { LabelledPicture } from '#data/datasets';
import { createAugmenter, drawPartners } from './augment.ts';
import { type AugmentConfig, isAugmentOff } from './augment-config.ts';
import { type ContentOptions, createContentStore, loadContent, type PictureContent } from './load-content.ts';
import { placeTargets } from './placement.ts';
import type { PictureTargets } from './types.ts';

export interface SampleDrawer {
  /** @param target float32[3 * H * W], planar, as the contract says */
  drawInto(target: Float32Array, request: SampleRequest): Promise<PictureTargets>;
}

export interface SampleRequest {
  /** Place of the picture in the set. */
  readonly index: number;
  readonly config: AugmentConfig;
  readonly random: Random;
}

export interface PlainSample {
  readonly targets: PictureTargets;
  readonly letterbox: Letterbox;
}

/**
 * @param keepBytes memory for decoded pictures
 */
export function createSampleDrawer(
  pictures: readonly LabelledPicture[],
  options: ContentOptions & { readonly keepBytes: number },
): SampleDrawer {
  const { input, preprocess } = options;
  const store = createContentStore(pictures, options, options.keepBytes);
  const augmenter = createAugmenter({ input, pad: preprocess.pad });
  const writePlain = createPlainWriter(options);
  const writer = createInputWriter(preprocess, { type: 'float32', layout: 'nchw' });
  const wholeCanvas = createLetterbox(input, input, DEFAULT_FIT);
  return {
    async drawInto(target, { index, config, random }) {
      if (isAugmentOff(config)) return writePlain(target, await store.load(index)).targets;
      const partners = drawPartners(random, config, pictures.length);
      const contents = await Promise.all([index, ...partners].map((place) => store.load(place)));
      const { pixels, targets } = augmenter.augment(contents, config, random);
      writer.writeContentInto(target, pixels, wholeCanvas);
      return targets;
    },
  };
}

/** A picture of any set as it is. */
export async function loadPlainInto(
  target: Float32Array,
  picture: LabelledPicture,
  options: ContentOptions,
): Promise<PlainSample> {
  return createPlainWriter(options)(target, await loadContent(picture, options));
}

function createPlainWriter({ input, preprocess }: ContentOptions) {
  const writer = createInputWriter(preprocess, { type: 'float32', layout: 'nchw' });
  return (target: Float32Array, { rgb, letterbox, targets }: PictureContent): PlainSample => {
    const { padLeft, padTop } = letterbox;
    writer.fillPaddingInto(target, input);
    writer.writeContentInto(target, rgb, letterbox);
    const placement = { scaleX: 1, scaleY: 1, offsetX: padLeft, offsetY: padTop };
    return { letterbox, targets: placeTargets(targets, placement, input) };
  };
}
