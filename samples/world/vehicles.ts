// Cars, lorries and buses, built from their side views; every seed gives another one.
import type { Face } from './camera.ts';
import { type Colour, paint, scaled } from './colour.ts';
import { createDraws, type Draws } from './random.ts';
import { addBox, addDisc, addEndPanel, addExtrusion, addSidePanel, varied } from './shapes.ts';

export interface Vehicle {
  readonly faces: readonly Face[];
  readonly length: number;
  readonly width: number;
  readonly height: number;
}

/** How bright a vehicle's lights are; `isBraking` makes its rear lights stronger. */
export interface VehicleLights {
  readonly headlight: number;
  readonly cabin: number;
  readonly isBraking: boolean;
}

const GLASS = paint(0x1c2226);
const TYRE = paint(0x17171a);
const TRIM = paint(0x222427);
const HUB = paint(0x8d9196);
const HEADLIGHT: Colour = [1, 0.94, 0.82];
const CAR_COLOURS = [
  0xd9dbdc, 0xe4e4e0, 0x24262a, 0x1a1b1f, 0x6d7277, 0x8f959a, 0x4b5157, 0xb5b9bb, 0x26406e, 0x3d6ea5,
  0x8c1f22, 0xb3322c, 0x2f5138, 0x7a5b3f, 0xc9b27c, 0xd98b2b, 0x5d7f8c, 0x3b2a4d,
];
const LORRY_COLOURS = [
  0xe8e8e4, 0xd5d7d9, 0x2b5ea8, 0xc2372e, 0xe0b22e, 0x2f7d4f, 0x7b7f84, 0xd96b21, 0xf0efe9,
];
const BUS_COLOURS = [0xc8202b, 0xe5b91f, 0xf1f0ea, 0x2d6fb0, 0x2f8f57, 0xd7742a, 0x8fb9d4];

export function buildCar(seed: number, lights: VehicleLights): Vehicle {
  const draws = createDraws(seed);
  const kind = draws.pick(['hatch', 'saloon', 'saloon', 'estate', 'suv'] as const);
  const length = { hatch: 3.9, saloon: 4.5, estate: 4.6, suv: 4.6 }[kind] * draws.between(0.94, 1.07);
  const width = draws.between(1.72, 1.9);
  const rise = kind === 'suv' ? 0.22 : 0;
  const height = (kind === 'saloon' ? 1.43 : 1.5) + rise + draws.between(-0.04, 0.06);
  const waist = 0.88 + rise * 0.8;
  const colour = varied(paint(draws.pick(CAR_COLOURS)), draws.between(-0.18, 0.18));
  const [half, side] = [length / 2, width / 2];
  const faces: Face[] = [];
  const bonnet = half - length * draws.between(0.22, 0.27);
  const bootEnd = kind === 'saloon' ? -half + length * 0.19 : -half + 0.12;
  const body = [
    ...[-half, 0.28, half - 0.05, 0.24, half, 0.55, half - 0.16, waist - 0.2, bonnet, waist + 0.02],
    ...[bootEnd, waist + 0.05, -half + 0.06, waist - 0.03],
  ];
  addExtrusion(faces, body, [-side, side, -side * 0.95, side * 0.95], colour, { gloss: 0.14 });
  const cabin = { foot: waist, height, front: bonnet, rear: bootEnd, slope: kind === 'saloon' ? 0.75 : 0.3 };
  addCabin(faces, cabin, side, colour);
  addWheels(faces, [half - length * 0.19, -half + length * 0.19], side, kind === 'suv' ? 0.37 : 0.32);
  addSidePanel(faces, [-half + 0.5, half - 0.5, 0.24, 0.36], side * 1.001, TRIM);
  addSidePanel(faces, [-half + 0.5, half - 0.5, 0.24, 0.36], -side * 1.001, TRIM);
  addVehicleLights(faces, { front: half, rear: -half, side, height: 0.66 + rise }, lights);
  return { faces, length, width, height };
}

interface Cabin {
  readonly foot: number;
  readonly height: number;
  readonly front: number;
  readonly rear: number;
  /** How far the rear window leans, in metres. */
  readonly slope: number;
}

function addCabin(faces: Face[], { foot, height, front, rear, slope }: Cabin, side: number, colour: Colour) {
  const [roofFront, roofRear] = [front - 0.68, rear + slope];
  const profile = [front, foot, roofFront, height - 0.02, (roofFront + roofRear) / 2, height];
  profile.push(roofRear, height - 0.04, rear, foot);
  const [low, high] = [side * 0.95, side * 0.76];
  addExtrusion(faces, profile, [-low, low, -high, high], colour, { gloss: 0.18 });
  const top = height - 0.1;
  const lean = (z: number) => low + ((high - low) * (z - foot)) / (height - foot) + 0.012;
  const sill = foot + 0.07;
  const share = (z: number) => (z - foot) / (height - foot);
  const frontAt = (z: number) => front + (roofFront - front) * share(z);
  const rearAt = (z: number) => rear + (roofRear - rear) * share(z);
  const pillar = (roofFront + roofRear) / 2 + 0.1;
  for (const sign of [-1, 1]) {
    const at = (x: number, z: number) => [x, sign * lean(z), z];
    const finish = { gloss: 0.3, decal: true, colour: GLASS };
    const a = [...at(frontAt(sill) - 0.16, sill), ...at(frontAt(top) - 0.1, top)];
    faces.push({ points: [...a, ...at(pillar + 0.04, top), ...at(pillar + 0.04, sill)], ...finish });
    const b = [...at(pillar - 0.05, sill), ...at(pillar - 0.05, top)];
    faces.push({
      points: [...b, ...at(rearAt(top) + 0.12, top), ...at(rearAt(sill) + 0.2, sill)],
      ...finish,
    });
  }
  for (const [at, out] of [
    [frontAt, 0.015],
    [rearAt, -0.015],
  ] as const) {
    const corner = (sign: number, z: number) => [at(z) + out, sign * (lean(z) - 0.1), z];
    const points = [...corner(-1, sill), ...corner(1, sill), ...corner(1, top), ...corner(-1, top)];
    faces.push({ points, colour: GLASS, gloss: 0.35, decal: true });
  }
}

/** Wheels at these places along the vehicle, each in its dark arch. */
function addWheels(faces: Face[], places: readonly number[], side: number, radius: number): void {
  for (const x of places) {
    for (const sign of [-1, 1]) {
      addDisc(faces, [x, sign * side * 1.004, radius + 0.03], radius * 1.16, TRIM);
      addDisc(faces, [x, sign * side * 1.012, radius], radius, TYRE);
      addDisc(faces, [x, sign * side * 1.02, radius], radius * 0.56, HUB);
    }
  }
}

interface LightPlaces {
  readonly front: number;
  readonly rear: number;
  readonly side: number;
  readonly height: number;
}

function addVehicleLights(faces: Face[], places: LightPlaces, lights: VehicleLights): void {
  const { front, rear, side, height } = places;
  const red: Colour = [1, 0.06, 0.035];
  const glow = lights.headlight * (lights.isBraking ? 1.3 : 0.4) + (lights.isBraking ? 0.5 : 0);
  for (const sign of [-1, 1]) {
    const [outer, inner] = [sign * side * 0.93, sign * side * 0.62];
    const strength = lights.headlight * 5;
    addEndPanel(faces, [inner, outer, height - 0.09, height + 0.09], front + 0.02, [0.75, 0.75, 0.72], {
      emission: scaled(HEADLIGHT, strength),
      directed: true,
      normal: [1, 0, 0],
    });
    addEndPanel(faces, [inner, outer, height - 0.02, height + 0.16], rear - 0.02, [0.35, 0.03, 0.03], {
      emission: scaled(red, glow),
    });
  }
  addEndPanel(faces, [-0.27, 0.27, height - 0.24, height - 0.12], front + 0.03, paint(0xd8d8d0));
  addEndPanel(faces, [-0.27, 0.27, height - 0.2, height - 0.08], rear - 0.03, paint(0xd8c860));
  addEndPanel(faces, [-side * 0.45, side * 0.45, height - 0.1, height + 0.04], front + 0.015, TRIM);
}

export function buildLorry(seed: number, lights: VehicleLights): Vehicle {
  const draws = createDraws(seed);
  const kind = draws.pick(['van', 'van', 'box', 'box', 'tipper', 'long', 'flat'] as const);
  if (kind === 'van') return buildVan(draws, lights);
  const length = kind === 'long' ? draws.between(10.5, 13.5) : draws.between(6.2, 8.6);
  const width = draws.between(2.25, 2.5);
  const height = kind === 'flat' || kind === 'tipper' ? draws.between(2.4, 2.8) : draws.between(3.1, 3.7);
  const colour = varied(paint(draws.pick(LORRY_COLOURS)), draws.between(-0.15, 0.1));
  const [half, side] = [length / 2, width / 2];
  const faces: Face[] = [];
  const cabRear = half - draws.between(1.7, 2.1);
  const cabHeight = Math.min(height, draws.between(2.4, 2.9));
  addCab(faces, { front: half, rear: cabRear, side: side * 0.96, height: cabHeight }, colour);
  const bed: [number, number, number, number] = [-half, cabRear - 0.18, side, height];
  if (kind === 'flat' || kind === 'tipper') addOpenLoad(faces, draws, bed);
  else addClosedLoad(faces, draws, bed, colour);
  addBox(faces, [-half + 0.1, half - 0.3, -side * 0.8, side * 0.8, 0.45, 0.95], TRIM);
  const axles =
    kind === 'long' ? [half - 1.1, half - 4.2, -half + 3.4, -half + 2.1] : [half - 1.2, -half + 1.5];
  addWheels(faces, axles, side * 0.98, 0.48);
  addVehicleLights(faces, { front: half, rear: -half, side, height: 0.85 }, lights);
  return { faces, length, width, height };
}

interface Cab {
  readonly front: number;
  readonly rear: number;
  readonly side: number;
  readonly height: number;
}

function addCab(faces: Face[], { front, rear, side, height }: Cab, colour: Colour): void {
  const profile = [rear, 0.5, front, 0.45, front, 1.35, front - 0.28, height - 0.05, rear, height];
  addExtrusion(faces, profile, [-side, side, -side * 0.95, side * 0.95], colour, { gloss: 0.1 });
  const top = height - 0.28;
  const lean = (z: number) => front - (0.28 * (z - 1.35)) / (height - 1.4) + 0.02;
  const [low, high] = [side * 0.9, side * 0.86];
  const pane = [lean(1.5), -low, 1.5, lean(1.5), low, 1.5, lean(top), high, top, lean(top), -high, top];
  faces.push({ points: pane, colour: GLASS, gloss: 0.3, decal: true });
  for (const sign of [-1, 1]) {
    addSidePanel(faces, [rear + 0.45, front - 0.35, 1.45, top], sign * (side + 0.01), GLASS, { gloss: 0.25 });
    addBox(
      faces,
      [front - 0.3, front - 0.1, sign * (side + 0.1) - 0.08, sign * (side + 0.1) + 0.08, 1.5, 2],
      TRIM,
    );
  }
  addEndPanel(faces, [-side * 0.8, side * 0.8, 0.6, 1.2], front + 0.01, TRIM);
}

type Bed = readonly [rear: number, front: number, side: number, height: number];

function addClosedLoad(faces: Face[], draws: Draws, [rear, front, side, height]: Bed, cab: Colour): void {
  const colour = draws.chance(0.5) ? paint(draws.pick(LORRY_COLOURS)) : scaled(cab, 0.95);
  addBox(faces, [rear, front, -side, side, 0.95, height], colour, { gloss: 0.05 });
  const mark = paint(draws.pick([0xc2372e, 0x2b5ea8, 0x2f7d4f, 0x2a2a2a, 0xe0b22e]));
  const middle = (rear + front) / 2;
  const reach = (front - rear) * draws.between(0.15, 0.36);
  for (const sign of [-1, 1]) {
    const y = sign * (side + 0.012);
    addSidePanel(
      faces,
      [middle - reach, middle + reach, height * 0.5, height * draws.between(0.62, 0.8)],
      y,
      mark,
    );
    addSidePanel(faces, [rear, front, 0.95, 1.08], y, TRIM);
  }
  addEndPanel(faces, [-0.02, 0.02, 1.0, height - 0.1], rear - 0.012, TRIM);
}

function addOpenLoad(faces: Face[], draws: Draws, [rear, front, side, height]: Bed): void {
  const colour = paint(draws.pick([0x8a5a2b, 0xb08a3e, 0x59636b, 0x9a3b2c, 0x3f5f7f]));
  addBox(faces, [rear, front, -side, side, 0.95, 1.05], TRIM);
  addBox(faces, [rear, front, -side, side, 1.05, draws.between(1.5, 1.9)], colour);
  const load = paint(draws.pick([0x8d7a5c, 0xa39883, 0x6d5137, 0x777777]));
  const profile = [rear + 0.2, 1.4, front - 0.2, 1.4, front - 1, height - 0.2, rear + 1, height - 0.35];
  addExtrusion(faces, profile, [-side * 0.9, side * 0.9, -side * 0.4, side * 0.4], load);
}

function buildVan(draws: Draws, lights: VehicleLights): Vehicle {
  const length = draws.between(4.9, 6.1);
  const width = draws.between(1.95, 2.1);
  const height = draws.between(2.1, 2.65);
  const colour = varied(paint(draws.pick(LORRY_COLOURS)), draws.between(-0.12, 0.1));
  const [half, side] = [length / 2, width / 2];
  const faces: Face[] = [];
  const profile = [-half, 0.35, half - 0.04, 0.3, half, 0.75, half - 0.75, 1.15, half - 1.6, height - 0.05];
  profile.push(-half + 0.05, height);
  addExtrusion(faces, profile, [-side, side, -side * 0.9, side * 0.9], colour, { gloss: 0.1 });
  const lean = (z: number) => half - 0.75 - (0.85 * (z - 1.15)) / (height - 1.2) + 0.03;
  const top = height - 0.25;
  const [low, high] = [side * 0.88, side * 0.82];
  const pane = [lean(1.25), -low, 1.25, lean(1.25), low, 1.25, lean(top), high, top, lean(top), -high, top];
  faces.push({ points: pane, colour: GLASS, gloss: 0.3, decal: true });
  for (const sign of [-1, 1]) {
    addSidePanel(faces, [half - 2.5, half - 1.55, 1.2, height - 0.5], sign * side * 0.985, GLASS, {
      gloss: 0.25,
    });
    addSidePanel(faces, [-half + 0.3, half - 0.3, 0.3, 0.5], sign * (side + 0.005), TRIM);
  }
  addEndPanel(faces, [-0.015, 0.015, 0.6, height - 0.15], -half - 0.02, TRIM);
  addWheels(faces, [half - 0.95, -half + 1.05], side, 0.35);
  addVehicleLights(faces, { front: half, rear: -half, side, height: 0.72 }, lights);
  return { faces, length, width, height };
}

export function buildBus(seed: number, lights: VehicleLights): Vehicle {
  const draws = createDraws(seed);
  const length = draws.between(9.5, 12.4);
  const [width, height] = [2.5, draws.between(2.9, 3.25)];
  const colour = varied(paint(draws.pick(BUS_COLOURS)), draws.between(-0.12, 0.08));
  const [half, side] = [length / 2, width / 2];
  const faces: Face[] = [];
  const profile = [-half, 0.35, half - 0.02, 0.35, half, 1.3, half - 0.18, height - 0.06, half - 0.5, height];
  profile.push(-half + 0.2, height, -half, height - 0.2);
  addExtrusion(faces, profile, [-side, side, -side * 0.98, side * 0.98], colour, { gloss: 0.1 });
  const band = paint(draws.pick([0xf1f0ea, 0x2a2d31, 0xc8202b, 0x2d6fb0]));
  const cabin = { emission: scaled([1, 0.9, 0.68] as const, lights.cabin), gloss: 0.25 };
  for (const sign of [-1, 1]) {
    const y = sign * (side + 0.012);
    const bays = Math.round(length / 1.5);
    for (let bay = 0; bay < bays; bay++) {
      const x = -half + 0.3 + (bay * (length - 0.6)) / bays;
      addSidePanel(faces, [x, x + (length - 0.6) / bays - 0.12, 1.35, height - 0.55], y, GLASS, cabin);
    }
    addSidePanel(faces, [-half + 0.05, half - 0.05, 0.72, 0.98], y, band);
    if (sign > 0) addSidePanel(faces, [half - 1.7, half - 0.5, 0.45, height - 0.6], y * 1.01, GLASS, cabin);
  }
  addEndPanel(faces, [-side * 0.92, side * 0.92, 1.2, height - 0.5], half + 0.02, GLASS, cabin);
  addEndPanel(
    faces,
    [-side * 0.7, side * 0.7, height - 0.42, height - 0.14],
    half + 0.02,
    [0.02, 0.02, 0.02],
    {
      emission: scaled([1, 0.55, 0.08] as const, 0.12 + lights.headlight * 0.5),
    },
  );
  addEndPanel(faces, [-side * 0.85, side * 0.85, 1.5, height - 0.6], -half - 0.01, GLASS, cabin);
  addBox(faces, [-half + 1, half - 3.5, -side * 0.6, side * 0.6, height, height + 0.22], scaled(colour, 0.8));
  addWheels(faces, [half - 2.4, -half + 2.9], side, 0.5);
  addVehicleLights(faces, { front: half, rear: -half, side, height: 0.7 }, lights);
  return { faces, length, width, height: height + 0.22 };
}
