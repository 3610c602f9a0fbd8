// Where a box will be and how sure that is: a Kalman filter of constant velocity per axis, on centre and side.
//
// Centre and side (width, height) rather than height and aspect: edges are linear in them, so that the variance of each
// edge enters exactly. Noise of the motion, and of the measurement where a model states none, after Aharon et al.,
// "BoT-SORT", arXiv:2206.14651, eqs. 3-6, whose constants (from Wojke et al., "DeepSORT", 2017) are per frame of 1/30 s;
// here they are rates, so that the filter does not depend on how time is cut into frames.
import type { Box, BoxVariance } from '#core';

/** Share of the side by which a centre or side strays within 1/30 s; also the habitual noise of a measurement. */
const POSITION_SHARE = 1 / 20;
/** Share of the side by which a velocity (px per 1/30 s) strays within 1/30 s. */
const VELOCITY_SHARE = 1 / 160;
const REFERENCE_RATE = 30;
/** Below it, a side would leave no noise at all. */
const LEAST_SIDE_PX = 1;
/** No detector places an edge better than a quarter of a px: labels do not. */
const LEAST_EDGE_VARIANCE = 0.25 ** 2;

// Places in the memory of an axis: centre, side, their velocities in px/s, then the covariance [4, 4].
const CENTRE = 0;
const SIDE = 1;
const CENTRE_VELOCITY = 2;
const SIDE_VELOCITY = 3;
const COVARIANCE = 4;
const AXIS_LENGTH = 20;

/** Expected box and its uncertainty. Frame px and seconds; changed in place by the functions of this file. */
export interface Motion {
  /** Float64[20]: centre, side, velocities, covariance [4, 4]. */
  readonly x: Float64Array;
  readonly y: Float64Array;
}

/** What was seen of a box. */
export interface BoxMeasurement {
  readonly box: Box<'frame'>;
  readonly boxVariance?: BoxVariance<'frame'>;
}

/** At rest, with twice the noise of a measurement and ten times that of a velocity, as DeepSORT starts. */
export function startMotion({ box }: BoxMeasurement): Motion {
  return { x: startAxis(box.x1, box.x2), y: startAxis(box.y1, box.y2) };
}

/** @param keepSize the box moves on but keeps its size: for an object that is not seen, growth is a guess too many */
export function predictMotion({ x, y }: Motion, seconds: number, keepSize: boolean): void {
  predictAxis(x, seconds, keepSize);
  predictAxis(y, seconds, keepSize);
}

/** With the variance of each edge as noise where the model states it, else the habitual share of the side. */
export function correctMotion({ x, y }: Motion, { box, boxVariance }: BoxMeasurement): void {
  correctAxis(x, box.x1, box.x2, boxVariance && [boxVariance.x1, boxVariance.x2]);
  correctAxis(y, box.y1, box.y2, boxVariance && [boxVariance.y1, boxVariance.y2]);
}

/** Writes x1, y1, x2, y2 to `target[4 * place]` on. A side is at least 0. */
export function boxOfMotionInto(target: Float64Array, place: number, { x, y }: Motion): void {
  const halfWidth = Math.max(0, x[SIDE]!) / 2;
  const halfHeight = Math.max(0, y[SIDE]!) / 2;
  target[4 * place] = x[CENTRE]! - halfWidth;
  target[4 * place + 1] = y[CENTRE]! - halfHeight;
  target[4 * place + 2] = x[CENTRE]! + halfWidth;
  target[4 * place + 3] = y[CENTRE]! + halfHeight;
}

function startAxis(low: number, high: number): Float64Array {
  const axis = new Float64Array(AXIS_LENGTH);
  axis[CENTRE] = (low + high) / 2;
  axis[SIDE] = high - low;
  const side = Math.max(LEAST_SIDE_PX, high - low);
  const position = (2 * POSITION_SHARE * side) ** 2;
  const velocity = (10 * VELOCITY_SHARE * REFERENCE_RATE * side) ** 2;
  for (const [place, variance] of [position, position, velocity, velocity].entries()) {
    axis[COVARIANCE + 5 * place] = variance;
  }
  return axis;
}

/** x = F x and P = F P F' + Q for a step of any length; Q of a velocity that wanders, plus a position that does. */
function predictAxis(axis: Float64Array, seconds: number, keepSize: boolean): void {
  if (keepSize) axis[SIDE_VELOCITY] = 0;
  const side = Math.max(LEAST_SIDE_PX, axis[SIDE]!);
  const wander = (POSITION_SHARE * side) ** 2 * REFERENCE_RATE; // px² per s
  const drift = (VELOCITY_SHARE * REFERENCE_RATE * side) ** 2 * REFERENCE_RATE; // (px/s)² per s
  axis[CENTRE]! += seconds * axis[CENTRE_VELOCITY]!;
  axis[SIDE]! += seconds * axis[SIDE_VELOCITY]!;
  // F P: the rows of positions take up those of their velocities; then P F': the same for columns.
  for (let row = 0; row < 2; row++) {
    for (let column = 0; column < 4; column++) {
      axis[COVARIANCE + 4 * row + column]! += seconds * axis[COVARIANCE + 4 * (row + 2) + column]!;
    }
  }
  for (let row = 0; row < 4; row++) {
    for (let column = 0; column < 2; column++) {
      axis[COVARIANCE + 4 * row + column]! += seconds * axis[COVARIANCE + 4 * row + column + 2]!;
    }
  }
  for (let place = 0; place < 2; place++) {
    axis[COVARIANCE + 5 * place]! += wander * seconds + (drift * seconds ** 3) / 3;
    axis[COVARIANCE + 5 * place + 2]! += (drift * seconds ** 2) / 2;
    axis[COVARIANCE + 5 * place + 8]! += (drift * seconds ** 2) / 2;
    axis[COVARIANCE + 5 * (place + 2)]! += drift * seconds;
  }
}

function correctAxis(
  axis: Float64Array,
  low: number,
  high: number,
  edgeVariances: readonly [number, number] | undefined,
): void {
  if (edgeVariances === undefined) {
    const noise = (POSITION_SHARE * Math.max(LEAST_SIDE_PX, axis[SIDE]!)) ** 2;
    correctBy(axis, { centre: 1, side: 0, measured: (low + high) / 2, noise });
    correctBy(axis, { centre: 0, side: 1, measured: high - low, noise });
    return;
  }
  // Edges err independently of each other, so one after the other is exact: a hidden edge does not move the seen one.
  const [lowNoise, highNoise] = edgeVariances;
  correctBy(axis, { centre: 1, side: -0.5, measured: low, noise: Math.max(LEAST_EDGE_VARIANCE, lowNoise) });
  correctBy(axis, { centre: 1, side: 0.5, measured: high, noise: Math.max(LEAST_EDGE_VARIANCE, highNoise) });
}

/** One number that is `centre` times the centre plus `side` times the side, with noise. */
interface Reading {
  readonly centre: number;
  readonly side: number;
  readonly measured: number;
  readonly noise: number;
}

function correctBy(axis: Float64Array, { centre, side, measured, noise }: Reading): void {
  const at = (row: number) => centre * axis[COVARIANCE + 4 * row]! + side * axis[COVARIANCE + 4 * row + 1]!;
  const shared = [at(0), at(1), at(2), at(3)] as const; // P h
  const total = centre * shared[0] + side * shared[1] + noise;
  const surprise = measured - centre * axis[CENTRE]! - side * axis[SIDE]!;
  for (let row = 0; row < 4; row++) {
    const gain = shared[row]! / total;
    axis[row]! += gain * surprise;
    for (let column = 0; column < 4; column++) axis[COVARIANCE + 4 * row + column]! -= gain * shared[column]!;
  }
}
