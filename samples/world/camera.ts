// The fixed camera: a pinhole on a pole. World axes: x east, y north, z up, in metres; the road's ground is z = 0.
import type { Colour } from './colour.ts';

/** A point or direction: x, y, z. */
export type Vector = readonly [number, number, number];

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface CameraPose {
  readonly eye: Vector;
  /** Clockwise from north. */
  readonly yawRadians: number;
  /** Downwards from the horizon. */
  readonly pitchRadians: number;
  /** Horizontal angle of view. */
  readonly viewRadians: number;
}

export interface Camera {
  readonly eye: Vector;
  readonly right: Vector;
  readonly up: Vector;
  readonly forward: Vector;
  /** Focal length in samples. */
  readonly focal: number;
  /** Size of the sample grid (picture size times supersampling). */
  readonly size: Size;
}

/** A surface that is drawn; `points` are x, y, z of each corner. */
export interface Face {
  readonly points: readonly number[];
  readonly colour: Colour;
  /** Light of its own. */
  readonly emission?: Colour;
  /** Emits along its `normal` only, as a headlight does. */
  readonly directed?: boolean;
  /** How much of the sky it mirrors. */
  readonly gloss?: number;
  /** Overrides the plane's normal, to make a flat strip look round. */
  readonly normal?: Vector;
  /** Lies on another face, and wins over it. */
  readonly decal?: boolean;
}

export function createCamera(pose: CameraPose, size: Size): Camera {
  const { yawRadians: yaw, pitchRadians: pitch } = pose;
  const [sinYaw, cosYaw, sinPitch, cosPitch] = [
    Math.sin(yaw),
    Math.cos(yaw),
    Math.sin(pitch),
    Math.cos(pitch),
  ];
  return {
    eye: pose.eye,
    right: [cosYaw, -sinYaw, 0],
    up: [sinYaw * sinPitch, cosYaw * sinPitch, cosPitch],
    forward: [sinYaw * cosPitch, cosYaw * cosPitch, -sinPitch],
    focal: size.width / 2 / Math.tan(pose.viewRadians / 2),
    size,
  };
}

/** Camera axes of a world point: right, up, forward. */
export function toCameraAxes(camera: Camera, x: number, y: number, z: number): Vector {
  const { eye, right, up, forward } = camera;
  const [dx, dy, dz] = [x - eye[0], y - eye[1], z - eye[2]];
  return [
    right[0] * dx + right[1] * dy + right[2] * dz,
    up[0] * dx + up[1] * dy + up[2] * dz,
    forward[0] * dx + forward[1] * dy + forward[2] * dz,
  ];
}

/** Writes the ray through a sample, one metre deep along the camera's axis, into `into`. */
export function rayInto(into: Float64Array, camera: Camera, column: number, row: number): void {
  const { right, up, forward, focal, size } = camera;
  const a = (column + 0.5 - size.width / 2) / focal;
  const b = (size.height / 2 - row - 0.5) / focal;
  for (let i = 0; i < 3; i++) into[i] = forward[i]! + right[i]! * a + up[i]! * b;
}

export const NEAR_METRES = 0.5;

export function dot(a: Vector, b: Vector): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

export function cross(a: Vector, b: Vector): Vector {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

export function normalised(a: Vector): Vector {
  const length = Math.hypot(a[0], a[1], a[2]) || 1;
  return [a[0] / length, a[1] / length, a[2] / length];
}

/** Normal of a flat polygon (Newell's method), of unit length. */
export function normalOf(points: readonly number[]): Vector {
  let [x, y, z] = [0, 0, 0];
  const count = points.length;
  for (let i = 0; i < count; i += 3) {
    const j = (i + 3) % count;
    x += (points[i + 1]! - points[j + 1]!) * (points[i + 2]! + points[j + 2]!);
    y += (points[i + 2]! - points[j + 2]!) * (points[i]! + points[j]!);
    z += (points[i]! - points[j]!) * (points[i + 1]! + points[j + 1]!);
  }
  return normalised([x, y, z]);
}
