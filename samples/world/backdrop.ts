// All that does not move, drawn and lit once per scene: every frame starts from a copy of it.
import { type Camera, type Face, rayInto, type Vector } from './camera.ts';
import { createFurniture } from './furniture.ts';
import { createGroundPainter } from './ground.ts';
import { createHouses, type Wall } from './houses.ts';
import { irradianceInto, type Lighting, skyColour, UPWARDS } from './light.ts';
import { valueNoise } from './random.ts';
import { fillPolygon } from './raster.ts';
import { hazeInto, type Shader, shadeFaceInto } from './shade.ts';
import { type Street, toStreet } from './street.ts';

export const GROUND = 1;
const BODY = 2;

/** Samples of the still picture, row by row. */
export interface Backdrop {
  readonly camera: Camera;
  readonly shader: Shader;
  /** Light, three a sample. */
  readonly lit: Float32Array;
  /** Reflectance of the ground, three a sample. */
  readonly albedo: Float32Array;
  /** 1/depth; 0 in the sky. */
  readonly inverseDepth: Float32Array;
  /** GROUND, BODY, or 0 for the sky. */
  readonly kind: Uint8Array;
  /** 1 where the sun reaches the ground. */
  readonly sunlit: Uint8Array;
}

export function createBackdrop(street: Street, lighting: Lighting, camera: Camera, seed: number): Backdrop {
  const samples = camera.size.width * camera.size.height;
  const furniture = createFurniture(street, lighting);
  const backdrop: Backdrop = {
    camera,
    shader: { lighting, lamps: furniture.lamps, eye: camera.eye },
    lit: new Float32Array(3 * samples),
    albedo: new Float32Array(3 * samples),
    inverseDepth: new Float32Array(samples),
    kind: new Uint8Array(samples),
    sunlit: new Uint8Array(samples),
  };
  layGround(backdrop, street, seed);
  const walls = createHouses(street, lighting);
  for (const wall of walls) drawWall(backdrop, wall);
  for (const face of furniture.faces) drawStillFace(backdrop, face);
  if (lighting.sun[0] > 0) {
    for (const { face } of walls) castStillShadow(backdrop, face);
    for (const face of furniture.faces) castStillShadow(backdrop, face);
  }
  lightGround(backdrop);
  return backdrop;
}

function layGround(backdrop: Backdrop, street: Street, seed: number): void {
  const { camera, lit, albedo, inverseDepth, kind, sunlit } = backdrop;
  const { lighting } = backdrop.shader;
  const { width, height } = camera.size;
  const paintGround = createGroundPainter(street);
  const colour = new Float64Array(3);
  const ray = new Float64Array(3);
  for (let row = 0, index = 0; row < height; row++) {
    for (let column = 0; column < width; column++, index++) {
      rayInto(ray, camera, column, row);
      const [ahead, side, rise] = [ray[0]!, ray[1]!, ray[2]!];
      if (rise >= -0.002) {
        paintSky(colour, lighting, ray, seed);
        putColour(lit, index, colour);
        continue;
      }
      const depth = -camera.eye[2] / rise;
      const [s, d] = toStreet(street, camera.eye[0] + ahead * depth, camera.eye[1] + side * depth);
      paintGround(colour, s, d, depth / camera.focal / -rise);
      putColour(albedo, index, colour);
      inverseDepth[index] = 1 / depth;
      kind[index] = GROUND;
      sunlit[index] = 1;
    }
  }
}

function paintSky(into: Float64Array, lighting: Lighting, ray: Float64Array, seed: number): void {
  const [x, y, z] = [ray[0]!, ray[1]!, ray[2]!];
  const upwards = z / Math.hypot(x, y, z);
  const sky = skyColour(lighting, upwards);
  const bearing = Math.atan2(x, y);
  const cloud =
    valueNoise(bearing * 6, upwards * 26, seed) * 0.65 +
    valueNoise(bearing * 15, upwards * 60, seed + 1) * 0.35;
  const cover = Math.max(0, cloud - 0.45) * 1.5;
  const brightness = lighting.horizon[1] * 1.15;
  for (let i = 0; i < 3; i++) into[i] = sky[i]! * (1 - cover) + brightness * cover;
}

/** Whether a point of a polygon at this depth is nearer than what is there. */
function isNearer(backdrop: Backdrop, index: number, inverseDepth: number): boolean {
  return inverseDepth > backdrop.inverseDepth[index]!;
}

function drawStillFace(backdrop: Backdrop, face: Face): void {
  const colour = new Float64Array(3);
  shadeFaceInto(colour, backdrop.shader, face, 1);
  const bias = face.decal === true ? DECAL_BIAS : 1;
  fillPolygon(backdrop.camera, face.points, (row, from, to, start, step) => {
    for (let column = from, value = start * bias; column < to; column++, value += step * bias) {
      const index = row * backdrop.camera.size.width + column;
      if (isNearer(backdrop, index, value)) putBody(backdrop, index, value, colour);
    }
  });
}

/** A decal wins over the face it lies on as if it were this much nearer. */
export const DECAL_BIAS = 1.001;

function putBody(backdrop: Backdrop, index: number, inverseDepth: number, colour: Float64Array): void {
  putColour(backdrop.lit, index, colour);
  backdrop.inverseDepth[index] = inverseDepth;
  backdrop.kind[index] = BODY;
  backdrop.sunlit[index] = 0;
}

function drawWall(backdrop: Backdrop, { face, pattern }: Wall): void {
  if (pattern === undefined) {
    drawStillFace(backdrop, face);
    return;
  }
  const { camera, shader } = backdrop;
  const [x0, y0, , x1, y1] = face.points as readonly number[] as [number, number, number, number, number];
  const length = Math.hypot(x1 - x0, y1 - y0);
  const plain = new Float64Array(3);
  shadeFaceInto(plain, { ...shader, lighting: clear(shader.lighting) }, { ...face, colour: [1, 1, 1] }, 1);
  const texture = new Float64Array(7);
  const colour = new Float64Array(3);
  const ray = new Float64Array(3);
  const sky = skyColour(shader.lighting, 0.3);
  fillPolygon(camera, face.points, (row, from, to, start, step) => {
    for (let column = from, value = start; column < to; column++, value += step) {
      const index = row * camera.size.width + column;
      if (!isNearer(backdrop, index, value)) continue;
      rayInto(ray, camera, column, row);
      const [x, y] = [camera.eye[0] + ray[0]! / value, camera.eye[1] + ray[1]! / value];
      const along = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length;
      pattern(texture, along, camera.eye[2] + ray[2]! / value);
      for (let i = 0; i < 3; i++) {
        colour[i] = texture[i]! * plain[i]! + texture[3 + i]! + texture[6]! * sky[i]!;
      }
      hazeInto(colour, shader.lighting, 1 / value);
      putBody(backdrop, index, value, colour);
    }
  });
}

/** Haze comes after the pattern. */
function clear(lighting: Lighting): Lighting {
  return { ...lighting, hazePerMetre: 0 };
}

/** The face's shadow on the ground, as a polygon; undefined where no sun is. */
export function shadowOf(face: Face, sunDirection: Vector): readonly number[] {
  const points = new Array<number>(face.points.length);
  for (let i = 0; i < points.length; i += 3) {
    const reach = face.points[i + 2]! / sunDirection[2];
    points[i] = face.points[i]! - sunDirection[0] * reach;
    points[i + 1] = face.points[i + 1]! - sunDirection[1] * reach;
    points[i + 2] = 0;
  }
  return points;
}

function castStillShadow(backdrop: Backdrop, face: Face): void {
  const { width } = backdrop.camera.size;
  const outline = shadowOf(face, backdrop.shader.lighting.sunDirection);
  fillPolygon(backdrop.camera, outline, (row, from, to) => {
    backdrop.sunlit.fill(0, row * width + from, row * width + to);
  });
}

function lightGround(backdrop: Backdrop): void {
  const { camera, shader, lit, albedo, kind, inverseDepth, sunlit } = backdrop;
  const irradiance = new Float64Array(3);
  const colour = new Float64Array(3);
  const ray = new Float64Array(3);
  const wet = shader.lighting.isWet ? 0.55 : 1;
  for (let index = 0; index < kind.length; index++) {
    if (kind[index] !== GROUND) continue;
    const column = index % camera.size.width;
    rayInto(ray, camera, column, (index - column) / camera.size.width);
    const depth = 1 / inverseDepth[index]!;
    const at: Vector = [camera.eye[0] + ray[0]! * depth, camera.eye[1] + ray[1]! * depth, 0];
    irradianceInto(irradiance, shader.lighting, shader.lamps, at, UPWARDS, sunlit[index]!);
    const mirrored = shader.lighting.isWet ? 0.06 + 0.26 * Math.min(1, depth / 60) : 0;
    for (let i = 0; i < 3; i++) {
      const surface = albedo[3 * index + i]! * wet;
      albedo[3 * index + i] = surface;
      colour[i] = surface * irradiance[i]! + mirrored * shader.lighting.horizon[i]! * 0.5;
    }
    hazeInto(colour, shader.lighting, depth);
    putColour(lit, index, colour);
  }
}

function putColour(target: Float32Array, index: number, colour: Float64Array): void {
  target[3 * index] = colour[0]!;
  target[3 * index + 1] = colour[1]!;
  target[3 * index + 2] = colour[2]!;
}
