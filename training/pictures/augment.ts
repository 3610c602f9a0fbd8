// Draws an augmented training picture onto one canvas: geometry, light, holes, in this order.
import type { Random, Size } from '#core';
import type { AugmentConfig } from './augment-config.ts';
import { drawHoles, paintHoles, targetsBehind } from './cutout.ts';
import { createDuskPainter, drawDusk } from './dusk.ts';
import { changeHsv, drawHsv } from './hsv.ts';
import { drawView, type Placed, placeMosaic, placeOne } from './layout.ts';
import type { PictureContent } from './load-content.ts';
import { joinPictureTargets, placeTargets } from './placement.ts';
import type { Canvas, PictureTargets, TrainingPicture } from './types.ts';
import { drawPlaced } from './warp.ts';

export interface Augmenter {
  /**
   * @param contents one picture, or the four of a mosaic (as many as `drawPartners` asked for, itself first)
   * @returns memory of this augmenter, overwritten by the next call
   */
  augment(contents: readonly PictureContent[], config: AugmentConfig, random: Random): TrainingPicture;
}

export interface AugmenterOptions {
  readonly input: Size;
  /** Grey of the padding, 0..255. */
  readonly pad: number;
}

/** Which other pictures of the set a sample is joined with: none, or three for a mosaic. Drawn before they are loaded. */
export function drawPartners(random: Random, config: AugmentConfig, pictureCount: number): number[] {
  const isMosaic = random.next() < config.mosaic;
  return isMosaic ? Array.from({ length: 3 }, () => random.integer(pictureCount)) : [];
}

export function createAugmenter({ input, pad }: AugmenterOptions): Augmenter {
  const canvas: Canvas = { ...input, pixels: new Uint8Array(3 * input.width * input.height) };
  const grey = Math.round(pad);
  const duskPainter = createDuskPainter();
  return {
    augment(contents, config, random) {
      const view = drawView(random, config, input);
      const placed =
        contents.length === 1 ? placeOne(contents[0]!, view) : placeMosaic(contents, { view, input, random });
      canvas.pixels.fill(grey);
      for (const one of placed) {
        const region = drawPlaced(canvas, one.content.rgb, {
          size: one.content.letterbox.content,
          placement: one.placement,
        });
        // Every picture of a mosaic has its own light, as it would have had alone.
        changeHsv(canvas, region, drawHsv(random, config));
        if (random.next() < config.dusk && config.dusk_strength > 0) {
          const strength = config.dusk_strength * (1 - random.next());
          duskPainter.paint(canvas, region, drawDusk(random, strength, input.width), random.integer(2 ** 32));
        }
      }
      return { ...canvas, targets: cutOut(canvas, targetsOf(placed, canvas), { config, random, grey }) };
    },
  };
}

function targetsOf(placed: readonly Placed[], canvas: Size): PictureTargets {
  return joinPictureTargets(
    placed.map(({ content, placement }) => placeTargets(content.targets, placement, canvas)),
  );
}

function cutOut(
  canvas: Canvas,
  targets: PictureTargets,
  {
    config,
    random,
    grey,
  }: { readonly config: AugmentConfig; readonly random: Random; readonly grey: number },
): PictureTargets {
  if (random.next() >= config.cutout) return targets;
  const holes = drawHoles(random, canvas);
  paintHoles(canvas, holes, grey);
  return targetsBehind(targets, holes);
}
