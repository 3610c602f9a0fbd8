// Things that stand about and are no traffic: some of them look like it at a glance, and none is labelled.
import type { Face, Vector } from './camera.ts';
import { paint } from './colour.ts';
import { createDraws, type Draws } from './random.ts';
import { addBall, addBox, addColumn, addDisc, addExtrusion, addLimb, addSidePanel } from './shapes.ts';

export type PropKind =
  | 'bin'
  | 'bollards'
  | 'board'
  | 'cabinet'
  | 'bench'
  | 'hydrant'
  | 'poster'
  | 'pillar'
  | 'trailer'
  | 'skip'
  | 'shelter'
  | 'kiosk'
  | 'sign'
  | 'bush'
  | 'rack';

export const PAVEMENT_PROPS: readonly PropKind[] = [
  'bin',
  'bin',
  'bollards',
  'board',
  'cabinet',
  'bench',
  'hydrant',
  'poster',
  'pillar',
  'kiosk',
  'sign',
  'sign',
  'bush',
  'rack',
];

/** Faces in the prop's own axes: x along the road, y to its right. */
export function buildProp(kind: PropKind, seed: number, eye: Vector): readonly Face[] {
  const faces: Face[] = [];
  BUILDERS[kind](faces, createDraws(seed), eye);
  return faces;
}

type Builder = (faces: Face[], draws: Draws, eye: Vector) => void;

const METAL = paint(0x5a5f63);
const DARK = paint(0x2a2c2e);

const BUILDERS: Readonly<Record<PropKind, Builder>> = {
  bin(faces, draws) {
    const colour = paint(draws.pick([0x2f5d3a, 0x33373b, 0x2b4a78, 0x7a5a2c]));
    const count = 1 + draws.integer(3);
    for (let i = 0; i < count; i++) {
      addExtrusion(
        faces,
        [i * 0.8, 0, i * 0.8 + 0.6, 0, i * 0.8 + 0.66, 1.05, i * 0.8 - 0.05, 1.15],
        [-0.3, 0.3, -0.34, 0.34],
        colour,
      );
    }
  },
  bollards(faces, draws) {
    const colour = paint(draws.pick([0x3a3d40, 0x8b1e1e, 0xd8d3c4]));
    for (let i = 0; i < 5; i++)
      addColumn(faces, [i * 1.5, 0, 0], [draws.between(0.85, 1.1), 0.1, 0.08], colour);
  },
  board(faces, draws) {
    const colour = paint(draws.pick([0xe6e2d4, 0x2b2b2b, 0xb3322c, 0x3d6ea5]));
    addExtrusion(faces, [0, 0, 0.6, 0, 0.35, 1.1, 0.25, 1.1], [-0.35, 0.35, -0.35, 0.35], colour);
  },
  cabinet(faces, draws) {
    addBox(faces, [0, draws.between(0.9, 1.6), -0.25, 0.25, 0, draws.between(1.1, 1.5)], paint(0x6f7a70));
  },
  bench(faces) {
    const wood = paint(0x7a5a3a);
    addBox(faces, [0, 1.8, -0.25, 0.25, 0.4, 0.48], wood);
    addBox(faces, [0, 1.8, 0.2, 0.27, 0.48, 0.9], wood);
    addBox(faces, [0.15, 0.25, -0.2, 0.2, 0, 0.4], DARK);
    addBox(faces, [1.55, 1.65, -0.2, 0.2, 0, 0.4], DARK);
  },
  hydrant(faces, draws, eye) {
    const colour = paint(draws.pick([0xb3322c, 0xe0b22e]));
    addColumn(faces, [0, 0, 0], [0.7, 0.16, 0.13], colour);
    addBall(faces, eye, [0, 0, 0.75], 0.14, colour);
  },
  // A life-sized figure on a panel: the shape of a person and nobody there.
  poster(faces, draws, eye) {
    addBox(faces, [-0.05, 0.05, -0.65, 0.65, 0.2, 2.2], paint(draws.pick([0xd9d4c7, 0x9fb7c4, 0xc9a86a])));
    const coat = paint(draws.pick([0x7d1d22, 0x27406b, 0x2b2b2b]));
    for (const x of [-0.08, 0.08]) {
      addLimb(faces, eye, [x, 0, 1.0], [x, 0, 1.6], [0.14, 0.18], coat);
      addLimb(faces, eye, [x, -0.08, 0.4], [x, -0.06, 1.0], [0.06, 0.09], DARK);
      addLimb(faces, eye, [x, 0.08, 0.4], [x, 0.06, 1.0], [0.06, 0.09], DARK);
      addBall(faces, eye, [x, 0, 1.85], 0.11, paint(0xd3a07c));
    }
  },
  pillar(faces, draws) {
    addColumn(faces, [0, 0, 0], [2.6, 0.55, 0.55], paint(draws.pick([0x8c8a80, 0x6b7d6e, 0xb8a98f])));
    addColumn(faces, [0, 0, 2.6], [0.3, 0.65, 0.1], DARK);
  },
  // The box of a lorry that its tractor left here.
  trailer(faces, draws) {
    const colour = paint(draws.pick([0xd5d7d9, 0x7b7f84, 0x9a3b2c, 0x3f5f7f]));
    const length = draws.between(3.6, 5.2);
    addBox(faces, [0, length, -1.1, 1.1, 0.9, draws.between(2.4, 3.1)], colour);
    addBox(faces, [0.3, length - 0.3, -0.7, 0.7, 0.5, 0.9], DARK);
    for (const y of [-1.12, 1.12]) addDisc(faces, [1.2, y, 0.45], 0.45, DARK);
    addBox(faces, [length - 0.6, length - 0.45, -0.9, 0.9, 0, 0.9], METAL);
  },
  skip(faces, draws) {
    const colour = paint(draws.pick([0xb08a2e, 0x3f5f7f, 0x7d3a2a]));
    addExtrusion(faces, [0.5, 0.1, 3, 0.1, 3.6, 1.3, 0, 1.3], [-0.8, 0.8, -0.9, 0.9], colour);
    addExtrusion(faces, [0.5, 1.2, 3.1, 1.2, 2.4, 1.65, 1, 1.75], [-0.75, 0.75, -0.3, 0.3], paint(0x8d7f6a));
  },
  shelter(faces) {
    addBox(faces, [0, 4, -0.7, 0.8, 2.35, 2.5], METAL);
    for (const x of [0.05, 3.9])
      for (const y of [-0.6, 0.7]) addBox(faces, [x, x + 0.08, y, y + 0.08, 0, 2.35], DARK);
    addBox(faces, [0.1, 3.9, 0.72, 0.76, 0.3, 2.2], paint(0x70838a), { gloss: 0.3 });
    addBox(faces, [0.4, 3.4, 0.3, 0.65, 0.42, 0.48], DARK);
  },
  kiosk(faces, draws) {
    const colour = paint(draws.pick([0x2f5d3a, 0x8b1e1e, 0x6b5a45]));
    addBox(faces, [0, 2.4, -0.9, 0.9, 0, 2.4], colour);
    addSidePanel(faces, [0.2, 2.2, 1.0, 1.9], -0.92, paint(0xd8cfae));
    addBox(faces, [-0.2, 2.6, -1.3, 1.1, 2.4, 2.55], DARK);
  },
  sign(faces, draws) {
    addColumn(faces, [0, 0, 0], [2.6, 0.05, 0.05], METAL);
    const colour = paint(draws.pick([0xb3322c, 0x2b5ea8, 0xe0b22e, 0xe6e6e2]));
    addBox(faces, [-0.03, 0.03, -0.35, 0.35, 2.1, 2.8], colour);
  },
  bush(faces, draws, eye) {
    for (let i = 0; i < 14; i++) {
      const at: Vector = [draws.between(-0.9, 0.9), draws.between(-0.5, 0.5), draws.between(0.25, 0.85)];
      addBall(faces, eye, at, draws.between(0.22, 0.4), paint(draws.pick([0x2e4a26, 0x3b5a2c, 0x4b6a35])));
    }
  },
  // Bicycles without riders, chained to a rail: parts of a bike, but no bike with its rider.
  rack(faces, draws, eye) {
    for (let i = 0; i < 3; i++) {
      const x = i * 0.7;
      addColumn(faces, [x, 0, 0], [0.85, 0.03, 0.03], METAL);
      if (draws.chance(0.6)) {
        addLimb(faces, eye, [x, -0.5, 0.35], [x, 0.5, 0.35], [0.3, 0.3], DARK);
      }
    }
  },
};
