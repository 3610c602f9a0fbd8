// Half precision numbers as bits: Node 20 has no Float16Array, and ONNX Runtime hands them over as Uint16Array.

const scratchFloat = new Float32Array(1);
const scratchBits = new Uint32Array(scratchFloat.buffer);

/** IEEE 754 half bits of a number, rounded to nearest even; above 65504 (after rounding) it is infinite. */
export function toHalfBits(value: number): number {
  scratchFloat[0] = value;
  const bits = scratchBits[0] ?? 0;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) {
    return sign | 0x7e00; // not a number
  }
  if (magnitude >= 0x477ff000) {
    return sign | 0x7c00; // 65520 and above round to infinity
  }
  if (magnitude < 0x38800000) {
    // Subnormal half: a multiple of 2^-24. Scaling is exact, so only the final rounding rounds.
    return sign | roundHalfToEven(Math.abs(scratchFloat[0]) * 16777216);
  }
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((rounded - 0x38000000) >>> 13);
}

/** The number that half bits stand for. */
export function fromHalfBits(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) {
    return sign * fraction * 2 ** -24;
  }
  if (exponent === 31) {
    return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  }
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  const up = rest > 0.5 || (rest === 0.5 && floor % 2 === 1);
  return up ? floor + 1 : floor;
}
