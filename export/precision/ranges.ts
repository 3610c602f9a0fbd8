// Which values the tensors of a float network take on real pictures: what scales are chosen from.
import { DataError, ModelError } from '#core';
import type { GraphView, ModelProto } from '#onnx';
import { ElementType, inferElementTypes, inferGraph, serialize, viewGraph, withExtraOutputs } from '#onnx';
import { type LocalSession, type LocalTensor, openLocalSession } from '#runtime/local-session';
import { floatTail } from './float-tail.ts';
import { fixedInput, onlyOutputs } from './graph-edges.ts';
import { MagnitudeHistogram } from './histogram.ts';

/** `percentile` clips the rarest magnitudes; `entropy` clips where 128 levels lose the least information. */
export type CalibrationMethod = 'min-max' | 'percentile' | 'entropy';

export interface MeasureOptions {
  /** Default `min-max`. */
  readonly method?: CalibrationMethod;
  /** Of the magnitudes that stay unclipped. Default 99.99. */
  readonly percentile?: number;
  /** Threads of the runtime. Default 1. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Called after every picture. */
  readonly onPicture?: (done: number) => void;
}

export interface TensorRange {
  /** Scales are chosen from these; between `lowest` and `highest`. */
  readonly low: number;
  readonly high: number;
  /** The extremes that were seen, whatever the method. */
  readonly lowest: number;
  readonly highest: number;
  /** Mean of every channel, where the tensor has shape [N, C, H, W]. */
  readonly channelMeans?: Float64Array;
}

export interface TensorRanges {
  /** By tensor name: inputs and what the nodes in front of the last convolutions make, those included. */
  readonly ranges: ReadonlyMap<string, TensorRange>;
  readonly method: CalibrationMethod;
  readonly pictures: number;
  /** For the user, in sentences. */
  readonly warnings: readonly string[];
}

/** Fewer pictures than this leave whole classes and lights out. */
const FEW_PICTURES = 8;

/** Extra outputs of one session hold at most so many floats (128 MiB): a larger net is run in parts. */
const GROUP_ELEMENTS = 32 * 2 ** 20;

/**
 * Runs the float network over preprocessed pictures and notes the values of its activations. Memory does not grow with
 * the number of pictures.
 * @param model float32, one input of a fixed shape (before any uint8 preamble)
 * @param inputs what the network reads, one picture (or batch) at a time
 * @throws DataError without a picture, ModelError for an open input shape, not-finite activations, or a graph that the
 * runtime refuses
 */
export async function measureRanges(
  model: ModelProto,
  inputs: AsyncIterable<Float32Array<ArrayBuffer>> | Iterable<Float32Array<ArrayBuffer>>,
  options: MeasureOptions = {},
): Promise<TensorRanges> {
  const { method = 'min-max', percentile = 99.99, threads = 1 } = options;
  const { name, shape } = fixedInput(model);
  const meters = new Map([[name, new Meter(method)]]);
  const groups = await openGroups(model, shape, threads);
  let pictures = 0;
  try {
    for await (const data of inputs) {
      options.signal?.throwIfAborted();
      expectLength(data, shape);
      meters.get(name)?.add(name, { shape, data });
      for (const group of groups) {
        const outputs = await inWords(() => group.session.run(new Map([[name, { shape, data }]])));
        for (const tensor of group.tensors) {
          const meter = meters.get(tensor) ?? new Meter(method);
          meters.set(tensor, meter);
          meter.add(tensor, outputs.get(tensor) ?? { shape: [0], data: new Float32Array() });
        }
      }
      pictures++;
      options.onPicture?.(pictures);
    }
  } finally {
    for (const { session } of groups) await session.release();
  }
  if (pictures === 0) throw noPictures();
  const ranges = new Map([...meters].map(([tensor, meter]) => [tensor, meter.range(percentile)]));
  // Pixels have 256 levels of their own: to clip the brightest would only lose them.
  const input = ranges.get(name);
  if (input) ranges.set(name, { ...input, low: input.lowest, high: input.highest });
  return { ranges, method, pictures, warnings: warningsOf(pictures) };
}

function noPictures(): DataError {
  return new DataError(
    'there are no pictures to calibrate on: int8 scales are chosen from what the network sees',
    {
      hint: 'give a folder of pictures from the cameras that the model will run on, 100 or more',
    },
  );
}

function warningsOf(pictures: number): readonly string[] {
  if (pictures >= FEW_PICTURES) return [];
  return [
    `calibrated on ${pictures} ${pictures === 1 ? 'picture' : 'pictures'}: scenes that they do not show may be clipped; 100 or more, by day and by night, are advised`,
  ];
}

function expectLength(data: Float32Array, shape: readonly number[]): void {
  const expected = shape.reduce((product, axis) => product * axis, 1);
  if (data.length === expected) return;
  throw new DataError(`a calibration input has ${data.length} values, the network reads ${expected}`, {
    hint: 'preprocess the pictures for the input size of this model',
  });
}

class Meter {
  readonly #method: CalibrationMethod;
  readonly #histogram: MagnitudeHistogram | undefined;
  #lowest = Number.POSITIVE_INFINITY;
  #highest = Number.NEGATIVE_INFINITY;
  #channelSums: Float64Array | undefined;
  #countPerChannel = 0;

  constructor(method: CalibrationMethod) {
    this.#method = method;
    this.#histogram = method === 'min-max' ? undefined : new MagnitudeHistogram();
  }

  add(tensor: string, { shape, data: values }: LocalTensor): void {
    let lowest = this.#lowest;
    let highest = this.#highest;
    for (let index = 0; index < values.length; index++) {
      const value = values[index] ?? 0;
      if (!(Math.abs(value) <= 3.5e38)) throw notFinite(tensor, value);
      if (value < lowest) lowest = value;
      if (value > highest) highest = value;
    }
    this.#lowest = lowest;
    this.#highest = highest;
    this.#histogram?.add(values);
    if (shape.length === 4) this.#addChannels(shape, values);
  }

  #addChannels([batch = 1, channels = 1]: readonly number[], values: Float32Array): void {
    const sums = this.#channelSums ?? new Float64Array(channels);
    this.#channelSums = sums;
    const plane = values.length / batch / channels;
    for (let start = 0; start < values.length; start += plane) {
      let sum = 0;
      for (let index = start; index < start + plane; index++) sum += values[index] ?? 0;
      const channel = (start / plane) % channels;
      sums[channel] = (sums[channel] ?? 0) + sum;
    }
    this.#countPerChannel += batch * plane;
  }

  range(percentile: number): TensorRange {
    const [lowest, highest] = [this.#lowest, this.#highest];
    const threshold = this.#threshold(percentile);
    const sums = this.#channelSums;
    return {
      low: Math.max(lowest, -threshold),
      high: Math.min(highest, threshold),
      lowest,
      highest,
      ...(sums && { channelMeans: sums.map((sum) => sum / this.#countPerChannel) }),
    };
  }

  #threshold(percentile: number): number {
    if (this.#histogram === undefined) return Number.POSITIVE_INFINITY;
    return this.#method === 'entropy'
      ? this.#histogram.leastDivergence()
      : this.#histogram.percentile(percentile);
  }
}

function notFinite(tensor: string, value: number): ModelError {
  return new ModelError(`tensor ${tensor} becomes ${value} on a calibration picture`, {
    hint: 'the float model is broken here already: run val on it, and export it again from its checkpoint',
  });
}

/** A part of the network, and which of its results are measured, in the order of the graph. */
interface Group {
  readonly session: LocalSession;
  readonly tensors: readonly string[];
}

async function openGroups(
  model: ModelProto,
  inputShape: readonly number[],
  threads: number,
): Promise<readonly Group[]> {
  const groups: Group[] = [];
  for (const tensors of groupsOf(model, inputShape)) {
    const part = serialize(onlyOutputs(withExtraOutputs(model, tensors), new Set(tensors)));
    const session = await inWords(() => openLocalSession(part, { provider: { kind: 'cpu' }, threads }));
    groups.push({ session, tensors });
  }
  return groups;
}

/** The runtime's complaint as a fault of the model. */
async function inWords<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    const [line = ''] = (cause instanceof Error ? cause.message : String(cause)).split('\n', 1);
    throw new ModelError(`the network cannot be run for calibration: ${line}`, {
      hint: 'check that the float model runs: edge-detect val model=…',
      cause,
    });
  }
}

/** Names of the measured tensors, in the order of the graph, so that one group ends where the next begins. */
function groupsOf(model: ModelProto, inputShape: readonly number[]): readonly (readonly string[])[] {
  const view = viewGraph(model);
  const sizeOf = sizes(model, inputShape);
  const groups: string[][] = [];
  let room = 0;
  for (const name of measured(model, view)) {
    const size = sizeOf(name);
    if (size > room || groups.length === 0) {
      groups.push([]);
      room = GROUP_ELEMENTS;
    }
    groups.at(-1)?.push(name);
    room -= size;
  }
  return groups;
}

function measured(model: ModelProto, view: GraphView): readonly string[] {
  const { nodes: tail } = floatTail(view);
  const typeOf = inferElementTypes(model);
  return view.graph.node
    .filter((node) => !tail.has(node) && node.opType !== 'Constant')
    .flatMap((node) => node.output)
    .filter((name) => name !== '' && typeOf(name) === ElementType.FLOAT);
}

/** Where no shape rule tells, a tensor is taken to be as large as sixteen inputs. */
function sizes(model: ModelProto, inputShape: readonly number[]): (name: string) => number {
  const count = (shape: readonly number[]) => shape.reduce((product, axis) => product * axis, 1);
  const assumed = 16 * count(inputShape);
  const { name } = fixedInput(model);
  try {
    const { shapes } = inferGraph(model, new Map([[name, inputShape]]));
    return (tensor) => count(shapes.get(tensor) ?? [assumed]);
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return () => assumed;
  }
}
