// The colour of one flat face as the camera sees it: light that falls on it, sky that it mirrors, light of its own,
// and the haze before it.
import { dot, type Face, normalOf, type Vector } from './camera.ts';
import { irradianceInto, type Lamp, type Lighting, skyColour } from './light.ts';

export interface Shader {
  readonly lighting: Lighting;
  readonly lamps: readonly Lamp[];
  readonly eye: Vector;
}

const irradiance = new Float64Array(3);

/** Writes the light that a face (in world axes) sends to the camera into `into`. */
export function shadeFaceInto(into: Float64Array, shader: Shader, face: Face, sunVisibility: number): void {
  const { lighting, eye } = shader;
  const centre = centreOf(face.points);
  const toEye: Vector = [eye[0] - centre[0], eye[1] - centre[1], eye[2] - centre[2]];
  const distance = Math.hypot(...toEye);
  const plane = face.normal ?? normalOf(face.points);
  const facing = dot(plane, toEye) / distance;
  // Faces are closed bodies' skins: whichever side is seen is the outside.
  const turn = face.normal === undefined && facing < 0 ? -1 : 1;
  const normal: Vector = [plane[0] * turn, plane[1] * turn, plane[2] * turn];
  irradianceInto(irradiance, lighting, shader.lamps, centre, normal, sunVisibility);
  const cosine = Math.abs(facing);
  const mirrored = face.gloss === undefined ? 0 : face.gloss * (0.35 + 1.6 * (1 - cosine) ** 3);
  const upwards = 2 * cosine * normal[2] - toEye[2] / distance;
  const sky = skyColour(lighting, Math.max(0.05, upwards));
  const glint = mirrored > 0 ? sunGlint(lighting, normal, toEye, distance) * sunVisibility : 0;
  const beam = face.directed === true ? Math.max(0, facing) ** 3 : 1;
  // Lower parts see less of the sky.
  const shade = 0.72 + 0.28 * Math.min(1, centre[2] / 0.9);
  for (let i = 0; i < 3; i++) {
    const own = (face.emission?.[i] ?? 0) * beam;
    const reflected = mirrored * ((upwards > 0 ? sky[i]! : lighting.bounce[i]!) + glint * lighting.sun[i]!);
    into[i] = face.colour[i]! * irradiance[i]! * shade + reflected + own;
  }
  hazeInto(into, lighting, distance);
}

export function hazeInto(into: Float64Array, lighting: Lighting, distance: number): void {
  const kept = Math.exp(-lighting.hazePerMetre * distance);
  for (let i = 0; i < 3; i++) into[i] = into[i]! * kept + lighting.horizon[i]! * 0.8 * (1 - kept);
}

function sunGlint(lighting: Lighting, normal: Vector, toEye: Vector, distance: number): number {
  if (lighting.sun[0] === 0) return 0;
  const along = dot(normal, lighting.sunDirection);
  const reflected =
    2 * along * (dot(normal, toEye) / distance) - dot(lighting.sunDirection, toEye) / distance;
  return reflected > 0.9 ? ((reflected - 0.9) / 0.1) ** 3 * 6 : 0;
}

function centreOf(points: readonly number[]): Vector {
  let [x, y, z] = [0, 0, 0];
  for (let i = 0; i < points.length; i += 3) {
    x += points[i]!;
    y += points[i + 1]!;
    z += points[i + 2]!;
  }
  const count = points.length / 3;
  return [x / count, y / count, z / count];
}
