// Complete IoU (Zheng et al. 2020) with its gradient, eps placed as YOLOv8 places it: on heights, union and diagonal.
import type { Numbers } from './types.ts';

const EPS = 1e-7;
const ASPECT_SCALE = 4 / (Math.PI * Math.PI);

/** Used again by the next call. */
export interface CiouResult {
  readonly iou: number;
  /** IoU − ρ²/c² − α v, in (−1.5, 1]. */
  readonly ciou: number;
  /** Trade-off of the aspect term, detached. */
  readonly alpha: number;
}

export interface Ciou {
  /**
   * @param predicted, target xyxy from their offsets
   * @param heldAlpha taken for α instead of the one at these boxes
   */
  value(
    predicted: Numbers,
    predictedOffset: number,
    target: Numbers,
    targetOffset: number,
    heldAlpha?: number,
  ): CiouResult;
  /** As `value`, and writes d ciou / d (x1, y1, x2, y2) of the predicted box to `gradient[0..4)`. α is held constant. */
  valueAndGradient(
    predicted: Numbers,
    predictedOffset: number,
    target: Numbers,
    targetOffset: number,
    gradient: Float64Array,
    heldAlpha?: number,
  ): CiouResult;
}

/** A box turned inside out counts as empty; its corners are still drawn to the target by the distance term. */
export function createCiou(): Ciou {
  const result = { iou: 0, ciou: 0, alpha: 0 };
  function evaluate(
    a: Numbers,
    aOffset: number,
    b: Numbers,
    bOffset: number,
    gradient: Float64Array | undefined,
    heldAlpha: number | undefined,
  ): CiouResult {
    const ax1 = a[aOffset]!;
    const ay1 = a[aOffset + 1]!;
    const ax2 = a[aOffset + 2]!;
    const ay2 = a[aOffset + 3]!;
    const bx1 = b[bOffset]!;
    const by1 = b[bOffset + 1]!;
    const bx2 = b[bOffset + 2]!;
    const by2 = b[bOffset + 3]!;
    const aWidth = ax2 - ax1;
    const aHeight = ay2 - ay1 + EPS;
    const bWidth = bx2 - bx1;
    const bHeight = by2 - by1 + EPS;
    const empty = aWidth < 0 || aHeight < 0;
    const overlapX = Math.max(0, Math.min(ax2, bx2) - Math.max(ax1, bx1));
    const overlapY = Math.max(0, Math.min(ay2, by2) - Math.max(ay1, by1));
    const intersection = overlapX * overlapY;
    const union = (empty ? 0 : aWidth * aHeight) + bWidth * bHeight - intersection + EPS;
    const iou = intersection / union;
    const hullX = Math.max(ax2, bx2) - Math.min(ax1, bx1);
    const hullY = Math.max(ay2, by2) - Math.min(ay1, by1);
    const diagonal = hullX * hullX + hullY * hullY + EPS;
    const shiftX = bx1 + bx2 - ax1 - ax2;
    const shiftY = by1 + by2 - ay1 - ay2;
    const distance = (shiftX * shiftX + shiftY * shiftY) / 4;
    const turn = Math.atan(bWidth / bHeight) - Math.atan(aWidth / aHeight);
    const aspect = ASPECT_SCALE * turn * turn;
    const alpha = heldAlpha ?? (aspect > 0 ? aspect / (aspect - iou + 1 + EPS) : 0);
    result.iou = iou;
    result.alpha = alpha;
    result.ciou = iou - (distance / diagonal + alpha * aspect);
    if (!gradient) return result;

    const touching = overlapX > 0 && overlapY > 0;
    // d intersection, d union, d hull along each side of the predicted box: left, top, right, bottom.
    for (let side = 0; side < 4; side++) {
      const horizontal = (side & 1) === 0;
      const far = side >= 2;
      const own = far ? (horizontal ? ax2 : ay2) : horizontal ? ax1 : ay1;
      const other = far ? (horizontal ? bx2 : by2) : horizontal ? bx1 : by1;
      const sign = far ? 1 : -1;
      const inner = touching && sign * (own - other) < 0;
      const dIntersection = inner ? sign * (horizontal ? overlapY : overlapX) : 0;
      const dUnion = (empty ? 0 : sign * (horizontal ? aHeight : aWidth)) - dIntersection;
      const dIou = (dIntersection - iou * dUnion) / union;
      const outer = sign * (own - other) > 0;
      const dDiagonal = outer ? 2 * sign * (horizontal ? hullX : hullY) : 0;
      const dDistance = -(horizontal ? shiftX : shiftY) / 2;
      const round = aWidth * aWidth + aHeight * aHeight;
      const dTurn = sign * (horizontal ? -aHeight / round : aWidth / round);
      const dAspect = 2 * ASPECT_SCALE * turn * dTurn;
      gradient[side] = dIou - (dDistance - (distance / diagonal) * dDiagonal) / diagonal - alpha * dAspect;
    }
    return result;
  }
  return {
    value: (predicted, predictedOffset, target, targetOffset, heldAlpha) =>
      evaluate(predicted, predictedOffset, target, targetOffset, undefined, heldAlpha),
    valueAndGradient: (predicted, predictedOffset, target, targetOffset, gradient, heldAlpha) =>
      evaluate(predicted, predictedOffset, target, targetOffset, gradient, heldAlpha),
  };
}
