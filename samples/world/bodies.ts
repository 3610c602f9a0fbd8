// Actors as faces in the world, with what their lights do.
import type { Face, Vector } from './camera.ts';
import type { Lighting } from './light.ts';
import { buildBike, buildPerson } from './people.ts';
import { chanceOf } from './random.ts';
import { placeFaces, type Stand, toOwnAxes } from './shapes.ts';
import { type Street, toWorld } from './street.ts';
import type { Actor } from './traffic.ts';
import { buildBus, buildCar, buildLorry, type Vehicle, type VehicleLights } from './vehicles.ts';

export interface Body {
  readonly actor: Actor;
  readonly stand: Stand;
  /** In world axes. */
  readonly faces: readonly Face[];
  readonly length: number;
  readonly width: number;
  /** Strength of its headlights on the road, 0 where they are off. */
  readonly headlight: number;
}

export function embody(
  actor: Actor,
  street: Street,
  lighting: Lighting,
  eye: Vector,
  timeSeconds: number,
): Body {
  const [x, y, heading] = toWorld(street, actor.s, actor.d);
  const stand: Stand = { x, y, z: 0, heading: heading + actor.turnRadians };
  const lights = lightsOf(actor, lighting);
  const shape = shapeOf(actor, toOwnAxes(stand, eye), lights, lighting.isWet, timeSeconds);
  const { length, width } = shape;
  return { actor, stand, faces: placeFaces(shape.faces, stand), length, width, headlight: lights.headlight };
}

/** By day, some drive with their lights on; parked cars have none. */
function lightsOf(actor: Actor, lighting: Lighting): VehicleLights {
  const isMoving = actor.speed > 0;
  const isDark = lighting.headlight > 0.5;
  const isOn = isMoving && (isDark ? chanceOf(actor.seed, 91) > 0.03 : chanceOf(actor.seed, 92) > 0.5);
  const isBraking = isMoving && chanceOf(actor.seed, 93) < (actor.speed < 5 ? 0.45 : 0.12);
  return {
    headlight: isOn ? lighting.headlight * (0.7 + 0.6 * chanceOf(actor.seed, 94)) : 0,
    cabin: lighting.litWindows > 0.2 ? 0.09 : 0,
    isBraking,
  };
}

function shapeOf(
  actor: Actor,
  eye: Vector,
  lights: VehicleLights,
  isRaining: boolean,
  timeSeconds: number,
): Vehicle {
  const phase = (timeSeconds * actor.speed * 2 * Math.PI) / 1.5 + chanceOf(actor.seed, 95) * 6.28;
  switch (actor.className) {
    case 'car':
      return buildCar(actor.seed, lights);
    case 'lorry':
      return buildLorry(actor.seed, lights);
    case 'bus':
      return buildBus(actor.seed, lights);
    case 'bike':
      return buildBike(actor.seed, eye, phase / 3, lights);
    case 'person':
      return buildPerson(actor.seed, eye, { phase, stride: actor.speed > 0 ? 1 : 0.12, isRaining });
    default:
      return actor.className satisfies never;
  }
}
