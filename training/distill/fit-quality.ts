// Fits a compact quality layer to the rows of one level by AdamW on small batches.
import { setImmediate } from 'node:timers/promises';
import { createRandom, type Random } from '#core';
import type { CompactQuality, DenseLayer, HeadParameter } from '#onnx';
import { COMPACT_CHANNELS } from '#onnx';
import { createOptimizer, OPTIMIZER_DEFAULTS } from '../optimizer.ts';
import { LAW_LOSSES } from './compact-laws.ts';
import { createNetworkPass, parametersOf, type QualityNetwork } from './quality-network.ts';

/** Rows of one level. */
export interface LevelRows {
  readonly count: number;
  /** [count, channels] */
  readonly features: Float32Array;
  /** [count, TARGET_WIDTH] */
  readonly targets: Float32Array;
  /** [count]: how much a row counts. */
  readonly weights: Float32Array;
  readonly channels: number;
}

export interface FitOptions {
  readonly form: CompactQuality;
  /** Width of the hidden layer; 0 is linear. */
  readonly hidden: number;
  readonly steps: number;
  readonly batch: number;
  readonly learningRate: number;
  readonly seed: number;
  readonly signal?: AbortSignal;
  readonly onStep?: (done: number) => void;
}

export interface FittedQuality {
  readonly network: QualityNetwork;
  /** Mean weighted distance over the last tenth of the steps. */
  readonly loss: number;
}

/** Steps between two looks at the signal and at what else the process has to do. */
const STEPS_PER_TURN = 50;

/** @throws the reason of the signal */
export async function fitQuality(rows: LevelRows, options: FitOptions): Promise<FittedQuality> {
  const { form, hidden, steps, learningRate, seed, signal, onStep } = options;
  const random = createRandom(seed);
  const scaling = scalingOf(rows);
  const network = firstNetwork(rows.channels, hidden, COMPACT_CHANNELS[form], random);
  const batch = Math.min(options.batch, rows.count);
  const pass = createNetworkPass(network, batch);
  const parameters = parametersOf(network);
  const named = parameters.map(
    (values, place): HeadParameter => ({ name: String(place), shape: [values.length], role: 'bias' }),
  );
  const values = new Map(
    parameters.map((value, place) => [String(place), value as Float32Array<ArrayBuffer>]),
  );
  const optimizer = createOptimizer({ ...OPTIMIZER_DEFAULTS, weightDecay: 0 }, named);
  const draw = createBatchDrawer(rows, scaling, batch, random);
  const loss = createBatchLoss(rows, form);
  let lateLoss = 0;
  const late = Math.max(1, Math.floor(steps / 10));
  for (let step = 0; step < steps; step++) {
    if (step % STEPS_PER_TURN === 0) {
      await setImmediate();
      signal?.throwIfAborted();
      onStep?.(step);
    }
    const { input, places } = draw();
    pass.forward(input, batch);
    const distance = loss(pass, places);
    if (step >= steps - late) lateLoss += distance / late;
    const gradients = pass.backward();
    const slopes = new Map(
      gradients.map((value, place) => [String(place), value as Float32Array<ArrayBuffer>]),
    );
    optimizer.step(values, slopes, learningRate * cosine(step / steps));
  }
  return { network: withoutScaling(network, scaling), loss: lateLoss };
}

/** From 1 to 0.01, with a short rise. */
function cosine(progress: number): number {
  const rise = Math.min(1, progress / 0.03 + 0.05);
  return rise * (0.01 + 0.99 * 0.5 * (1 + Math.cos(Math.PI * progress)));
}

function createBatchDrawer(rows: LevelRows, { mean, scale }: Scaling, batch: number, random: Random) {
  const { count, channels, features } = rows;
  const order = Uint32Array.from({ length: count }, (_, row) => row);
  const input = new Float32Array(batch * channels);
  const places = new Uint32Array(batch);
  let next = count;
  return () => {
    for (let place = 0; place < batch; place++) {
      if (next >= count) {
        random.shuffle(order);
        next = 0;
      }
      const row = order[next++]!;
      places[place] = row;
      for (let channel = 0; channel < channels; channel++) {
        input[place * channels + channel] =
          (features[row * channels + channel]! - mean[channel]!) * scale[channel]!;
      }
    }
    return { input, places };
  };
}

/** Mean weighted distance of a batch; its gradient goes into the pass. */
function createBatchLoss({ targets, weights }: LevelRows, form: CompactQuality) {
  const distanceOf = LAW_LOSSES[form];
  const channels = COMPACT_CHANNELS[form];
  return ({ raw, gradient }: { raw: Float32Array; gradient: Float32Array }, places: Uint32Array): number => {
    let sum = 0;
    for (let place = 0; place < places.length; place++) {
      const row = places[place]!;
      const at = place * channels;
      const weight = weights[row]! / places.length;
      sum += weight * distanceOf({ raw, at, targets, row, gradient });
      for (let channel = 0; channel < channels; channel++)
        gradient[at + channel] = gradient[at + channel]! * weight;
    }
    return sum;
  };
}

interface Scaling {
  readonly mean: Float32Array;
  /** One over the standard deviation. */
  readonly scale: Float32Array;
}

/** Channels differ in size by orders of magnitude; at one size, one learning rate suits all. */
function scalingOf({ count, channels, features, weights }: LevelRows): Scaling {
  const mean = new Float32Array(channels);
  const scale = new Float32Array(channels);
  for (let channel = 0; channel < channels; channel++) {
    let [total, sum, squares] = [0, 0, 0];
    for (let row = 0; row < count; row++) {
      const value = features[row * channels + channel]!;
      total += weights[row]!;
      sum += weights[row]! * value;
      squares += weights[row]! * value * value;
    }
    mean[channel] = sum / total;
    scale[channel] = 1 / Math.sqrt(Math.max(squares / total - (sum / total) ** 2, 1e-8));
  }
  return { mean, scale };
}

function firstNetwork(inputs: number, hidden: number, outputs: number, random: Random): QualityNetwork {
  const dense = (from: number, to: number, spread: number): DenseLayer => ({
    inputs: from,
    outputs: to,
    weight: Float32Array.from({ length: from * to }, () => spread * random.normal()),
    bias: new Float32Array(to),
  });
  if (hidden === 0) return { output: dense(inputs, outputs, 0.01) };
  return {
    hidden: dense(inputs, hidden, Math.sqrt(1 / inputs)),
    output: dense(hidden, outputs, Math.sqrt(1 / hidden)),
  };
}

/** The same function of the features as they are: W ((x − m) s) + b = (W s) x + (b − W s m). */
function withoutScaling({ hidden, output }: QualityNetwork, scaling: Scaling): QualityNetwork {
  return hidden ? { hidden: unscaled(hidden, scaling), output } : { output: unscaled(output, scaling) };
}

function unscaled({ inputs, outputs, weight, bias }: DenseLayer, { mean, scale }: Scaling): DenseLayer {
  const scaled = weight.map((value, at) => value * scale[at % inputs]!);
  const shifted = bias.map((value, out) => {
    let moved = 0;
    for (let index = 0; index < inputs; index++) moved += scaled[out * inputs + index]! * mean[index]!;
    return value - moved;
  });
  return { inputs, outputs, weight: scaled, bias: shifted };
}
