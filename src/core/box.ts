// Boxes know the space they live in: px of the frame as the user sees it, or px of the network's input.
// Mixing the two does not compile; only `Letterbox` converts.

export type Space = 'frame' | 'input';

declare const spaceOf: unique symbol;

/** Corners in px, x to the right, y down; x1 <= x2 and y1 <= y2. */
export interface Box<S extends Space> {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
  readonly [spaceOf]?: S;
}

/** Variance of each edge's position in px², in the space of its box. */
export interface BoxVariance<S extends Space> {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
  readonly [spaceOf]?: S;
}

/** Area in px²; 0 for a box that is turned inside out. */
export function boxArea(box: Box<Space>): number {
  return Math.max(0, box.x2 - box.x1) * Math.max(0, box.y2 - box.y1);
}

/** Intersection over union in [0, 1]; 0 (never NaN) where both boxes are empty. */
export function iou<S extends Space>(a: Box<S>, b: Box<NoInfer<S>>): number {
  const width = Math.min(a.x2, b.x2) - Math.max(a.x1, b.x1);
  const height = Math.min(a.y2, b.y2) - Math.max(a.y1, b.y1);
  if (width <= 0 || height <= 0) return 0;
  const intersection = width * height;
  const union = boxArea(a) + boxArea(b) - intersection;
  // Sides below 1e-150 px multiply to an area of 0.
  return union > 0 ? intersection / union : 0;
}

/** The part of a box inside a frame, or undefined where nothing with an area is left. */
export function clipBox(box: Box<'frame'>, width: number, height: number): Box<'frame'> | undefined {
  const clipped = {
    x1: Math.max(0, Math.min(width, box.x1)),
    y1: Math.max(0, Math.min(height, box.y1)),
    x2: Math.max(0, Math.min(width, box.x2)),
    y2: Math.max(0, Math.min(height, box.y2)),
  };
  return boxArea(clipped) > 0 ? clipped : undefined;
}
