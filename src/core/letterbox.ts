// The one place that maps between frame px and input px, for boxes and for their variances.
import type { Box, BoxVariance } from './box.ts';
import type { Size } from './shapes.ts';

/** How a frame is fitted into the network's input. */
export interface FitPolicy {
  /** `letterbox` keeps the aspect ratio and pads; `stretch` fills the input. */
  readonly mode: 'letterbox' | 'stretch';
  /** Where the picture lies inside the padding. */
  readonly align: 'center' | 'top-left';
  /** A picture smaller than the input is enlarged (Ultralytics, YOLOX) or kept. */
  readonly enlarge: boolean;
}

/** Geometry of one fit. All sizes and pads are whole px, so both directions agree exactly. */
export interface Letterbox {
  readonly frame: Size;
  readonly input: Size;
  /** Size of the scaled picture inside the input. */
  readonly content: Size;
  readonly padLeft: number;
  readonly padTop: number;
  /** Input px per frame px. */
  readonly scaleX: number;
  readonly scaleY: number;
}

export const DEFAULT_FIT: FitPolicy = { mode: 'letterbox', align: 'center', enlarge: true };

export function createLetterbox(frame: Size, input: Size, policy: FitPolicy = DEFAULT_FIT): Letterbox {
  const content = policy.mode === 'stretch' ? input : contentSize(frame, input, policy.enlarge);
  const freeX = input.width - content.width;
  const freeY = input.height - content.height;
  const centered = policy.align === 'center';
  return {
    frame,
    input,
    content,
    // An odd px of padding goes to the right and the bottom, as the frameworks that train these models do.
    padLeft: centered ? Math.floor(freeX / 2) : 0,
    padTop: centered ? Math.floor(freeY / 2) : 0,
    scaleX: content.width / frame.width,
    scaleY: content.height / frame.height,
  };
}

function contentSize(frame: Size, input: Size, enlarge: boolean): Size {
  const fit = Math.min(input.width / frame.width, input.height / frame.height);
  const scale = enlarge ? fit : Math.min(1, fit);
  return {
    width: Math.min(input.width, Math.max(1, Math.round(frame.width * scale))),
    height: Math.min(input.height, Math.max(1, Math.round(frame.height * scale))),
  };
}

export function toFrame(letterbox: Letterbox, box: Box<'input'>): Box<'frame'> {
  const { padLeft, padTop, scaleX, scaleY } = letterbox;
  return {
    x1: (box.x1 - padLeft) / scaleX,
    y1: (box.y1 - padTop) / scaleY,
    x2: (box.x2 - padLeft) / scaleX,
    y2: (box.y2 - padTop) / scaleY,
  };
}

export function toInput(letterbox: Letterbox, box: Box<'frame'>): Box<'input'> {
  const { padLeft, padTop, scaleX, scaleY } = letterbox;
  return {
    x1: box.x1 * scaleX + padLeft,
    y1: box.y1 * scaleY + padTop,
    x2: box.x2 * scaleX + padLeft,
    y2: box.y2 * scaleY + padTop,
  };
}

/** A variance scales with the square of the length: px² of the input become px² of the frame. */
export function varianceToFrame(letterbox: Letterbox, variance: BoxVariance<'input'>): BoxVariance<'frame'> {
  const x = 1 / (letterbox.scaleX * letterbox.scaleX);
  const y = 1 / (letterbox.scaleY * letterbox.scaleY);
  return { x1: variance.x1 * x, y1: variance.y1 * y, x2: variance.x2 * x, y2: variance.y2 * y };
}
