// Seeded randomness that can be stored and taken up again: xoshiro128** (Blackman and Vigna, 2018), seeded by
// splitmix32. Training draws from nothing else, so that equal seeds give equal weights.

/** Four 32-bit words; what a checkpoint stores. */
export type RandomState = readonly [number, number, number, number];

export interface Random {
  /** Uniform in [0, 1), 32 bits fine. */
  next(): number;
  /** Uniform integer in [0, count). */
  integer(count: number): number;
  /** Uniform in [low, high). */
  between(low: number, high: number): number;
  /** Standard normal (Box-Muller, one value a call so that the state is the four words alone). */
  normal(): number;
  /** Fisher-Yates, in place. */
  shuffle(values: { length: number; [index: number]: number }): void;
  state(): RandomState;
}

/** @param seed any integer, or a stored state */
export function createRandom(seed: number | RandomState): Random {
  let [a, b, c, d] = typeof seed === 'number' ? seedState(seed) : seed;
  function word(): number {
    const scrambled = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotate(d, 11);
    return scrambled;
  }
  const next = () => word() / 0x1_0000_0000;
  const integer = (count: number) => Math.floor(next() * count);
  return {
    next,
    integer,
    between: (low, high) => low + (high - low) * next(),
    normal() {
      const radius = Math.sqrt(-2 * Math.log(1 - next()));
      return radius * Math.cos(2 * Math.PI * next());
    },
    shuffle(values) {
      for (let last = values.length - 1; last > 0; last--) {
        const other = integer(last + 1);
        const kept = values[last]!;
        values[last] = values[other]!;
        values[other] = kept;
      }
    },
    state: () => [a >>> 0, b >>> 0, c >>> 0, d >>> 0],
  };
}

/** A generator of its own for every purpose, so that one purpose drawing more does not shift the others. */
export function deriveSeed(seed: number, ...purpose: readonly number[]): number {
  return purpose.reduce((mixed, part) => mix((mixed ^ mix(part + 0x9e37_79b9)) >>> 0), mix(seed));
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function mix(value: number): number {
  let mixed = (value + 0x9e37_79b9) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0_aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

function seedState(seed: number): RandomState {
  const words = [1, 2, 3, 4].map((index) => mix((seed + Math.imul(index, 0x9e37_79b9)) >>> 0));
  return [words[0]! || 1, words[1]!, words[2]!, words[3]!];
}
