// IEEE 754 half precision, as 16 bits in a Uint16Array. Node 20 has no Float16Array.

/** Value of half bits; exact. */
export function fromHalfBits(bits: number): number {
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/**
 * Nearest half, ties to even, straight from the double (going through float32 would round twice).
 * 65520 and above become Infinity, NaN stays NaN.
 */
export function toHalfBits(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < 2 ** -14) {
    // Subnormal: whole steps of 2^-24. A carry into 1024 is exactly the smallest normal number.
    return sign | roundHalfToEven(magnitude * 2 ** 24);
  }
  const exponent = exponentOf(magnitude);
  const significand = roundHalfToEven(magnitude * 2 ** (10 - exponent)); // 1024..2048
  // A carry to 2048 flows into the exponent by itself.
  return sign | (((exponent + 14) << 10) + significand);
}

function exponentOf(magnitude: number): number {
  const exponent = Math.floor(Math.log2(magnitude));
  // log2 may land on the wrong side of a power of two.
  if (2 ** exponent > magnitude) return exponent - 1;
  return 2 ** (exponent + 1) <= magnitude ? exponent + 1 : exponent;
}

function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest > 0.5) return floor + 1;
  return rest === 0.5 ? floor + (floor & 1) : floor;
}

/** Widens halves; a table of all 65,536 values makes it one load each. */
export interface HalfReader {
  readInto(target: Float32Array, bits: Uint16Array): void;
}

export function createHalfReader(): HalfReader {
  const table = Float32Array.from({ length: 65_536 }, (_, bits) => fromHalfBits(bits));
  return {
    readInto(target, bits) {
      for (let index = 0; index < bits.length; index++) target[index] = table[bits[index]!]!;
    },
  };
}

/** As `fromHalfBits`, by moving bits: one picture of a network's input in a few ms. */
export function fromHalfArray(halves: Uint16Array): Float32Array {
  const singles = new Uint32Array(halves.length);
  const values = new Float32Array(singles.buffer);
  for (let index = 0; index < halves.length; index++) {
    const half = halves[index]!;
    const magnitude = half & 0x7fff;
    // The exponent is counted from another number. Zero and subnormals, infinity and NaN are not of that form.
    if (magnitude >= 0x400 && magnitude < 0x7c00) {
      singles[index] = ((half & 0x8000) << 16) | ((magnitude << 13) + (112 << 23));
    } else values[index] = fromHalfBits(half);
  }
  return values;
}

/** As `toHalfBits`, by moving bits. */
export function toHalfArray(values: Float32Array): Uint16Array {
  const singles = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = new Uint16Array(values.length);
  for (let index = 0; index < halves.length; index++) {
    const single = singles[index]!;
    const magnitude = single & 0x7fffffff;
    const isNormal = magnitude >= 0x38800000 && magnitude < 0x47800000;
    // Half a step less one, and one more where the last bit kept is odd: ties go to even. A carry into infinity is right.
    halves[index] = isNormal
      ? ((single >>> 16) & 0x8000) | ((magnitude - (112 << 23) + 0xfff + ((magnitude >>> 13) & 1)) >>> 13)
      : toHalfBits(values[index]!);
  }
  return halves;
}
