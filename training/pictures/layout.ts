// How pictures are arranged on a canvas: one as it lies in its letterbox, or four around a corner.
import type { Random, Size } from '#core';
import type { AugmentConfig } from './augment-config.ts';
import type { PictureContent } from './load-content.ts';
import { composePlacements, type Placement } from './placement.ts';

/** A picture and where it goes. */
export interface Placed {
  readonly content: PictureContent;
  readonly placement: Placement;
}

/** Scale about the centre of the canvas, shift and flips, for a canvas whose centre is the given point. */
export interface View {
  /** @param center of what is looked at, in px of its own plane */
  placementAround(center: { readonly x: number; readonly y: number }): Placement;
}

export function drawView(random: Random, config: AugmentConfig, input: Size): View {
  const scale = 1 + random.between(-1, 1) * config.scale;
  const shiftX = random.between(-1, 1) * config.translate * input.width;
  const shiftY = random.between(-1, 1) * config.translate * input.height;
  const signX = random.next() < config.fliplr ? -1 : 1;
  const signY = random.next() < config.flipud ? -1 : 1;
  return {
    placementAround: ({ x, y }) => ({
      scaleX: signX * scale,
      scaleY: signY * scale,
      offsetX: input.width / 2 + shiftX - signX * scale * x,
      offsetY: input.height / 2 + shiftY - signY * scale * y,
    }),
  };
}

/** In its letterbox. */
export function placeOne(content: PictureContent, view: View): Placed[] {
  const { padLeft, padTop, input } = content.letterbox;
  const around = view.placementAround({ x: input.width / 2, y: input.height / 2 });
  return [{ content, placement: composePlacements(around, shifted(padLeft, padTop)) }];
}

/**
 * Four pictures without their padding around a corner that lies in the middle half of a plane twice the canvas' size
 * (Bochkovskiy et al., YOLOv4, 2020, as Ultralytics users know it); the canvas looks at the middle of that plane.
 */
export function placeMosaic(
  contents: readonly PictureContent[],
  { view, input, random }: { readonly view: View; readonly input: Size; readonly random: Random },
): Placed[] {
  const cornerX = Math.round(random.between(0.5, 1.5) * input.width);
  const cornerY = Math.round(random.between(0.5, 1.5) * input.height);
  const around = view.placementAround({ x: input.width, y: input.height });
  return contents.map((content, quarter) => {
    const { width, height } = content.letterbox.content;
    const left = quarter % 2 === 0 ? cornerX - width : cornerX;
    const top = quarter < 2 ? cornerY - height : cornerY;
    return { content, placement: composePlacements(around, shifted(left, top)) };
  });
}

function shifted(x: number, y: number): Placement {
  return { scaleX: 1, scaleY: 1, offsetX: x, offsetY: y };
}
