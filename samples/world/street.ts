// What stands along the road of one camera: lanes, pavements, and where the camera hangs. Places are given as
// `s`, metres along the road, and `d`, metres to the right of its middle.
import type { CameraPose } from './camera.ts';
import { type Colour, paint } from './colour.ts';
import { createDraws, type Draws } from './random.ts';

export interface Street {
  readonly camera: number;
  /** 1/radius of the road's middle, positive to the right; 0 where straight. */
  readonly curvature: number;
  readonly laneWidth: number;
  readonly lanesPerSide: number;
  /** Width between the two directions. */
  readonly median: number;
  readonly hasBikeLane: boolean;
  /** Parking lanes to the left and to the right. */
  readonly hasParking: readonly [boolean, boolean];
  readonly pavement: number;
  /** Grass or paving between pavement and houses. */
  readonly setback: number;
  readonly isGreen: boolean;
  /** Where the zebra crossing begins. */
  readonly zebraAt: number;
  readonly lampSpacing: number;
  readonly lampHeight: number;
  readonly asphalt: Colour;
  readonly paving: Colour;
  readonly pose: CameraPose;
  /** Where the camera's pole stands. */
  readonly poleAt: number;
}

export const PARKING_METRES = 2.2;
export const ZEBRA_METRES = 3.6;
const BIKE_LANE_METRES = 1.6;

/** Distance of the lanes' outer edge from the middle. */
export function roadHalf(street: Street): number {
  const bikeLane = street.hasBikeLane ? BIKE_LANE_METRES : 0;
  return street.median / 2 + street.lanesPerSide * street.laneWidth + bikeLane;
}

/** Distance of the kerb from the middle; `side` is −1 to the left, 1 to the right. */
export function kerbAt(street: Street, side: number): number {
  return roadHalf(street) + (street.hasParking[side < 0 ? 0 : 1] ? PARKING_METRES : 0);
}

/** Place in the world and heading (clockwise from north) of the road there. */
export function toWorld(street: Street, s: number, d: number): readonly [number, number, number] {
  if (street.curvature === 0) return [d, s, 0];
  const radius = 1 / street.curvature;
  const angle = s * street.curvature;
  return [radius - (radius - d) * Math.cos(angle), (radius - d) * Math.sin(angle), angle];
}

/** The inverse, on the ground. */
export function toStreet(street: Street, x: number, y: number): readonly [number, number] {
  if (street.curvature === 0) return [y, x];
  const radius = 1 / street.curvature;
  const sign = Math.sign(radius);
  const [dx, dy] = [(radius - x) * sign, y * sign];
  return [Math.atan2(dy * sign, dx) * Math.abs(radius), radius - sign * Math.hypot(dx, dy)];
}

export function createStreet(camera: number, aspect: number): Street {
  const draws = createDraws(camera * 7919 + 17);
  const isGreen = draws.chance(0.45);
  const plain = {
    camera,
    curvature: draws.chance(0.4) ? 0 : draws.pick([-1, 1]) / draws.between(110, 260),
    laneWidth: draws.between(3, 3.5),
    lanesPerSide: draws.chance(0.45) ? 2 : 1,
    median: draws.chance(0.3) ? draws.between(1.2, 2.6) : 0,
    hasBikeLane: draws.chance(0.5),
    hasParking: [draws.chance(0.55), draws.chance(0.55)] as const,
    pavement: draws.between(2.8, 4.6),
    setback: isGreen ? draws.between(3, 8) : draws.between(0, 2.5),
    isGreen,
    zebraAt: draws.between(22, 40),
    lampSpacing: draws.between(20, 30),
    lampHeight: draws.between(6, 8.5),
    asphalt: draws.pick([paint(0x57575a), paint(0x66635f), paint(0x4b4c50), paint(0x6f6e6c)]),
    paving: draws.pick([paint(0x9c958b), paint(0x8c8a88), paint(0xa38f7f), paint(0x8f9496)]),
  };
  return { ...plain, ...placeCamera(plain, draws, aspect) };
}

type PlainStreet = Omit<Street, 'pose' | 'poleAt'>;

function placeCamera(street: PlainStreet, draws: Draws, aspect: number): Pick<Street, 'pose' | 'poleAt'> {
  const side = draws.pick([-1, 1]);
  const isGantry = draws.chance(0.2);
  const kerb = kerbAt(street as Street, side);
  const d = isGantry ? draws.between(-2, 2) : side * (kerb + draws.between(0.6, street.pavement - 0.6));
  const height = isGantry ? draws.between(6.5, 9) : draws.between(5, 8.5);
  const viewRadians = draws.between(52, 74) * (Math.PI / 180);
  const verticalRadians = 2 * Math.atan(Math.tan(viewRadians / 2) / aspect);
  const turn = isGantry ? draws.between(-0.12, 0.12) : -side * draws.between(0.12, 0.62);
  const s = draws.between(-6, 0);
  const [x, y, heading] = toWorld(street as Street, s, d);
  return {
    poleAt: d,
    pose: {
      eye: [x, y, height],
      yawRadians: heading + turn,
      // The horizon lies this share of the picture below its upper edge.
      pitchRadians: verticalRadians * (0.5 - draws.between(0.03, 0.2)),
      viewRadians,
    },
  };
}
