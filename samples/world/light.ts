// How a scene is lit: sun and sky, lamps, headlights, haze, and how the sensor copes with it.
import { dot, normalised, type Vector } from './camera.ts';
import { type Colour, scaled } from './colour.ts';
import { createDraws } from './random.ts';

export type Light = 'sun' | 'overcast' | 'dusk' | 'night';
export type Weather = 'dry' | 'rain';

export const LIGHTS: readonly Light[] = ['sun', 'overcast', 'dusk', 'night'];

export interface Lighting {
  readonly light: Light;
  readonly isWet: boolean;
  /** Towards the sun. */
  readonly sunDirection: Vector;
  readonly sun: Colour;
  /** Light from above and, thrown back by the ground, from below. */
  readonly sky: Colour;
  readonly bounce: Colour;
  readonly zenith: Colour;
  readonly horizon: Colour;
  /** Share of light lost per metre. */
  readonly hazePerMetre: number;
  /** Candela, in the world's unit of light. */
  readonly lamp: Colour;
  readonly headlight: number;
  /** Share of windows with light in them. */
  readonly litWindows: number;
  readonly exposure: number;
  /** Tint of the camera's white balance. */
  readonly whiteBalance: Colour;
  /** Noise of a sample at level 0 and its growth with the square root of the level. */
  readonly readNoise: number;
  readonly shotNoise: number;
  /** Share of a pixel's light that its neighbours get, along each axis. */
  readonly blur: number;
  readonly glare: number;
}

type Recipe = Omit<Lighting, 'light' | 'isWet' | 'sunDirection'>;

const RECIPES: Readonly<Record<Light, Recipe>> = {
  sun: {
    sun: [2.9, 2.65, 2.25],
    sky: [0.62, 0.76, 1.0],
    bounce: [0.34, 0.32, 0.29],
    zenith: [0.2, 0.42, 0.85],
    horizon: [0.72, 0.82, 0.95],
    hazePerMetre: 0.0012,
    lamp: [0, 0, 0],
    headlight: 0.12,
    litWindows: 0,
    exposure: 0.95,
    whiteBalance: [1.02, 1, 0.97],
    readNoise: 0.002,
    shotNoise: 0.012,
    blur: 0.1,
    glare: 0.05,
  },
  overcast: {
    sun: [0, 0, 0],
    sky: [1.02, 1.08, 1.14],
    bounce: [0.34, 0.34, 0.33],
    zenith: [0.85, 0.9, 0.97],
    horizon: [0.95, 0.98, 1.0],
    hazePerMetre: 0.0025,
    lamp: [0, 0, 0],
    headlight: 0.2,
    litWindows: 0.08,
    exposure: 1.55,
    whiteBalance: [0.98, 1, 1.03],
    readNoise: 0.003,
    shotNoise: 0.016,
    blur: 0.12,
    glare: 0.05,
  },
  dusk: {
    sun: [0, 0, 0],
    sky: [0.095, 0.088, 0.112],
    bounce: [0.045, 0.034, 0.03],
    zenith: [0.05, 0.075, 0.16],
    horizon: [0.25, 0.145, 0.09],
    hazePerMetre: 0.0022,
    lamp: [1.9, 1.25, 0.62],
    headlight: 1.6,
    litWindows: 0.4,
    exposure: 2.7,
    whiteBalance: [1.12, 0.97, 0.82],
    readNoise: 0.008,
    shotNoise: 0.028,
    blur: 0.16,
    glare: 0.22,
  },
  night: {
    sun: [0, 0, 0],
    sky: [0.0075, 0.0085, 0.013],
    bounce: [0.006, 0.0052, 0.0045],
    zenith: [0.0025, 0.003, 0.006],
    horizon: [0.02, 0.016, 0.014],
    hazePerMetre: 0.0015,
    lamp: [2.1, 1.45, 0.8],
    headlight: 1.5,
    litWindows: 0.3,
    exposure: 3.4,
    whiteBalance: [1.05, 1, 0.88],
    readNoise: 0.012,
    shotNoise: 0.045,
    blur: 0.19,
    glare: 0.32,
  },
};

/** The light of one scene: seeds move the sun and the exposure. */
export function createLighting(light: Light, weather: Weather, seed: number): Lighting {
  const draws = createDraws(seed * 31 + 5);
  const elevation = draws.between(24, 62) * (Math.PI / 180);
  const azimuth = draws.between(0, 2 * Math.PI);
  const recipe = RECIPES[light];
  const isWet = weather === 'rain';
  const exposure = recipe.exposure * draws.between(0.85, 1.18);
  const base: Lighting = {
    ...recipe,
    light,
    isWet,
    exposure,
    sunDirection: [
      Math.sin(azimuth) * Math.cos(elevation),
      Math.cos(azimuth) * Math.cos(elevation),
      Math.sin(elevation),
    ],
  };
  return isWet ? inRain(base) : base;
}

/** Rain hides the sun, scatters more and makes drivers switch on their lights. */
function inRain(dry: Lighting): Lighting {
  const isSun = dry.light === 'sun';
  const overcast = RECIPES.overcast;
  return {
    ...dry,
    ...(isSun ? { sun: overcast.sun, zenith: overcast.zenith, horizon: scaled(overcast.horizon, 0.8) } : {}),
    sky: isSun ? scaled(overcast.sky, 0.72) : scaled(dry.sky, 0.8),
    exposure: isSun ? overcast.exposure * 0.85 : dry.exposure,
    hazePerMetre: dry.hazePerMetre + 0.003,
    headlight: Math.max(dry.headlight, 0.9),
    blur: dry.blur + 0.06,
    readNoise: dry.readNoise * 1.2,
  };
}

/** A street lamp: where its light hangs. */
export interface Lamp {
  readonly at: Vector;
}

/** Light that falls on a face at a place; `sunVisibility` is 0 in shadow. Writes three numbers into `into`. */
export function irradianceInto(
  into: Float64Array,
  lighting: Lighting,
  lamps: readonly Lamp[],
  at: Vector,
  normal: Vector,
  sunVisibility: number,
): void {
  const upwards = 0.5 + 0.5 * normal[2];
  const sunShare = sunVisibility * Math.max(0, dot(normal, lighting.sunDirection));
  const lampShare = lighting.lamp[0] === 0 ? 0 : lampIrradiance(lamps, at, normal);
  for (let i = 0; i < 3; i++) {
    into[i] =
      lighting.sky[i]! * upwards +
      lighting.bounce[i]! * (1 - upwards) +
      lighting.sun[i]! * sunShare +
      lighting.lamp[i]! * lampShare;
  }
}

function lampIrradiance(lamps: readonly Lamp[], at: Vector, normal: Vector): number {
  let sum = 0;
  for (const lamp of lamps) {
    const [dx, dy, dz] = [lamp.at[0] - at[0], lamp.at[1] - at[1], lamp.at[2] - at[2]];
    const square = Math.max(dx * dx + dy * dy + dz * dz, 25);
    if (square > 1600 || dz <= 0) continue;
    const facing = normal[0] * dx + normal[1] * dy + normal[2] * dz;
    // A little reaches faces that look away: the air and the neighbourhood scatter it.
    const lit = Math.max(facing, 0.12 * dz);
    sum += lit / (square * Math.sqrt(square));
  }
  return sum * LAMP_GAIN;
}

const LAMP_GAIN = 2;

/** Light of the sky in a direction with this upward part. */
export function skyColour(lighting: Lighting, upwards: number): Colour {
  const share = Math.min(1, Math.max(0, upwards) * 2.6) ** 0.6;
  const { horizon, zenith } = lighting;
  return [
    horizon[0] + (zenith[0] - horizon[0]) * share,
    horizon[1] + (zenith[1] - horizon[1]) * share,
    horizon[2] + (zenith[2] - horizon[2]) * share,
  ];
}

/** Normal of the ground. */
export const UPWARDS: Vector = normalised([0, 0, 1]);
