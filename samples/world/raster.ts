// Turns polygons in the world into runs of samples: clipped at the near plane, projected, filled by the even-odd rule.
import { type Camera, NEAR_METRES, toCameraAxes } from './camera.ts';

/** A run of samples of one row, `to` exclusive, with 1/depth at `from` and its step to the next sample. */
export type SpanPainter = (row: number, from: number, to: number, inverseDepth: number, step: number) => void;

/** Where a polygon lies on the sample grid. */
interface Outline {
  readonly xs: readonly number[];
  readonly ys: readonly number[];
  /** 1/depth = a·column + b·row + c. */
  readonly plane: readonly [number, number, number];
}

/** Calls `painter` for every run of samples whose centre lies in the polygon `points` (x, y, z of each corner). */
export function fillPolygon(camera: Camera, points: readonly number[], painter: SpanPainter): void {
  const outline = outlineOf(camera, points);
  if (outline === undefined) return;
  const { xs, ys, plane } = outline;
  const { width, height } = camera.size;
  let [highest, lowest] = [height, 0];
  for (const y of ys) {
    if (y < highest) highest = y;
    if (y > lowest) lowest = y;
  }
  const first = Math.max(0, Math.ceil(highest - 0.5));
  const last = Math.min(height - 1, Math.ceil(lowest - 0.5) - 1);
  const crossings: number[] = [];
  for (let row = first; row <= last; row++) {
    collectCrossings(xs, ys, row + 0.5, crossings);
    for (let k = 0; k + 1 < crossings.length; k += 2) {
      const from = Math.max(0, Math.ceil(crossings[k]! - 0.5));
      const to = Math.min(width, Math.ceil(crossings[k + 1]! - 0.5));
      if (to <= from) continue;
      painter(row, from, to, plane[0] * (from + 0.5) + plane[1] * (row + 0.5) + plane[2], plane[0]);
    }
  }
}

/** Box of the polygon on the sample grid, past its border too, widened into `box` (x1, y1, x2, y2). */
export function growByOutline(
  camera: Camera,
  points: readonly number[],
  box: [number, number, number, number],
): void {
  for (let i = 0; i < points.length; i += 3) {
    const [right, up, forward] = toCameraAxes(camera, points[i]!, points[i + 1]!, points[i + 2]!);
    const depth = Math.max(forward, NEAR_METRES);
    const x = camera.size.width / 2 + (camera.focal * right) / depth;
    const y = camera.size.height / 2 - (camera.focal * up) / depth;
    box[0] = Math.min(box[0], x);
    box[1] = Math.min(box[1], y);
    box[2] = Math.max(box[2], x);
    box[3] = Math.max(box[3], y);
  }
}

function collectCrossings(xs: readonly number[], ys: readonly number[], y: number, into: number[]): void {
  into.length = 0;
  let previous = xs.length - 1;
  for (let i = 0; i < xs.length; i++) {
    const [y0, y1] = [ys[previous]!, ys[i]!];
    if (y0 <= y !== y1 <= y) {
      const x = xs[previous]! + ((y - y0) / (y1 - y0)) * (xs[i]! - xs[previous]!);
      let at = into.length;
      while (at > 0 && into[at - 1]! > x) {
        into[at] = into[at - 1]!;
        at -= 1;
      }
      into[at] = x;
    }
    previous = i;
  }
}

function outlineOf(camera: Camera, points: readonly number[]): Outline | undefined {
  const clipped = clipNear(camera, points);
  if (clipped.length < 9) return undefined;
  const { focal, size } = camera;
  const xs: number[] = [];
  const ys: number[] = [];
  for (let i = 0; i < clipped.length; i += 3) {
    xs.push(size.width / 2 + (focal * clipped[i]!) / clipped[i + 2]!);
    ys.push(size.height / 2 - (focal * clipped[i + 1]!) / clipped[i + 2]!);
  }
  const plane = inverseDepthPlane(camera, clipped);
  return plane && { xs, ys, plane };
}

/** From n·p = distance in camera axes: 1/depth = n·ray / distance. Undefined for a face seen edge on. */
function inverseDepthPlane(
  camera: Camera,
  points: readonly number[],
): readonly [number, number, number] | undefined {
  let [a, b, c] = [0, 0, 0];
  for (let i = 0; i < points.length; i += 3) {
    const j = (i + 3) % points.length;
    a += (points[i + 1]! - points[j + 1]!) * (points[i + 2]! + points[j + 2]!);
    b += (points[i + 2]! - points[j + 2]!) * (points[i]! + points[j]!);
    c += (points[i]! - points[j]!) * (points[i + 1]! + points[j + 1]!);
  }
  const distance = a * points[0]! + b * points[1]! + c * points[2]!;
  if (Math.abs(distance) < 1e-9) return undefined;
  const { focal, size } = camera;
  const perColumn = a / focal / distance;
  const perRow = -b / focal / distance;
  return [perColumn, perRow, c / distance - (perColumn * size.width) / 2 - (perRow * size.height) / 2];
}

/** Sutherland and Hodgman (1974) against one plane, into camera axes. */
function clipNear(camera: Camera, points: readonly number[]): readonly number[] {
  const axes: number[] = [];
  let isBehind = false;
  for (let i = 0; i < points.length; i += 3) {
    const [right, up, forward] = toCameraAxes(camera, points[i]!, points[i + 1]!, points[i + 2]!);
    axes.push(right, up, forward);
    isBehind ||= forward < NEAR_METRES;
  }
  if (!isBehind) return axes;
  const kept: number[] = [];
  for (let i = 0; i < axes.length; i += 3) {
    const j = (i + 3) % axes.length;
    const [d0, d1] = [axes[i + 2]! - NEAR_METRES, axes[j + 2]! - NEAR_METRES];
    if (d0 >= 0) kept.push(axes[i]!, axes[i + 1]!, axes[i + 2]!);
    if (d0 >= 0 === d1 >= 0) continue;
    const share = d0 / (d0 - d1);
    for (let k = 0; k < 3; k++) kept.push(axes[i + k]! + share * (axes[j + k]! - axes[i + k]!));
  }
  return kept;
}
