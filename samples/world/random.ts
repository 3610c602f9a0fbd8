// Everything random in the sample world: hashes of whole numbers, so that any moment can be drawn without those
// before it. The committed clips depend on these very numbers, so this generator is the world's own and stays.

/** Mixes whole numbers to 32 bits (Steele, Lea and Flood's splitmix finaliser, 32 bits wide). */
export function hash(a: number, b = 0, c = 0, d = 0): number {
  let mixed = scramble(a | 0);
  mixed = scramble(mixed ^ Math.imul(b | 0, 0x85eb_ca6b));
  mixed = scramble(mixed ^ Math.imul(c | 0, 0xc2b2_ae35));
  return scramble(mixed ^ Math.imul(d | 0, 0x27d4_eb2f)) >>> 0;
}

/** Like `hash`, in [0, 1). */
export function chanceOf(a: number, b = 0, c = 0, d = 0): number {
  return hash(a, b, c, d) / 0x1_0000_0000;
}

function scramble(value: number): number {
  let mixed = (value + 0x9e37_79b9) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0_aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97);
  return mixed ^ (mixed >>> 15);
}

export interface Draws {
  /** Uniform in [0, 1). */
  next(): number;
  between(low: number, high: number): number;
  /** Uniform in [0, count). */
  integer(count: number): number;
  chance(probability: number): boolean;
  pick<T>(values: readonly T[]): T;
}

export function createDraws(seed: number): Draws {
  let counter = 0;
  const next = () => {
    counter += 1;
    return chanceOf(seed, counter, 0x5eed);
  };
  const integer = (count: number) => Math.floor(next() * count);
  return {
    next,
    integer,
    between: (low, high) => low + (high - low) * next(),
    chance: (probability) => next() < probability,
    pick: (values) => values[integer(values.length)]!,
  };
}

/** Smooth noise in [0, 1) with one bump per unit. */
export function valueNoise(x: number, y: number, seed: number): number {
  const column = Math.floor(x);
  const row = Math.floor(y);
  const u = smooth(x - column);
  const v = smooth(y - row);
  const top = lattice(column, row, seed) * (1 - u) + lattice(column + 1, row, seed) * u;
  const bottom = lattice(column, row + 1, seed) * (1 - u) + lattice(column + 1, row + 1, seed) * u;
  return top * (1 - v) + bottom * v;
}

function smooth(t: number): number {
  return t * t * (3 - 2 * t);
}

function lattice(x: number, y: number, seed: number): number {
  let mixed = Math.imul(x, 0x27d4_eb2f) ^ Math.imul(y, 0x85eb_ca6b) ^ seed;
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b_3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a_2d39);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 0x1_0000_0000;
}
