// Building blocks of everything that stands in the street, in its own axes: x ahead, y to the right, z up.
import { cross, type Face, normalised, type Vector } from './camera.ts';
import { type Colour, mixed, scaled } from './colour.ts';

export type Finish = Omit<Face, 'points' | 'colour'>;

/** x from, to; y from, to; z from, to. */
export type Extent = readonly [number, number, number, number, number, number];

/** A block; its lower half is a little darker, as dirt and the ground's shade make it. */
export function addBox(faces: Face[], extent: Extent, colour: Colour, finish: Finish = {}): void {
  const [x0, x1, y0, y1, z0, z1] = extent;
  const profile = [x0, z0, x1, z0, x1, z1, x0, z1];
  addExtrusion(faces, profile, [y0, y1, y0, y1], colour, finish);
}

/**
 * A side profile (x, z of each corner) drawn out sideways. `sides` are y of the left and right side at the profile's
 * foot, then at its top: narrower above leans the sides inwards.
 */
export function addExtrusion(
  faces: Face[],
  profile: readonly number[],
  sides: readonly [number, number, number, number],
  colour: Colour,
  finish: Finish = {},
): void {
  const heights = profile.filter((_, index) => index % 2 === 1);
  const foot = Math.min(...heights);
  const rise = Math.max(...heights) - foot || 1;
  const left: number[] = [];
  const right: number[] = [];
  for (let i = 0; i < profile.length; i += 2) {
    const share = (profile[i + 1]! - foot) / rise;
    left.push(profile[i]!, sides[0] + (sides[2] - sides[0]) * share, profile[i + 1]!);
    right.push(profile[i]!, sides[1] + (sides[3] - sides[1]) * share, profile[i + 1]!);
  }
  faces.push({ points: left, colour, ...finish }, { points: right, colour, ...finish });
  for (let i = 0; i < left.length; i += 3) {
    const j = (i + 3) % left.length;
    const points = [...left.slice(i, i + 3), ...left.slice(j, j + 3)];
    faces.push({
      points: [...points, ...right.slice(j, j + 3), ...right.slice(i, i + 3)],
      colour,
      ...finish,
    });
  }
}

/** A rectangle on a side wall: x from, to and z from, to at the wall `y`. */
export function addSidePanel(
  faces: Face[],
  [x0, x1, z0, z1]: readonly [number, number, number, number],
  y: number,
  colour: Colour,
  finish: Finish = {},
): void {
  faces.push({ points: [x0, y, z0, x1, y, z0, x1, y, z1, x0, y, z1], colour, decal: true, ...finish });
}

/** A rectangle on a front or back wall: y from, to and z from, to at the wall `x`. */
export function addEndPanel(
  faces: Face[],
  [y0, y1, z0, z1]: readonly [number, number, number, number],
  x: number,
  colour: Colour,
  finish: Finish = {},
): void {
  faces.push({ points: [x, y0, z0, x, y1, z0, x, y1, z1, x, y0, z1], colour, decal: true, ...finish });
}

/** A disc that stands along the way, such as a wheel. */
export function addDisc(
  faces: Face[],
  [x, y, z]: Vector,
  radius: number,
  colour: Colour,
  finish: Finish = {},
): void {
  const points: number[] = [];
  for (let i = 0; i < 10; i++) {
    const angle = (i / 10) * 2 * Math.PI;
    points.push(x + radius * Math.cos(angle), y, z + radius * Math.sin(angle));
  }
  faces.push({ points, colour, decal: true, ...finish });
}

/** An upright cylinder or cone with six sides. */
export function addColumn(
  faces: Face[],
  [x, y, z]: Vector,
  [height, footRadius, topRadius]: readonly [number, number, number],
  colour: Colour,
  finish: Finish = {},
): void {
  const top: number[] = [];
  const corner = (index: number, radius: number) => {
    const angle = (index / 6) * 2 * Math.PI;
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)] as const;
  };
  for (let i = 0; i < 6; i++) {
    const [a, b] = [corner(i, footRadius), corner(i + 1, footRadius)];
    const [c, d] = [corner(i + 1, topRadius), corner(i, topRadius)];
    faces.push({ points: [...a, z, ...b, z, ...c, z + height, ...d, z + height], colour, ...finish });
    top.push(...d, z + height);
  }
  faces.push({ points: top, colour, ...finish });
}

/**
 * A rounded limb between two points, turned to the viewer at `eye`: two strips, lit as the two halves of a cylinder.
 * `widths` are its radius at either end.
 */
export function addLimb(
  faces: Face[],
  eye: Vector,
  from: Vector,
  to: Vector,
  widths: readonly [number, number],
  colour: Colour,
): void {
  const axis: Vector = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
  const view = normalised([eye[0] - from[0], eye[1] - from[1], eye[2] - from[2]]);
  const side = normalised(cross(axis, view));
  const halfPoints = (sign: number): number[] => {
    const offset = (point: Vector, width: number) => point.map((value, i) => value + side[i]! * width * sign);
    const cap = Math.min(widths[1], 0.12);
    const unit = normalised(axis);
    const tip = to.map((value, i) => value + unit[i]! * cap);
    return [...from, ...to, ...tip, ...offset(to, widths[1]), ...offset(from, widths[0])];
  };
  for (const sign of [-1, 1]) {
    const normal = normalised(view.map((value, i) => value * 0.75 + side[i]! * sign * 0.66) as never);
    faces.push({ points: halfPoints(sign), colour, normal });
  }
}

/** A ball turned to the viewer, in two lit halves. */
export function addBall(faces: Face[], eye: Vector, centre: Vector, radius: number, colour: Colour): void {
  const view = normalised([eye[0] - centre[0], eye[1] - centre[1], eye[2] - centre[2]]);
  const side = normalised(cross([0, 0, 1], view));
  const up = cross(view, side);
  for (const sign of [-1, 1]) {
    const points: number[] = [];
    for (let i = 0; i <= 5; i++) {
      const angle = (i / 5) * Math.PI;
      const [across, along] = [Math.sin(angle) * radius * sign, Math.cos(angle) * radius * 1.15];
      for (let k = 0; k < 3; k++) points.push(centre[k]! + side[k]! * across + up[k]! * along);
    }
    const normal = normalised(
      view.map((value, i) => value * 0.75 + side[i]! * sign * 0.55 + up[i]! * 0.3) as never,
    );
    faces.push({ points, colour, normal });
  }
}

/** Where a thing stands, and where it looks (clockwise from north). */
export interface Stand {
  readonly x: number;
  readonly y: number;
  readonly z: number;
  readonly heading: number;
}

/** Faces in world axes. */
export function placeFaces(faces: readonly Face[], stand: Stand): readonly Face[] {
  const [sin, cos] = [Math.sin(stand.heading), Math.cos(stand.heading)];
  return faces.map((face) => {
    const points = new Array<number>(face.points.length);
    for (let i = 0; i < points.length; i += 3) {
      const [ahead, right] = [face.points[i]!, face.points[i + 1]!];
      points[i] = stand.x + ahead * sin + right * cos;
      points[i + 1] = stand.y + ahead * cos - right * sin;
      points[i + 2] = stand.z + face.points[i + 2]!;
    }
    if (face.normal === undefined) return { ...face, points };
    const [ahead, right, up] = face.normal;
    return { ...face, points, normal: [ahead * sin + right * cos, ahead * cos - right * sin, up] };
  });
}

/** A point of the world in a thing's own axes. */
export function toOwnAxes(stand: Stand, [x, y, z]: Vector): Vector {
  const [sin, cos] = [Math.sin(stand.heading), Math.cos(stand.heading)];
  const [dx, dy] = [x - stand.x, y - stand.y];
  return [dx * sin + dy * cos, dx * cos - dy * sin, z - stand.z];
}

/** Lighter or darker by up to `share`, so that no two things have quite the same colour. */
export function varied(colour: Colour, amount: number): Colour {
  return amount < 0 ? scaled(colour, 1 + amount) : mixed(colour, [1, 1, 1], amount * 0.4);
}
