// One moment of a scene as a picture with exact boxes.
import { type Body, embody } from './bodies.ts';
import {
  type Canvas,
  clearCanvas,
  drawBeam,
  drawBody,
  drawContactShade,
  drawReflection,
  drawSunShadow,
} from './canvas.ts';
import { growByOutline } from './raster.ts';
import { type Scene, SUPERSAMPLING } from './scene.ts';
import { expose } from './sensor.ts';
import { actorsAt, type ClassName } from './traffic.ts';

export interface WorldObject {
  readonly className: ClassName;
  /** Edges in px of what is seen of it, to half a px. */
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
  /** Share of its part in the picture that other things hide: [0, 0.7]. */
  readonly occludedFraction: number;
  readonly id: number;
}

export interface WorldFrame {
  /** rgb24 [height, width, 3]. */
  readonly rgb: Uint8Array;
  readonly objects: readonly WorldObject[];
}

/** Share of an object's part in the picture that is seen, at least: less is not labelled. */
export const LEAST_VISIBLE = 0.3;
/** Of what the border cuts off so far that less than this is inside, only large pieces are labelled. */
const LEAST_INSIDE = 0.3;
const LARGE_PIECE = 0.01;
/** Shorter and longer side of a box, in px of a picture 320 px wide, at least. */
export const LEAST_SIDES_PX: readonly [number, number] = [4, 8];
const LEAST_SIDES_WIDTH_PX = 320;

export function renderFrame(scene: Scene, timeSeconds: number): WorldFrame {
  const drawn = drawBodies(scene, timeSeconds);
  return { rgb: expose(scene, drawn.canvas.light, timeSeconds), objects: objectsOf(drawn) };
}

interface Drawn {
  readonly canvas: Canvas;
  readonly bodies: readonly Body[];
  /** Samples that each body would show if nothing stood before it. */
  readonly coveredSamples: readonly number[];
}

/** Where each body is seen; the test of the boxes compares with this. */
export function drawBodies(scene: Scene, timeSeconds: number): Drawn {
  const { street, lighting, backdrop, canvas } = scene;
  clearCanvas(canvas);
  const bodies = actorsAt(scene.traffic, timeSeconds).map((actor) =>
    embody(actor, street, lighting, backdrop.camera.eye, timeSeconds),
  );
  const isSunny = lighting.sun[0] > 0;
  for (const body of bodies) drawContactShade(canvas, body);
  if (isSunny) for (const body of bodies) drawSunShadow(canvas, body);
  if (lighting.headlight > 0.5) {
    for (const body of bodies) if (body.headlight > 0) drawBeam(canvas, body);
  }
  if (lighting.isWet) for (const body of bodies) drawReflection(canvas, body);
  const coveredSamples = bodies.map((body, index) => drawBody(canvas, body, index + 1));
  return { canvas, bodies, coveredSamples };
}

interface Extent {
  count: number;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function objectsOf({ canvas, bodies, coveredSamples }: Drawn): readonly WorldObject[] {
  const extents = extentsOf(canvas, bodies.length);
  const scale = canvas.backdrop.camera.size.width / SUPERSAMPLING / LEAST_SIDES_WIDTH_PX;
  return bodies.flatMap((body, index) => {
    const extent = extents[index]!;
    const visible = extent.count === 0 ? 0 : extent.count / coveredSamples[index]!;
    const object: WorldObject = {
      className: body.actor.className,
      x1: extent.left / SUPERSAMPLING,
      y1: extent.top / SUPERSAMPLING,
      x2: extent.right / SUPERSAMPLING,
      y2: extent.bottom / SUPERSAMPLING,
      occludedFraction: Math.round((1 - visible) * 1000) / 1000,
      id: body.actor.id,
    };
    if (visible < LEAST_VISIBLE || !isLargeEnough(object, scale)) return [];
    const isPiece = shareInside(canvas, body) < LEAST_INSIDE;
    const isLarge = extent.count >= LARGE_PIECE * canvas.owner.length;
    return isPiece && !isLarge ? [] : [object];
  });
}

function isLargeEnough({ x1, y1, x2, y2 }: WorldObject, scale: number): boolean {
  const [shorter, longer] = [Math.min(x2 - x1, y2 - y1), Math.max(x2 - x1, y2 - y1)];
  return shorter >= LEAST_SIDES_PX[0] * scale && longer >= LEAST_SIDES_PX[1] * scale;
}

function extentsOf({ owner, backdrop }: Canvas, bodyCount: number): readonly Extent[] {
  const { width, height } = backdrop.camera.size;
  const extents = Array.from({ length: bodyCount }, () => ({
    count: 0,
    left: width,
    top: height,
    right: 0,
    bottom: 0,
  }));
  for (let row = 0, index = 0; row < height; row++) {
    for (let column = 0; column < width; column++, index++) {
      const mark = owner[index]!;
      if (mark === 0) continue;
      const extent = extents[mark - 1]!;
      extent.count += 1;
      if (column < extent.left) extent.left = column;
      if (column >= extent.right) extent.right = column + 1;
      if (row < extent.top) extent.top = row;
      extent.bottom = row + 1;
    }
  }
  return extents;
}

/** Share of the whole body's box that lies inside the picture. */
function shareInside({ backdrop }: Canvas, body: Body): number {
  const { width, height } = backdrop.camera.size;
  const box: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const face of body.faces) growByOutline(backdrop.camera, face.points, box);
  const [x1, y1, x2, y2] = box;
  const whole = (x2 - x1) * (y2 - y1);
  const seenWidth = Math.max(0, Math.min(width, x2) - Math.max(0, x1));
  const seenHeight = Math.max(0, Math.min(height, y2) - Math.max(0, y1));
  return whole > 0 ? (seenWidth * seenHeight) / whole : 0;
}
