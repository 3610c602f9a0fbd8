// The houses beside the road and the skyline behind: boxes whose walls are painted sample by sample.
import type { Face } from './camera.ts';
import { type Colour, mixed, paint, scaled } from './colour.ts';
import type { Lighting } from './light.ts';
import { chanceOf, createDraws, hash } from './random.ts';
import { kerbAt, type Street, toWorld } from './street.ts';

/** A wall; `pattern` writes colour factors (0..2) and its own light for u metres along and v metres up. */
export interface Wall {
  readonly face: Face;
  readonly pattern: WallPattern | undefined;
}

/** `into`: reflectance (3), own light (3), mirrored share (1). */
export type WallPattern = (into: Float64Array, u: number, v: number) => void;

const WALL_COLOURS = [
  0xb59a7c, 0xa8553f, 0xc9bda6, 0x8d8a83, 0x9b6b52, 0xd6cdb8, 0x7e6a5a, 0xb8a58c, 0xa0a8a6, 0xc2b092,
];
const ROOF = paint(0x5b4a42);
const GLASS: Colour = paint(0x20282d);

export function createHouses(street: Street, lighting: Lighting): readonly Wall[] {
  const walls: Wall[] = [];
  for (const side of [-1, 1]) {
    const front = kerbAt(street, side) + street.pavement + street.setback;
    const draws = createDraws(street.camera * 53 + side);
    for (let s = -50; s < 150; ) {
      const length = draws.between(9, 20);
      const height = street.isGreen ? draws.between(5, 10) : draws.between(8, 21);
      const plot = { side, front, from: s, to: s + length, depth: draws.between(8, 14), height };
      if (!street.isGreen || draws.chance(0.7)) addHouse(walls, street, lighting, plot, draws.integer(1e6));
      s += length + (draws.chance(street.isGreen ? 0.8 : 0.25) ? draws.between(2, 7) : 0);
    }
  }
  addSkyline(walls, street);
  return walls;
}

interface Plot {
  readonly side: number;
  readonly front: number;
  readonly from: number;
  readonly to: number;
  readonly depth: number;
  readonly height: number;
}

function addHouse(walls: Wall[], street: Street, lighting: Lighting, plot: Plot, seed: number): void {
  const draws = createDraws(seed);
  const colour = paint(draws.pick(WALL_COLOURS));
  const pattern = facade(colour, lighting, seed, plot.height, street.isGreen);
  const at = (s: number, d: number) => toWorld(street, s, plot.side * d).slice(0, 2) as [number, number];
  const [a, b] = [at(plot.from, plot.front), at(plot.to, plot.front)];
  const [c, d] = [at(plot.to, plot.front + plot.depth), at(plot.from, plot.front + plot.depth)];
  const upright = (p: readonly number[], q: readonly number[]): Face => ({
    points: [p[0]!, p[1]!, 0, q[0]!, q[1]!, 0, q[0]!, q[1]!, plot.height, p[0]!, p[1]!, plot.height],
    colour,
  });
  walls.push({ face: upright(a, b), pattern }, { face: upright(b, c), pattern });
  walls.push({ face: upright(a, d), pattern });
  if (street.isGreen) {
    addGable(walls, [a, b, c, d], plot.height);
  } else {
    const top = [a, b, c, d].flatMap((point) => [...point, plot.height]);
    walls.push({ face: { points: top, colour: ROOF }, pattern: undefined });
  }
}

function addGable(
  walls: Wall[],
  corners: readonly [number[], number[], number[], number[]],
  height: number,
): void {
  const [a, b, c, d] = corners;
  const middle = (p: number[], q: number[]) => [(p[0]! + q[0]!) / 2, (p[1]! + q[1]!) / 2, height + 3.2];
  const [ridgeFrom, ridgeTo] = [middle(a, d), middle(b, c)];
  const roof = (p: number[], q: number[]) => [...p, height, ...q, height, ...ridgeTo, ...ridgeFrom];
  for (const points of [roof(a, b), roof(d, c), [...b, height, ...c, height, ...ridgeTo]]) {
    walls.push({ face: { points, colour: ROOF }, pattern: undefined });
  }
}

/** Windows in rows, a shop front or a plinth below; some windows have light in them in the evening. */
function facade(
  wall: Colour,
  lighting: Lighting,
  seed: number,
  height: number,
  isGreen: boolean,
): WallPattern {
  const draws = createDraws(seed + 1);
  const bay = draws.between(2, 3.4);
  const floor = draws.between(2.8, 3.3);
  const [wide, tall] = [draws.between(0.4, 0.7), draws.between(0.45, 0.62)];
  const hasShop = !isGreen && draws.chance(0.65);
  const shop = paint(draws.pick([0x8b1e1e, 0x27406b, 0x2f5d3a, 0xd1a33a, 0x3b3b3b, 0xd6d2c4]));
  const frame = mixed(wall, [0.8, 0.8, 0.76], 0.6);
  return (into, u, v) => {
    const column = Math.floor(u / bay);
    const row = Math.floor(v / floor);
    const across = Math.abs(u / bay - column - 0.5) * 2;
    const up = Math.abs(v / floor - row - 0.52) * 2;
    const isShop = hasShop && row === 0;
    const [w, t] = isShop ? [0.86, 0.72] : [wide, tall];
    into[3] = into[4] = into[5] = into[6] = 0;
    if (isShop && v > floor * 0.84) return write(into, shop, 1);
    if (v > height - 0.35) return write(into, frame, 0.9);
    if (across < w && up < t) return paintWindow(into, lighting, hash(seed, column, row), isShop);
    if (across < w + 0.08 && up < t + 0.08) return write(into, frame, 0.9);
    const course = v * 4 - Math.floor(v * 4) < 0.16 ? 0.92 : 1;
    write(into, wall, course * (0.88 + 0.2 * chanceOf(Math.floor(u * 3), Math.floor(v * 4), seed)));
  };
}

function paintWindow(into: Float64Array, lighting: Lighting, key: number, isShop: boolean): void {
  write(into, GLASS, 1);
  into[6] = 0.28;
  if (chanceOf(key, 1) > lighting.litWindows * (isShop ? 1.6 : 1)) return;
  const strength = (isShop ? 0.16 : 0.085) * (0.4 + chanceOf(key, 2));
  const warmth = chanceOf(key, 3);
  into[3] = strength;
  into[4] = strength * (0.95 - 0.35 * warmth);
  into[5] = strength * (0.85 - 0.65 * warmth);
}

function write(into: Float64Array, colour: Colour, factor: number): void {
  const [red, green, blue] = scaled(colour, factor);
  into[0] = red;
  into[1] = green;
  into[2] = blue;
}

/** Far houses and woods that close the view. */
function addSkyline(walls: Wall[], street: Street): void {
  const draws = createDraws(street.camera * 59 + 3);
  const [eyeX, eyeY] = street.pose.eye;
  for (let angle = -1.3; angle < 1.3; angle += 0.07) {
    const bearing = street.pose.yawRadians + angle;
    const distance = draws.between(170, 300);
    const [x, y] = [eyeX + Math.sin(bearing) * distance, eyeY + Math.cos(bearing) * distance];
    const reach = draws.between(8, 22);
    const height = street.isGreen ? draws.between(7, 15) : draws.between(8, 34);
    const [dx, dy] = [Math.cos(bearing) * reach, -Math.sin(bearing) * reach];
    const colour = street.isGreen
      ? paint(draws.pick([0x3c5233, 0x475a3c]))
      : paint(draws.pick([0x7d7d80, 0x8a8278, 0x6b6f76]));
    const points = [x - dx, y - dy, 0, x + dx, y + dy, 0, x + dx, y + dy, height, x - dx, y - dy, height];
    walls.push({ face: { points, colour }, pattern: undefined });
  }
}
