// What happens to a box that does not lie inside its picture: a hair over the edge is clipped, more is reported, and
// what is not there is left out.
import type { DatasetFault } from './types.ts';

export interface Corners {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** Where a box was written, for messages. */
export interface BoxOrigin {
  readonly file: string;
  readonly line?: number;
  /** The row or annotation as the user can find it: `row "0 0.5 …"`, `annotation 12 of picture 3`. */
  readonly name: string;
  /** Extra advice where the box lies outside. */
  readonly outsideHint?: string;
}

/** Half a unit of the sixth decimal in centre and size: the rounding of the format, not a fault of the label. */
const ROUNDING = 1e-6;
/** Share of the picture by which a box may stick out before it is worth a look. */
const CLIPPED_QUIETLY = 0.01;
const PIXEL_UNITS_ABOVE = 2;

/**
 * @param box relative corners as written, any values
 * @param tolerance share of the picture that is clipped with a mere notice; 1 px in formats that count in px
 * @returns corners in [0, 1] with a size above 0, or undefined where the box was left out; each change is in `faults`
 */
export function placeBox(
  box: Corners,
  origin: BoxOrigin,
  faults: DatasetFault[],
  tolerance = CLIPPED_QUIETLY,
): Corners | undefined {
  const report = (severity: DatasetFault['severity'], kind: string, message: string, hint: string) => {
    const { file, line, name } = origin;
    faults.push({
      severity,
      kind,
      file,
      ...(line === undefined ? {} : { line }),
      message: `${name}: ${message}`,
      hint,
    });
  };
  if (!(box.x2 > box.x1 && box.y2 > box.y1)) {
    report(
      'warning',
      'zero-size',
      `width and height must be above 0, found ${short(box.x2 - box.x1)} and ${short(box.y2 - box.y1)} of the picture`,
      'left out; remove it or draw it again',
    );
    return undefined;
  }
  const over = Math.max(-box.x1, -box.y1, box.x2 - 1, box.y2 - 1);
  if (over <= 0) return box;
  const clipped = clip(box);
  const gone = !(clipped.x2 - clipped.x1 > ROUNDING && clipped.y2 - clipped.y1 > ROUNDING);
  if (over <= ROUNDING && !gone) return clipped;
  const isHair = over <= Math.max(CLIPPED_QUIETLY, tolerance) + ROUNDING;
  const beyond = `reaches ${short(over)} of the picture over its edge`;
  const centreInside = isInside((box.x1 + box.x2) / 2) && isInside((box.y1 + box.y2) / 2);
  if (gone || (!isHair && !centreInside)) {
    report(
      'error',
      'outside-picture',
      `${beyond}, its centre lies outside`,
      `left out; ${origin.outsideHint ?? 'correct the row'}`,
    );
    return undefined;
  }
  const hint = isHair
    ? 'clipped to the picture'
    : `clipped to the picture; ${origin.outsideHint ?? 'check the box'}`;
  if (isHair) report('notice', 'clipped', beyond, hint);
  else report('warning', 'outside-picture', beyond, hint);
  return clipped;
}

/** Whether relative values are so large that they must be px. */
export function looksLikePixels(values: readonly number[]): boolean {
  return values.some((value) => Math.abs(value) > PIXEL_UNITS_ABOVE);
}

/** At most six decimals, without trailing zeros. */
export function short(value: number): string {
  return String(Number(value.toFixed(6)));
}

function clip({ x1, y1, x2, y2 }: Corners): Corners {
  return { x1: Math.max(0, x1), y1: Math.max(0, y1), x2: Math.min(1, x2), y2: Math.min(1, y2) };
}

function isInside(value: number): boolean {
  return value >= 0 && value <= 1;
}
