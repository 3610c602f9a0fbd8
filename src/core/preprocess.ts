// The preprocessing contract of a model, and the loop that carries it out.
import { ModelError } from './errors.ts';
import { toHalfBits } from './float16.ts';
import type { FitPolicy, Letterbox } from './letterbox.ts';
import type { Size } from './shapes.ts';

export interface PreprocessContract {
  readonly fit: FitPolicy;
  readonly channels: 'rgb' | 'bgr';
  /** Per channel in the network's order: input = (value - mean) / std, with value in 0..255. */
  readonly mean: readonly [number, number, number];
  readonly std: readonly [number, number, number];
  /** Grey value of the padding in 0..255, before mean and std. */
  readonly pad: number;
}

/** Element type of the network's input; float16 travels as its bits. */
export type InputType = 'float32' | 'float16' | 'uint8';

/** `nchw` is planar [3, H, W], `nhwc` interleaved [H, W, 3]. */
export type InputLayout = 'nchw' | 'nhwc';

export type InputArray = Float32Array | Uint16Array | Uint8Array;

/** Fills input tensors of one model; the tables of its contract are computed once. */
export interface InputWriter {
  readonly type: InputType;
  readonly layout: InputLayout;
  /** A new array for an input of this size, filled with padding. */
  create(input: Size): InputArray;
  fillPaddingInto(target: InputArray, input: Size): void;
  /** Writes only the rectangle of the picture. @param content rgb24 [content.height, content.width, 3] */
  writeContentInto(target: InputArray, content: Uint8Array, letterbox: Letterbox): void;
}

/**
 * @throws ModelError where a uint8 input is asked for with a mean or std that bytes cannot carry
 */
export function createInputWriter(
  contract: PreprocessContract,
  { type, layout }: { readonly type: InputType; readonly layout: InputLayout },
): InputWriter {
  expectCarried(contract, type);
  const tables = contract.mean.map((mean, channel) => createTable(type, mean, contract.std[channel]!));
  const planar = layout === 'nchw';
  const step = planar ? 1 : 3;
  const at = (channel: number): ChannelTable => ({ channel, table: tables[channel]! });
  const byPictureChannel: [ChannelTable, ChannelTable, ChannelTable] =
    contract.channels === 'rgb' ? [at(0), at(1), at(2)] : [at(2), at(1), at(0)];
  function fillPaddingInto(target: InputArray, input: Size): void {
    const plane = input.width * input.height;
    expectLength('input tensor', target.length, 3 * plane);
    for (let channel = 0; channel < 3; channel++) {
      const value = encode(type, contract.pad, contract.mean[channel]!, contract.std[channel]!);
      if (planar) target.fill(value, channel * plane, (channel + 1) * plane);
      else for (let index = channel; index < 3 * plane; index += 3) target[index] = value;
    }
  }
  return {
    type,
    layout,
    create(input) {
      const target = newArray(type, 3 * input.width * input.height);
      fillPaddingInto(target, input);
      return target;
    },
    fillPaddingInto,
    writeContentInto(target, content, letterbox) {
      const { input, padLeft, padTop } = letterbox;
      const { width, height } = letterbox.content;
      const plane = input.width * input.height;
      expectLength('input tensor', target.length, 3 * plane);
      expectLength('rgb24 picture', content.length, 3 * width * height);
      const geometry: CopyGeometry = {
        start: (padTop * input.width + padLeft) * step,
        step,
        rowStep: step * input.width,
        channelStep: planar ? plane : 1,
        width,
        height,
      };
      writeInto(target, content, byPictureChannel, geometry);
    },
  };
}

interface CopyGeometry {
  /** First element in the target; steps to the next px, the next row and the next channel. */
  readonly start: number;
  readonly step: number;
  readonly rowStep: number;
  readonly channelStep: number;
  readonly width: number;
  readonly height: number;
}

interface ChannelTable {
  /** Where this channel of the picture goes among the network's. */
  readonly channel: number;
  readonly table: InputArray;
}

function writeInto(
  target: InputArray,
  content: Uint8Array,
  [red, green, blue]: readonly [ChannelTable, ChannelTable, ChannelTable],
  { start, step, rowStep, channelStep, width, height }: CopyGeometry,
): void {
  const toGreen = (green.channel - red.channel) * channelStep;
  const toBlue = (blue.channel - red.channel) * channelStep;
  for (let row = 0; row < height; row++) {
    const from = 3 * row * width;
    const to = start + row * rowStep + red.channel * channelStep;
    const write = step === 1 ? writePlanarRow : writeInterleavedRow;
    write(target, content, red.table, green.table, blue.table, from, to, toGreen, toBlue, width);
  }
}

/**
 * A row at a time, with every value a plain parameter: so the compiler keeps them all in registers, which makes this
 * loop three to five times as fast as one over the whole picture.
 * @param from first byte of the row in the picture
 * @param to its red element in the target; `toGreen` and `toBlue` lead from there to the others
 */
function writePlanarRow(
  target: InputArray,
  content: Uint8Array,
  red: InputArray,
  green: InputArray,
  blue: InputArray,
  from: number,
  to: number,
  toGreen: number,
  toBlue: number,
  width: number,
): void {
  for (const end = to + width; to < end; to++, from += 3) {
    target[to] = red[content[from]!]!;
    target[to + toGreen] = green[content[from + 1]!]!;
    target[to + toBlue] = blue[content[from + 2]!]!;
  }
}

/** The same for [H, W, 3]. */
function writeInterleavedRow(
  target: InputArray,
  content: Uint8Array,
  red: InputArray,
  green: InputArray,
  blue: InputArray,
  from: number,
  to: number,
  toGreen: number,
  toBlue: number,
  width: number,
): void {
  for (const end = to + 3 * width; to < end; to += 3, from += 3) {
    target[to] = red[content[from]!]!;
    target[to + toGreen] = green[content[from + 1]!]!;
    target[to + toBlue] = blue[content[from + 2]!]!;
  }
}

/** All 256 values that a byte can become. */
function createTable(type: InputType, mean: number, std: number): InputArray {
  const table = newArray(type, 256);
  for (let value = 0; value < 256; value++) table[value] = encode(type, value, mean, std);
  return table;
}

function encode(type: InputType, value: number, mean: number, std: number): number {
  const normalized = (value - mean) / std;
  return type === 'float16' ? toHalfBits(normalized) : normalized;
}

function newArray(type: InputType, length: number): InputArray {
  switch (type) {
    case 'float32':
      return new Float32Array(length);
    case 'float16':
      return new Uint16Array(length);
    case 'uint8':
      return new Uint8Array(length);
    default:
      return type satisfies never;
  }
}

function expectCarried({ mean, std }: PreprocessContract, type: InputType): void {
  const identity = mean.every((value) => value === 0) && std.every((value) => value === 1);
  if (type !== 'uint8' || identity) return;
  throw new ModelError(
    `a uint8 input takes bytes as they are, found mean [${mean.join(', ')}] and std [${std.join(', ')}]`,
    { hint: 'set preprocess mean to 0 and std to 1 for this model' },
  );
}

function expectLength(what: string, found: number, expected: number): void {
  if (found !== expected) {
    throw new RangeError(`the ${what} has ${found} elements, expected ${expected}`);
  }
}
