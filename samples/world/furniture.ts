// What stands still beside the road: lamps, trees, and the clutter of a pavement. Fixed by the camera.
import type { Face, Vector } from './camera.ts';
import { type Colour, paint, scaled } from './colour.ts';
import type { Lamp, Lighting } from './light.ts';
import { buildProp, PAVEMENT_PROPS, type PropKind } from './props.ts';
import { chanceOf, createDraws, type Draws, hash } from './random.ts';
import { addBox, addColumn, placeFaces, type Stand, toOwnAxes } from './shapes.ts';
import { kerbAt, PARKING_METRES, roadHalf, type Street, toWorld } from './street.ts';

export interface Furniture {
  readonly faces: readonly Face[];
  readonly lamps: readonly Lamp[];
}

const BAY_METRES = 6;
/** Nearer to the camera, a tree or a sign would hide the street. */
const CLEAR_METRES = 13;

export function createFurniture(street: Street, lighting: Lighting): Furniture {
  const faces: Face[] = [];
  const lamps: Lamp[] = [];
  for (const side of [-1, 1]) {
    const draws = createDraws(street.camera * 61 + side);
    addLamps(faces, lamps, street, lighting, side);
    addTrees(faces, street, draws, side);
    addClutter(faces, street, draws, side);
    addParkedProps(faces, street, side);
  }
  return { faces, lamps };
}

/** A bay that something other than a car has taken for as long as the camera hangs there. */
export function isBayTaken(street: Street, side: number, bay: number): boolean {
  return chanceOf(street.camera, side + 2, bay, 77) < 0.13;
}

/** Middle of a parking bay along the road. */
export function bayAt(bay: number): number {
  return bay * BAY_METRES;
}

function standAt(street: Street, s: number, d: number, turn = 0): Stand {
  const [x, y, heading] = toWorld(street, s, d);
  return { x, y, z: 0, heading: heading + turn };
}

function addLamps(faces: Face[], lamps: Lamp[], street: Street, lighting: Lighting, side: number): void {
  const d = kerbAt(street, side) + 0.5;
  const metal = paint(0x50565a);
  const height = street.lampHeight;
  for (let s = -10 + (side > 0 ? street.lampSpacing / 2 : 0); s < 130; s += street.lampSpacing) {
    const stand = standAt(street, s, side * d);
    const own: Face[] = [];
    const reach = -2.4 * side;
    addColumn(own, [0, 0, 0], [height, 0.1, 0.06], metal);
    addBox(own, [-0.04, 0.04, Math.min(0, reach), Math.max(0, reach), height - 0.05, height + 0.05], metal);
    const glow = scaled(lighting.lamp, 1.6);
    const [y0, y1] = [reach - 0.35, reach + 0.35];
    addBox(own, [-0.13, 0.13, y0, y1, height - 0.14, height - 0.02], [0.6, 0.6, 0.55], { emission: glow });
    addBox(own, [-0.16, 0.16, y0 - 0.05, y1 + 0.05, height - 0.02, height + 0.1], metal);
    const isNear = Math.abs(s) < 7;
    if (!isNear) faces.push(...placeFaces(own, stand));
    const [x, y] = toWorld(street, s, side * (d - 2.4));
    lamps.push({ at: [x, y, height - 0.15] });
  }
}

const LEAVES = [0x3e5a2b, 0x4a6b31, 0x55743a, 0x36512a, 0x627f3f];

function addTrees(faces: Face[], street: Street, draws: Draws, side: number): void {
  const kerb = kerbAt(street, side);
  const isAvenue = draws.chance(0.6);
  for (let s = CLEAR_METRES + draws.between(0, 8); s < 120; s += draws.between(9, 17)) {
    if (!isAvenue && !street.isGreen) continue;
    const far = kerb + street.pavement + Math.max(1.2, street.setback / 2);
    const d = isAvenue ? kerb + 0.9 : far + draws.between(-0.6, 0.6);
    if (draws.chance(0.8)) addTree(faces, street, draws, standAt(street, s, side * d));
  }
}

function addTree(faces: Face[], street: Street, draws: Draws, stand: Stand): void {
  const own: Face[] = [];
  const trunk = draws.between(2.2, 3.2);
  const crown = draws.between(1.5, 2.5);
  const eye = toOwnAxes(stand, street.pose.eye);
  addColumn(own, [0, 0, 0], [trunk + 1, 0.17, 0.1], paint(0x4d3f33));
  const leaf = paint(draws.pick(LEAVES));
  const distance = Math.hypot(eye[0], eye[1]);
  const clumps = distance < 50 ? 130 : 60;
  for (let i = 0; i < clumps; i++) {
    const [azimuth, lift] = [draws.between(0, 2 * Math.PI), draws.between(-1, 1)];
    const out = Math.sqrt(1 - lift * lift);
    const reach = draws.between(0.55, 1) * crown;
    const outwards: Vector = [Math.cos(azimuth) * out, Math.sin(azimuth) * out, lift];
    const centre: Vector = [
      outwards[0] * reach,
      outwards[1] * reach,
      trunk + crown + outwards[2] * reach * 1.15,
    ];
    const light = 0.75 + 0.25 * lift + draws.between(-0.15, 0.15);
    addClump(own, draws, eye, centre, outwards, scaled(leaf, light));
  }
  faces.push(...placeFaces(own, stand));
}

/** A ragged patch of leaves that faces the viewer and is lit as the crown's outside. */
function addClump(
  faces: Face[],
  draws: Draws,
  eye: Vector,
  [x, y, z]: Vector,
  normal: Vector,
  colour: Colour,
): void {
  const bearing = Math.atan2(eye[1] - y, eye[0] - x);
  const [sideX, sideY] = [-Math.sin(bearing), Math.cos(bearing)];
  const points: number[] = [];
  for (let i = 0; i < 8; i++) {
    const angle = (i / 8) * 2 * Math.PI;
    const radius = draws.between(0.2, 0.62);
    const across = Math.cos(angle) * radius;
    points.push(x + sideX * across, y + sideY * across, z + Math.sin(angle) * radius);
  }
  faces.push({ points, colour, normal });
}

function addClutter(faces: Face[], street: Street, draws: Draws, side: number): void {
  const kerb = kerbAt(street, side);
  for (let s = CLEAR_METRES - 4; s < 95; s += draws.between(4, 9)) {
    const kind = draws.pick(PAVEMENT_PROPS);
    const isAtKerb = kind === 'sign' || kind === 'bollards' || draws.chance(0.5);
    const d = side * (isAtKerb ? kerb + 0.55 : kerb + street.pavement - 0.3);
    const isOnZebra = Math.abs(s - street.zebraAt - 1.8) < 3.5;
    if (isOnZebra || (kind === 'kiosk' && isAtKerb)) continue;
    place(faces, street, kind, draws.integer(1e6), standAt(street, s, d, side < 0 ? Math.PI : 0));
  }
  if (draws.chance(0.5)) {
    const stop = standAt(
      street,
      shelterAt(street),
      side * (kerb + street.pavement - 0.9),
      side < 0 ? Math.PI : 0,
    );
    place(faces, street, 'shelter', 1, stop);
  }
}

/** Where a bus shelter begins, if the street has one. */
export function shelterAt(street: Street): number {
  return street.zebraAt - 12;
}

function addParkedProps(faces: Face[], street: Street, side: number): void {
  if (!street.hasParking[side < 0 ? 0 : 1]) return;
  const d = side * (roadHalf(street) + PARKING_METRES / 2);
  for (let bay = 1; bay < 16; bay++) {
    if (!isBayTaken(street, side, bay)) continue;
    const seed = hash(street.camera, side, bay);
    const kind: PropKind = seed % 3 === 0 ? 'skip' : seed % 3 === 1 ? 'trailer' : 'bin';
    place(faces, street, kind, seed, standAt(street, bayAt(bay) - 2, d));
  }
}

function place(faces: Face[], street: Street, kind: PropKind, seed: number, stand: Stand): void {
  faces.push(...placeFaces(buildProp(kind, seed, toOwnAxes(stand, street.pose.eye)), stand));
}
