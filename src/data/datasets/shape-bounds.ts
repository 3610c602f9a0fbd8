// The axis-parallel box around a shape that is none.

export interface ShapeBounds {
  /** x1, y1, x2, y2 */
  readonly corners: readonly [number, number, number, number];
  /** What the shape was, where it was no box: `a polygon of 4 points`. */
  readonly from?: string;
}

type Point = readonly [number, number];

/** @returns undefined without points */
export function boundsOfPoints(points: readonly Point[] | undefined, what?: string): ShapeBounds | undefined {
  if (points === undefined || points.length === 0) return undefined;
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x);
    bottom = Math.max(bottom, y);
  }
  const corners = [left, top, right, bottom] as const;
  return { corners, ...(what === undefined ? {} : { from: `${what} of ${points.length} points` }) };
}

/** A box turned about its centre, clockwise on the screen. */
export function boundsOfRotated(
  corners: readonly [number, number, number, number] | undefined,
  degrees: number,
): ShapeBounds | undefined {
  if (corners === undefined || degrees % 360 === 0) return corners && { corners };
  const [x1, y1, x2, y2] = corners;
  const [cx, cy, rx, ry] = [(x1 + x2) / 2, (y1 + y2) / 2, (x2 - x1) / 2, (y2 - y1) / 2];
  const [cos, sin] = [Math.abs(cosine(degrees)), Math.abs(cosine(degrees - 90))];
  const [dx, dy] = [rx * cos + ry * sin, rx * sin + ry * cos];
  return { corners: [cx - dx, cy - dy, cx + dx, cy + dy], from: `a box turned by ${degrees} degrees` };
}

/** An ellipse with half axes rx and ry, turned about its centre. */
export function boundsOfEllipse(ellipse: {
  readonly cx: number;
  readonly cy: number;
  readonly rx: number;
  readonly ry: number;
  readonly degrees: number;
}): ShapeBounds {
  const { cx, cy, rx, ry, degrees } = ellipse;
  const [cos, sin] = [cosine(degrees), cosine(degrees - 90)];
  const [dx, dy] = [Math.hypot(rx * cos, ry * sin), Math.hypot(rx * sin, ry * cos)];
  return { corners: [cx - dx, cy - dy, cx + dx, cy + dy], from: 'an ellipse' };
}

function cosine(degrees: number): number {
  return Math.cos((degrees * Math.PI) / 180);
}
