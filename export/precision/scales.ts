// From ranges to 8 bits: scales and zero points of activations, weights and biases. A real number r is stored as
// q = round(r / scale) + zero point (Jacob et al., 2018, eq. 1), halves rounded to even as QuantizeLinear does.

export interface ActivationScale {
  readonly scale: number;
  readonly zeroPoint: number;
}

/** uint8 with a free zero point. The range is stretched to hold 0, which padding needs to be exact. */
export function unsignedScale(low: number, high: number): ActivationScale {
  const [least, most] = [Math.min(low, 0), Math.max(high, 0)];
  const scale = safeScale((most - least) / 255);
  return { scale, zeroPoint: Math.min(255, Math.max(0, roundHalfToEven(-least / scale))) };
}

/** int8 with zero point 0, as TensorRT wants it; -128 is left out. */
export function signedScale(low: number, high: number): ActivationScale {
  return { scale: safeScale(Math.max(-low, high, 0) / 127), zeroPoint: 0 };
}

export type WeightBits = 7 | 8;

export interface QuantisedWeight {
  readonly values: Int8Array;
  /** One for every channel of the axis. */
  readonly scales: Float32Array;
}

export interface WeightShape {
  readonly dims: readonly number[];
  /** Of the output channels: 0 for Conv, 1 for ConvTranspose. */
  readonly axis: number;
}

/** Largest stored magnitude: 7 bits keep pairs of products inside the 16 bits of processors without VNNI. */
export function largestLevel(bits: WeightBits): number {
  return bits === 8 ? 127 : 63;
}

/**
 * int8, symmetric, one scale a channel.
 * @param least scales that may not be gone below, so that a bias fits its 32 bits
 */
export function quantiseWeight(
  values: Float32Array,
  shape: WeightShape,
  bits: WeightBits,
  least?: Float32Array,
): QuantisedWeight {
  const channelOf = channelsOf(shape);
  const channels = shape.dims[shape.axis] ?? 1;
  const peaks = new Float32Array(channels);
  for (let index = 0; index < values.length; index++) {
    const channel = channelOf(index);
    peaks[channel] = Math.max(peaks[channel] ?? 0, Math.abs(values[index] ?? 0));
  }
  const top = largestLevel(bits);
  const scales = peaks.map((peak, channel) => safeScale(Math.max(peak / top, least?.[channel] ?? 0)));
  const stored = new Int8Array(values.length);
  for (let index = 0; index < values.length; index++) {
    const level = roundHalfToEven((values[index] ?? 0) / (scales[channelOf(index)] ?? 1));
    stored[index] = Math.min(top, Math.max(-top, level));
  }
  return { values: stored, scales };
}

/** Channel of an element by its place in memory. */
function channelsOf({ dims, axis }: WeightShape): (index: number) => number {
  const inner = dims.slice(axis + 1).reduce((count, dim) => count * dim, 1);
  const channels = dims[axis] ?? 1;
  return (index) => Math.floor(index / inner) % channels;
}

const LARGEST_INT32 = 2 ** 31 - 1;

/** Least weight scales with which biases stored in steps of input scale · weight scale stay inside 32 bits, with room for the sums. */
export function leastWeightScales(bias: Float32Array, inputScale: number): Float32Array {
  return bias.map((value) => Math.abs(value) / (LARGEST_INT32 / 2) / inputScale);
}

/** int32 in steps of input scale · weight scale; zero point 0. */
export function quantiseBias(
  bias: Float32Array,
  inputScale: number,
  weightScales: Float32Array,
): { readonly values: Int32Array; readonly scales: Float32Array } {
  const scales = weightScales.map((scale) => Math.fround(scale * Math.fround(inputScale)));
  return {
    scales,
    values: Int32Array.from(bias, (value, channel) => roundHalfToEven(value / (scales[channel] ?? 1))),
  };
}

/** A tensor that is 0 throughout has no scale of its own; below the normal numbers a runtime may take it for 0. */
function safeScale(scale: number): number {
  return scale > 1e-30 ? Math.fround(scale) : 1;
}

export function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return rest > 0.5 ? floor + 1 : floor;
  return floor % 2 === 0 ? floor : floor + 1;
}

/**
 * What rounding the weights adds to the mean of every output channel (Nagel et al., Data-free quantization, 2019, eq.
 * 17): the bias that takes it away again.
 * @param inputMeans of every input channel
 * @param outputs channels that are made of one group of inputs
 */
export function roundingShift(
  values: Float32Array,
  { values: stored, scales }: QuantisedWeight,
  dims: readonly number[],
  inputMeans: Float64Array,
): Float64Array {
  const [outputs = 0, inputs = 0] = dims;
  const kernel = values.length / outputs / inputs;
  const perGroup = outputs / (inputMeans.length / inputs);
  const shift = new Float64Array(outputs);
  for (let output = 0; output < outputs; output++) {
    const firstInput = Math.floor(output / perGroup) * inputs;
    const scale = scales[output] ?? 1;
    let sum = 0;
    for (let input = 0; input < inputs; input++) {
      let error = 0;
      const start = (output * inputs + input) * kernel;
      for (let index = start; index < start + kernel; index++) {
        error += (stored[index] ?? 0) * scale - (values[index] ?? 0);
      }
      sum += error * (inputMeans[firstInput + input] ?? 0);
    }
    shift[output] = sum;
  }
  return shift;
}
