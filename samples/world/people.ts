// People on foot and on two wheels. Limbs turn to the viewer, so that they look round from everywhere.
import type { Face, Vector } from './camera.ts';
import { type Colour, mixed, paint, scaled } from './colour.ts';
import { createDraws, type Draws } from './random.ts';
import { addBall, addBox, addColumn, addEndPanel, addExtrusion, addLimb, varied } from './shapes.ts';
import type { Vehicle, VehicleLights } from './vehicles.ts';

const COAT_COLOURS = [
  0x23262b, 0x2d3a52, 0x5c1f24, 0x6b6f73, 0xb9b4a8, 0x8c3b2a, 0x38573f, 0xc9a13b, 0x7c4f7a, 0x3e7ca3,
  0xd8d8d4, 0xb54a3a, 0x4d4034, 0xe0763a,
];
const TROUSER_COLOURS = [0x1d2026, 0x2a3550, 0x3f4a63, 0x5c5347, 0x7a7467, 0x2b2b2b, 0x8c857a];
const SKIN_COLOURS = [0xe7bd9d, 0xd3a07c, 0xa9744f, 0x7d5236, 0x553624];
const HAIR_COLOURS = [0x18130f, 0x3a2719, 0x5d4123, 0x9a7b45, 0x8b8b8b];
const UMBRELLA_COLOURS = [0x16171b, 0x7d1d22, 0x27406b, 0x3d6b4a, 0xc2a63a];

interface Looks {
  readonly coat: Colour;
  readonly trousers: Colour;
  readonly skin: Colour;
  readonly hair: Colour;
}

function drawLooks(draws: Draws): Looks {
  return {
    coat: varied(paint(draws.pick(COAT_COLOURS)), draws.between(-0.2, 0.2)),
    trousers: varied(paint(draws.pick(TROUSER_COLOURS)), draws.between(-0.2, 0.2)),
    skin: paint(draws.pick(SKIN_COLOURS)),
    hair: paint(draws.pick(HAIR_COLOURS)),
  };
}

export interface Gait {
  /** Phase of the step in radians; the step is as long as `stride` says, 0 for someone who stands. */
  readonly phase: number;
  readonly stride: number;
  readonly isRaining: boolean;
}

export function buildPerson(seed: number, eye: Vector, gait: Gait): Vehicle {
  const draws = createDraws(seed);
  const tall = draws.chance(0.12) ? draws.between(1.1, 1.4) : draws.between(1.56, 1.92);
  const looks = drawLooks(draws);
  const faces: Face[] = [];
  const build = draws.between(0.85, 1.2) * (tall / 1.75);
  const [hip, shoulder] = [tall * 0.5, tall * 0.82];
  const swing = Math.sin(gait.phase) * gait.stride;
  for (const sign of [-1, 1]) {
    addLeg(faces, eye, sign, { hip, swing: swing * sign, build, lift: Math.cos(gait.phase) * sign }, looks);
  }
  const hem = draws.chance(0.3) ? tall * 0.3 : hip * 0.96;
  const waist = hem < hip * 0.8 ? 0.24 : 0.17;
  addLimb(faces, eye, [0, 0, hem], [0.03, 0, shoulder - 0.04], [waist * build, 0.215 * build], looks.coat);
  for (const sign of [-1, 1]) addArm(faces, eye, sign, { shoulder, swing: -swing * sign, build }, looks);
  addBall(faces, eye, [0.05, 0, tall - 0.11], 0.105, looks.skin);
  addBall(faces, eye, [0.02, 0, tall - 0.06], 0.105, looks.hair);
  const burden = draws.next();
  const bag = paint(draws.pick(COAT_COLOURS));
  if (burden < 0.25) addBox(faces, [-0.34, -0.14, -0.15, 0.15, hip + 0.1, shoulder - 0.02], bag);
  else if (burden < 0.45) addBox(faces, [-0.12, 0.16, 0.26, 0.38, hip - 0.25, hip + 0.05], bag);
  if (gait.isRaining && draws.chance(0.6)) addUmbrella(faces, draws, tall);
  return { faces, length: 0.55, width: 0.55, height: tall };
}

interface LegPose {
  readonly hip: number;
  readonly swing: number;
  readonly build: number;
  readonly lift: number;
}

function addLeg(faces: Face[], eye: Vector, sign: number, pose: LegPose, looks: Looks): void {
  const { hip, swing, build } = pose;
  const foot = 0.06 + Math.max(0, pose.lift) * Math.abs(swing) * 0.15;
  const knee: Vector = [swing * 0.22 + 0.04, sign * 0.09, hip * 0.53];
  const ankle: Vector = [swing * 0.42 - 0.02, sign * 0.09, foot];
  addLimb(faces, eye, [0, sign * 0.08, hip], knee, [0.1 * build, 0.075 * build], looks.trousers);
  addLimb(faces, eye, knee, ankle, [0.075 * build, 0.055 * build], looks.trousers);
  addLimb(
    faces,
    eye,
    ankle,
    [ankle[0] + 0.16, ankle[1], foot - 0.02],
    [0.06, 0.045],
    scaled(looks.trousers, 0.4),
  );
}

interface ArmPose {
  readonly shoulder: number;
  readonly swing: number;
  readonly build: number;
}

function addArm(faces: Face[], eye: Vector, sign: number, { shoulder, swing, build }: ArmPose, looks: Looks) {
  const out = sign * 0.24 * build;
  const elbow: Vector = [swing * 0.16, out * 1.08, shoulder - 0.3 * build];
  const hand: Vector = [swing * 0.34 + 0.05, out * 1.02, shoulder - 0.56 * build];
  const sleeve = scaled(looks.coat, 0.86);
  addLimb(faces, eye, [0, out * 0.88, shoulder - 0.05], elbow, [0.075 * build, 0.06 * build], sleeve);
  addLimb(faces, eye, elbow, hand, [0.058 * build, 0.045 * build], sleeve);
  addLimb(faces, eye, hand, [hand[0] + 0.04, hand[1], hand[2] - 0.07], [0.045, 0.03], looks.skin);
}

function addUmbrella(faces: Face[], draws: Draws, tall: number): void {
  const colour = paint(draws.pick(UMBRELLA_COLOURS));
  addColumn(faces, [0.12, 0, tall + 0.08], [0.26, 0.58, 0.05], colour);
  addBox(faces, [0.11, 0.13, -0.01, 0.01, tall - 0.6, tall + 0.2], paint(0x333333));
}

/** A bicycle or a motor scooter with its rider; one object, as the two are seen together. */
export function buildBike(seed: number, eye: Vector, phase: number, lights: VehicleLights): Vehicle {
  const draws = createDraws(seed);
  const looks = drawLooks(draws);
  const hasMotor = draws.chance(0.35);
  const colour = paint(draws.pick([0x1b1d20, 0xb3322c, 0x2b5ea8, 0xd9d9d4, 0x2f7d4f, 0xe0b22e]));
  const faces: Face[] = [];
  if (hasMotor) addScooter(faces, eye, colour);
  else addBicycle(faces, eye, colour);
  addRider(faces, eye, { phase, isLow: hasMotor, isHelmeted: hasMotor || draws.chance(0.4) }, looks, draws);
  const front = hasMotor ? 0.62 : 0.55;
  addEndPanel(faces, [-0.07, 0.07, 0.86, 0.99], front, [0.6, 0.6, 0.6], {
    emission: scaled([1, 0.95, 0.85], lights.headlight * (hasMotor ? 4 : 2.2)),
    directed: true,
    normal: [1, 0, 0],
  });
  addEndPanel(faces, [-0.06, 0.06, 0.66, 0.76], -0.72, [0.3, 0.02, 0.02], {
    emission: scaled([1, 0.05, 0.03], lights.headlight * 0.7),
  });
  return { faces, length: 1.8, width: 0.6, height: 1.75 };
}

function addWheel(faces: Face[], eye: Vector, x: number, radius: number, thickness: number): void {
  const at = (index: number): Vector => {
    const angle = (index / 10) * 2 * Math.PI;
    return [x + radius * Math.cos(angle), 0, radius + radius * Math.sin(angle)];
  };
  for (let i = 0; i < 10; i++) {
    addLimb(faces, eye, at(i), at(i + 1), [thickness, thickness], paint(0x1a1a1c));
  }
}

function addBicycle(faces: Face[], eye: Vector, colour: Colour): void {
  addWheel(faces, eye, 0.54, 0.34, 0.028);
  addWheel(faces, eye, -0.54, 0.34, 0.028);
  const tube = (from: Vector, to: Vector) => addLimb(faces, eye, from, to, [0.028, 0.028], colour);
  tube([-0.54, 0, 0.34], [-0.05, 0, 0.32]);
  tube([-0.05, 0, 0.32], [-0.2, 0, 0.88]);
  tube([-0.18, 0, 0.8], [0.4, 0, 0.84]);
  tube([-0.05, 0, 0.32], [0.4, 0, 0.78]);
  tube([0.54, 0, 0.34], [0.38, 0, 1.02]);
  tube([0.38, -0.26, 1.03], [0.38, 0.26, 1.03]);
}

function addScooter(faces: Face[], eye: Vector, colour: Colour): void {
  addWheel(faces, eye, 0.6, 0.25, 0.06);
  addWheel(faces, eye, -0.58, 0.25, 0.06);
  const body = [-0.85, 0.35, -0.1, 0.28, 0.35, 0.3, 0.4, 0.4, -0.05, 0.42, -0.2, 0.74, -0.85, 0.8];
  addExtrusion(faces, body, [-0.18, 0.18, -0.15, 0.15], colour, { gloss: 0.15 });
  addExtrusion(faces, [0.38, 0.3, 0.5, 0.3, 0.42, 1, 0.34, 1], [-0.2, 0.2, -0.17, 0.17], colour);
  addLimb(faces, eye, [0.36, -0.3, 1.04], [0.36, 0.3, 1.04], [0.03, 0.03], paint(0x222222));
}

interface RiderPose {
  readonly phase: number;
  readonly isLow: boolean;
  readonly isHelmeted: boolean;
}

function addRider(faces: Face[], eye: Vector, pose: RiderPose, looks: Looks, draws: Draws): void {
  const seat = pose.isLow ? 0.82 : 0.98;
  const shoulder: Vector = [pose.isLow ? 0.02 : 0.14, 0, seat + 0.5];
  for (const sign of [-1, 1]) {
    const turn = pose.phase + (sign > 0 ? Math.PI : 0);
    const pedal: Vector = pose.isLow
      ? [0.2, sign * 0.14, 0.36]
      : [-0.05 + 0.16 * Math.cos(turn), sign * 0.1, 0.36 + 0.16 * Math.sin(turn)];
    const knee: Vector = [pedal[0] * 0.5 + 0.2, sign * 0.12, (pedal[2] + seat) / 2 + 0.1];
    addLimb(faces, eye, [-0.18, sign * 0.09, seat], knee, [0.1, 0.075], looks.trousers);
    addLimb(faces, eye, knee, pedal, [0.075, 0.05], looks.trousers);
    const grip: Vector = [0.36, sign * 0.25, 1.06];
    addLimb(faces, eye, [shoulder[0], sign * 0.19, shoulder[2] - 0.05], grip, [0.07, 0.045], looks.coat);
  }
  addLimb(faces, eye, [-0.2, 0, seat - 0.04], shoulder, [0.17, 0.21], looks.coat);
  const head: Vector = [shoulder[0] + 0.08, 0, shoulder[2] + 0.22];
  addBall(faces, eye, head, 0.11, looks.skin);
  const cover = pose.isHelmeted ? paint(draws.pick([0xd8d8d4, 0x1a1a1c, 0xb3322c, 0x2b5ea8])) : looks.hair;
  addBall(faces, eye, [head[0] - 0.02, 0, head[2] + 0.05], 0.12, mixed(cover, looks.hair, 0.1));
}
