// The samples of one frame: a copy of the backdrop on which bodies, their shade and their lights are drawn.
import { type Backdrop, DECAL_BIAS, GROUND, shadowOf } from './backdrop.ts';
import type { Body } from './bodies.ts';
import { type Camera, type Face, rayInto } from './camera.ts';
import { fillPolygon } from './raster.ts';
import { shadeFaceInto } from './shade.ts';

export interface Canvas {
  readonly backdrop: Backdrop;
  /** Light, three a sample. */
  readonly light: Float32Array;
  readonly inverseDepth: Float32Array;
  /** 1 where the sun still reaches the ground. */
  readonly sunlit: Uint8Array;
  /** 1 + index of the body that is seen, 0 for none. */
  readonly owner: Uint16Array;
  /** 1 + index of the body that last covered the sample, hidden or not. */
  readonly covered: Uint16Array;
}

export function createCanvas(backdrop: Backdrop): Canvas {
  const samples = backdrop.kind.length;
  return {
    backdrop,
    light: new Float32Array(3 * samples),
    inverseDepth: new Float32Array(samples),
    sunlit: new Uint8Array(samples),
    owner: new Uint16Array(samples),
    covered: new Uint16Array(samples),
  };
}

/** Back to the backdrop alone. */
export function clearCanvas(canvas: Canvas): void {
  const { backdrop, light, inverseDepth, sunlit, owner, covered } = canvas;
  light.set(backdrop.lit);
  inverseDepth.set(backdrop.inverseDepth);
  sunlit.set(backdrop.sunlit);
  owner.fill(0);
  covered.fill(0);
}

/** The shade right under a body, soft at its edge; what an overcast sky leaves of a shadow. */
export function drawContactShade(canvas: Canvas, body: Body): void {
  const isSmall = body.width < 1;
  for (const [margin, kept] of isSmall ? SMALL_SHADE : LARGE_SHADE) {
    const outline = footprint(body, body.length / 2 + margin, body.width / 2 + margin);
    onGround(canvas, outline, (index) => {
      for (let i = 0; i < 3; i++) canvas.light[3 * index + i]! *= kept;
    });
  }
}

const LARGE_SHADE: readonly (readonly [number, number])[] = [
  [0.5, 0.9],
  [0.3, 0.85],
  [0.12, 0.75],
  [-0.05, 0.55],
];
const SMALL_SHADE: readonly (readonly [number, number])[] = [
  [0.2, 0.9],
  [0.05, 0.8],
  [-0.08, 0.75],
];

/** Takes the sun away where the body stands in its way, once however many of its faces do. */
export function drawSunShadow(canvas: Canvas, body: Body): void {
  const { lighting } = canvas.backdrop.shader;
  const { albedo } = canvas.backdrop;
  for (const face of body.faces) {
    onGround(canvas, shadowOf(face, lighting.sunDirection), (index) => {
      if (canvas.sunlit[index] === 0) return;
      canvas.sunlit[index] = 0;
      for (let i = 0; i < 3; i++) {
        canvas.light[3 * index + i]! -=
          albedo[3 * index + i]! * lighting.sun[i]! * lighting.sunDirection[2] * 0.96;
      }
    });
  }
}

const BEAM_METRES = 20;
/** Half its width at the vehicle, of the vehicle's width, and its growth for each metre ahead. */
const BEAM_START = 0.6;
const BEAM_SPREAD = 0.3;

/** What the headlights throw on the road: bright near the vehicle, wider and weaker ahead. */
export function drawBeam(canvas: Canvas, body: Body): void {
  const { backdrop, light } = canvas;
  const { camera, albedo } = backdrop;
  const { stand } = body;
  const [sin, cos] = [Math.sin(stand.heading), Math.cos(stand.heading)];
  const front = body.length / 2;
  const near = body.width * BEAM_START;
  const outline = beamOutline(body);
  const ray = new Float64Array(3);
  const [stepX, stepY, stepZ] = camera.right.map((value) => value / camera.focal) as [number, number, number];
  fillPolygon(camera, outline, (row, from, to) => {
    rayInto(ray, camera, from, row);
    let [rayX, rayY, rayZ] = [ray[0]!, ray[1]!, ray[2]!];
    for (let index = row * camera.size.width + from; index < row * camera.size.width + to; index++) {
      const depth = -camera.eye[2] / rayZ;
      const dx = camera.eye[0] + rayX * depth - stand.x;
      const dy = camera.eye[1] + rayY * depth - stand.y;
      rayX += stepX;
      rayY += stepY;
      rayZ += stepZ;
      const ahead = dx * sin + dy * cos - front;
      const aside = (dx * cos - dy * sin) / (near + ahead * BEAM_SPREAD);
      if (backdrop.kind[index] !== GROUND || ahead < 0 || aside > 1 || aside < -1) continue;
      const [fading, edge] = [1 - ahead / BEAM_METRES, 1 - aside * aside];
      const strength = (body.headlight * 0.75 * ahead * fading * fading * edge * edge) / (ahead + 1.2);
      light[3 * index]! += albedo[3 * index]! * strength;
      light[3 * index + 1]! += albedo[3 * index + 1]! * strength * 0.95;
      light[3 * index + 2]! += albedo[3 * index + 2]! * strength * 0.82;
    }
  });
}

function beamOutline({ stand, length, width }: Body): readonly number[] {
  const [sin, cos] = [Math.sin(stand.heading), Math.cos(stand.heading)];
  const corner = (ahead: number, right: number) => [
    stand.x + ahead * sin + right * cos,
    stand.y + ahead * cos - right * sin,
    0,
  ];
  const near = width * BEAM_START;
  const far = near + BEAM_METRES * BEAM_SPREAD;
  const [front, end] = [length / 2, length / 2 + BEAM_METRES];
  return [...corner(front, -near), ...corner(end, -far), ...corner(end, far), ...corner(front, near)];
}

/** The body upside down in a wet road, dim, without what is far above the ground. */
export function drawReflection(canvas: Canvas, body: Body): void {
  const colour = new Float64Array(3);
  for (const face of body.faces) {
    shadeFaceInto(colour, canvas.backdrop.shader, face, 0);
    const points = face.points.map((value, index) => (index % 3 === 2 ? -value : value));
    const isLamp = face.emission !== undefined;
    const share = isLamp ? 0.3 : 0.2;
    onGround(canvas, points, (index) => {
      for (let i = 0; i < 3; i++) {
        const before = canvas.light[3 * index + i]!;
        const isBrighter = isLamp && colour[i]! > before;
        canvas.light[3 * index + i] = before + share * (isBrighter || !isLamp ? colour[i]! - before : 0);
      }
    });
  }
}

/** Draws the body and remembers where it is, seen or hidden. Returns how many samples it covers. */
export function drawBody(canvas: Canvas, body: Body, mark: number): number {
  const { backdrop, light, inverseDepth, owner, covered } = canvas;
  const { width } = backdrop.camera.size;
  const visibility = sunAtFoot(canvas, body);
  const colour = new Float64Array(3);
  let count = 0;
  for (const face of body.faces) {
    shadeFaceInto(colour, backdrop.shader, face, visibility);
    const [red, green, blue] = colour as unknown as [number, number, number];
    const bias = face.decal === true ? DECAL_BIAS : 1;
    fillPolygon(backdrop.camera, face.points, (row, from, to, start, step) => {
      let value = start * bias;
      const end = row * width + to;
      for (let index = row * width + from; index < end; index++, value += step * bias) {
        if (covered[index] !== mark) {
          covered[index] = mark;
          count += 1;
        }
        if (value <= inverseDepth[index]!) continue;
        inverseDepth[index] = value;
        owner[index] = mark;
        light[3 * index] = red;
        light[3 * index + 1] = green;
        light[3 * index + 2] = blue;
      }
    });
  }
  return count;
}

/** Whether the sun reaches the ground where the body stands, tried at its middle and its ends. */
function sunAtFoot({ backdrop }: Canvas, body: Body): number {
  if (backdrop.shader.lighting.sun[0] === 0) return 0;
  const { camera } = backdrop;
  const outline = [body.stand.x, body.stand.y, 0];
  const [x, y] = outline as [number, number];
  const at = sampleOf(camera, x, y);
  if (at === undefined || backdrop.kind[at] !== GROUND) return 1;
  return backdrop.sunlit[at] === 1 ? 1 : 0.15;
}

function sampleOf(camera: Camera, x: number, y: number): number | undefined {
  const { right, up, forward, eye, focal, size } = camera;
  const [dx, dy, dz] = [x - eye[0], y - eye[1], -eye[2]];
  const depth = forward[0] * dx + forward[1] * dy + forward[2] * dz;
  if (depth < 1) return undefined;
  const column = Math.floor(size.width / 2 + (focal * (right[0] * dx + right[1] * dy)) / depth);
  const row = Math.floor(size.height / 2 - (focal * (up[0] * dx + up[1] * dy + up[2] * dz)) / depth);
  if (column < 0 || row < 0 || column >= size.width || row >= size.height) return undefined;
  return row * size.width + column;
}

function footprint({ stand }: Body, halfLength: number, halfWidth: number): readonly number[] {
  const [sin, cos] = [Math.sin(stand.heading), Math.cos(stand.heading)];
  const corner = (ahead: number, right: number): Face['points'] => [
    stand.x + ahead * sin + right * cos,
    stand.y + ahead * cos - right * sin,
    0,
  ];
  return [
    ...corner(-halfLength, -halfWidth),
    ...corner(halfLength, -halfWidth),
    ...corner(halfLength, halfWidth),
    ...corner(-halfLength, halfWidth),
  ];
}

/** Visits the samples of the polygon that show the ground. */
function onGround({ backdrop }: Canvas, points: readonly number[], visit: (index: number) => void): void {
  const { width } = backdrop.camera.size;
  const { kind } = backdrop;
  fillPolygon(backdrop.camera, points, (row, from, to) => {
    for (let index = row * width + from; index < row * width + to; index++) {
      if (kind[index] === GROUND) visit(index);
    }
  });
}
