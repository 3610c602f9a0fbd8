// Narrows whole tensors to half precision, by bits: a call per number would cost more than the network it follows.

/** Float32 bits of 65536, of infinity, of the smallest normal half (2^-14), and of 0.5. */
const BEYOND_HALF = 0x4780_0000;
const INFINITE = 0x7f80_0000;
const SMALLEST_NORMAL = 0x3880_0000;
const ONE_HALF = 0x3f00_0000;
/** Largest bits of a finite half. */
const LARGEST_HALF = 0x7bff;

export interface HalfWriter {
  /**
   * Nearest halves, ties to even.
   * @returns false where a value is not finite or beyond the 65504 that a half can hold
   */
  writeInto(target: Uint16Array, values: Float32Array): boolean;
}

export function createHalfWriter(): HalfWriter {
  const number = new Float32Array(1);
  const numberBits = new Uint32Array(number.buffer);
  return {
    writeInto(target, values) {
      const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
      let largest = 0;
      for (let index = 0; index < bits.length; index++) {
        const all = bits[index]!;
        const magnitude = all & 0x7fff_ffff;
        let half: number;
        if (magnitude >= BEYOND_HALF) half = magnitude > INFINITE ? 0x7e00 : 0x7c00;
        else if (magnitude >= SMALLEST_NORMAL) {
          // Exponent bias 127 → 15; adding just under half a step, and one more for odd results, rounds ties to even.
          half = (magnitude - 0x3800_0000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13;
        } else {
          // Next to 0.5, float32 itself has steps of 2^-24, those of subnormal halves: the addition rounds.
          numberBits[0] = magnitude;
          number[0] = number[0]! + 0.5;
          half = numberBits[0]! - ONE_HALF;
        }
        if (half > largest) largest = half;
        target[index] = ((all >>> 16) & 0x8000) | half;
      }
      return largest <= LARGEST_HALF;
    },
  };
}
