// Zones and lines in a picture. Coordinates are shares of the picture's width and height, in [0, 1], so that they hold
// at every resolution of a camera.

/** A closed polygon of three corners or more: x0, y0, x1, y1, … The last corner joins the first. */
export type Region = Float64Array;

export type Point = readonly [x: number, y: number];

/** Even-odd rule; a point on an edge belongs to the region on its right or below it, so that neighbours share none. */
export function isInside(region: Region, [x, y]: Point): boolean {
  let inside = false;
  const { length } = region;
  for (let at = 0, before = length - 2; at < length; before = at, at += 2) {
    const [x1, y1, x2, y2] = [region[at]!, region[at + 1]!, region[before]!, region[before + 1]!];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  }
  return inside;
}

/** Signed area; 0 where all corners lie on a line. */
export function regionArea(region: Region): number {
  let twice = 0;
  const { length } = region;
  for (let at = 0, before = length - 2; at < length; before = at, at += 2) {
    twice += region[before]! * region[at + 1]! - region[at]! * region[before + 1]!;
  }
  return twice / 2;
}

/** Whether two edges of the polygon cross, which no zone means. */
export function crossesItself(region: Region): boolean {
  const count = region.length / 2;
  const corner = (index: number): Point => {
    const at = 2 * (index % count);
    return [region[at]!, region[at + 1]!];
  };
  for (let a = 0; a < count; a++) {
    for (let b = a + 2; b < count; b++) {
      if (a === 0 && b === count - 1) continue; // they share a corner
      if (segmentsCross(corner(a), corner(a + 1), corner(b), corner(b + 1))) return true;
    }
  }
  return false;
}

/**
 * Which way a step crosses a line.
 * @returns 1 from the left of the line to its right, seen from `from` towards `to` with y pointing down; -1 the other
 * way; 0 where the step does not cross it. A step that starts on the line does not cross it, one that ends on it does:
 * a path that touches is counted once.
 */
export function crossing(from: Point, to: Point, before: Point, after: Point): -1 | 0 | 1 {
  const [sideBefore, sideAfter] = [side(from, to, before), side(from, to, after)];
  if (sideBefore === 0 || Math.sign(sideBefore) === Math.sign(sideAfter)) return 0;
  // Where on the line: both ends of the line must lie on different sides of the step.
  const [ends, starts] = [side(before, after, from), side(before, after, to)];
  if (ends !== 0 && starts !== 0 && Math.sign(ends) === Math.sign(starts)) return 0;
  return sideBefore < 0 ? 1 : -1;
}

function segmentsCross(a: Point, b: Point, c: Point, d: Point): boolean {
  return (
    Math.sign(side(a, b, c)) * Math.sign(side(a, b, d)) < 0 &&
    Math.sign(side(c, d, a)) * Math.sign(side(c, d, b)) < 0
  );
}

/** Twice the signed area of the triangle: above 0 where `point` lies to the right of the way, y pointing down. */
function side([x1, y1]: Point, [x2, y2]: Point, [x, y]: Point): number {
  return (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1);
}
