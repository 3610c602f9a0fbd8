// A small head over fixed features, trained by the product's losses and optimisers: linear, or with one hidden layer.
import { createRandom, deriveSeed, type Random } from 'edge-detect/core';
import { type ClassLoss, clipGradients, createOptimizer, type OptimizerConfig } from 'edge-detect/training';

/** Samples of a classifier. */
export interface LabelledRows {
  readonly width: number;
  /** Float32[N * width] */
  readonly features: Float32Array;
  /** Int32[N] */
  readonly labels: Int32Array;
}

export interface HeadRecipe {
  readonly loss: ClassLoss;
  readonly optimizer: 'sgd' | 'adamw';
  /** Hidden units; 0 for a linear head. */
  readonly hidden: number;
  readonly epochs: number;
  readonly batch: number;
  readonly seed: number;
  /** Divides every step by the mean weight of its batch, so that weighting changes no step size. */
  readonly normalise?: boolean;
}

export interface TrainedHead {
  /** Float64[N * K] */
  logits(rows: LabelledRows): Float64Array;
}

/** Peaks of the learning rate, which falls to 1 % by half a cosine; momentum and decay as they are usual with each. */
const OPTIMIZERS: Readonly<Record<HeadRecipe['optimizer'], OptimizerConfig & { readonly rate: number }>> = {
  sgd: { name: 'sgd', weightDecay: 5e-4, momentum: 0.9, beta2: 0.999, rate: 0.05 },
  adamw: { name: 'adamw', weightDecay: 0.01, momentum: 0.9, beta2: 0.999, rate: 0.002 },
};
const LAST_RATE = 0.01;
/** Largest joint norm of the gradients, that of the published code: β 1, γ 4 diverges without. */
const CLIP = 2;

export const OPTIMIZER_TEXT =
  'sgd: rate .05, Nesterov momentum .9, decay 5e-4; adamw: rate .002, decay .01; half a cosine down to 1 %; gradients clipped at norm 2';

export function trainClassHead(rows: LabelledRows, classes: number, recipe: HeadRecipe): TrainedHead {
  const { hidden, epochs, batch, seed } = recipe;
  const network = createNetwork(rows.width, hidden, classes, createRandom(deriveSeed(seed, 1)));
  const config = OPTIMIZERS[recipe.optimizer];
  const optimizer = createOptimizer(config, network.parameters);
  const count = rows.labels.length;
  const order = Uint32Array.from({ length: count }, (_, row) => row);
  const shuffler = createRandom(deriveSeed(seed, 2));
  const stepsPerEpoch = Math.ceil(count / batch);
  let step = 0;
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffler.shuffle(order);
    for (let from = 0; from < count; from += batch) {
      const picked = order.subarray(from, Math.min(count, from + batch));
      network.backward(rows, picked, recipe.loss, recipe.normalise ?? false);
      clipGradients(network.gradients, CLIP);
      const progress = step++ / (epochs * stepsPerEpoch);
      const share = LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + Math.cos(Math.PI * progress));
      optimizer.step(network.values, network.gradients, config.rate * share);
    }
  }
  return { logits: (others) => network.logits(others) };
}

interface Layer {
  readonly name: string;
  readonly width: number;
  readonly weights: Float32Array<ArrayBuffer>;
  readonly biases: Float32Array<ArrayBuffer>;
  readonly weightGradients: Float32Array<ArrayBuffer>;
  readonly biasGradients: Float32Array<ArrayBuffer>;
}

/** Weights [outputs, inputs], normal with variance 2 / inputs before a rectifier (He et al., 2015), 1 / inputs else. */
function createLayer(name: string, width: number, outputs: number, gain: number, random: Random): Layer {
  const weights = new Float32Array(outputs * width);
  for (let place = 0; place < weights.length; place++)
    weights[place] = random.normal() * Math.sqrt(gain / width);
  return {
    name,
    width,
    weights,
    biases: new Float32Array(outputs),
    weightGradients: new Float32Array(outputs * width),
    biasGradients: new Float32Array(outputs),
  };
}

/** Single precision throughout, as in a training: arrays of one kind are also three times as fast. */
function createNetwork(width: number, hidden: number, classes: number, random: Random) {
  const first = hidden > 0 ? createLayer('first', width, hidden, 2, random) : undefined;
  const last = createLayer('last', hidden > 0 ? hidden : width, classes, 1, random);
  const layers = first === undefined ? [last] : [first, last];
  const [active, activeGradient] = [new Float32Array(last.width), new Float32Array(last.width)];
  const [logits, slopes] = [new Float32Array(classes), new Float32Array(classes)];
  const target = new Float64Array(classes);

  function forward({ features }: LabelledRows, row: number): void {
    if (first === undefined) {
      active.set(features.subarray(row * width, (row + 1) * width));
    } else {
      applyInto(active, first, features, row * width);
      for (let unit = 0; unit < hidden; unit++) if (active[unit]! < 0) active[unit] = 0;
    }
    applyInto(logits, last, active, 0);
  }

  function backwardRow({ features }: LabelledRows, row: number): void {
    addGradients(last, slopes, active, 0);
    if (first === undefined) return;
    for (let unit = 0; unit < hidden; unit++) {
      let slope = 0;
      if (active[unit]! > 0)
        for (let k = 0; k < classes; k++) slope += slopes[k]! * last.weights[k * hidden + unit]!;
      activeGradient[unit] = slope;
    }
    addGradients(first, activeGradient, features, row * width);
  }

  return {
    parameters: layers.flatMap(({ name, width: inputs, biases }) => [
      { name: `${name}.weight`, shape: [biases.length, inputs], role: 'weight' as const },
      { name: `${name}.bias`, shape: [biases.length], role: 'bias' as const },
    ]),
    values: arraysOf(layers, ({ weights, biases }) => [weights, biases]),
    gradients: arraysOf(layers, ({ weightGradients, biasGradients }) => [weightGradients, biasGradients]),
    /** Mean gradient over the picked rows. */
    backward(rows: LabelledRows, picked: Uint32Array, loss: ClassLoss, normalise: boolean): void {
      for (const { weightGradients, biasGradients } of layers) {
        weightGradients.fill(0);
        biasGradients.fill(0);
      }
      let weight = 0;
      for (const row of picked) {
        forward(rows, row);
        target[rows.labels[row]!] = 1;
        const result = loss.rowInto({
          logits,
          offset: 0,
          stride: 1,
          target,
          gradient: slopes,
          gradientOffset: 0,
          gradientStride: 1,
          scale: 1 / picked.length,
        });
        target[rows.labels[row]!] = 0;
        weight += result.weight / picked.length;
        backwardRow(rows, row);
      }
      if (normalise && weight > 0) for (const layer of layers) divide(layer, weight);
    },
    logits(rows: LabelledRows): Float64Array {
      const all = new Float64Array(rows.labels.length * classes);
      for (let row = 0; row < rows.labels.length; row++) {
        forward(rows, row);
        all.set(logits, row * classes);
      }
      return all;
    },
  };
}

function arraysOf(
  layers: readonly Layer[],
  pick: (layer: Layer) => readonly [Float32Array<ArrayBuffer>, Float32Array<ArrayBuffer>],
): ReadonlyMap<string, Float32Array<ArrayBuffer>> {
  return new Map(
    layers.flatMap((layer) => {
      const [weights, biases] = pick(layer);
      return [[`${layer.name}.weight`, weights] as const, [`${layer.name}.bias`, biases] as const];
    }),
  );
}

/** outputs = W x + b. Four sums side by side: one alone would wait for itself at every step. */
function applyInto(
  outputs: Float32Array,
  { width, weights, biases }: Layer,
  inputs: Float32Array,
  from: number,
): void {
  const whole = width - (width % 4);
  for (let unit = 0; unit < biases.length; unit++) {
    const start = unit * width;
    let [a, b, c, d] = [biases[unit]!, 0, 0, 0];
    let place = 0;
    for (; place < whole; place += 4) {
      a += weights[start + place]! * inputs[from + place]!;
      b += weights[start + place + 1]! * inputs[from + place + 1]!;
      c += weights[start + place + 2]! * inputs[from + place + 2]!;
      d += weights[start + place + 3]! * inputs[from + place + 3]!;
    }
    for (; place < width; place++) a += weights[start + place]! * inputs[from + place]!;
    outputs[unit] = a + b + c + d;
  }
}

function addGradients(
  { width, weightGradients, biasGradients }: Layer,
  slopes: Float32Array,
  inputs: Float32Array,
  from: number,
): void {
  for (let unit = 0; unit < biasGradients.length; unit++) {
    const slope = slopes[unit]!;
    if (slope === 0) continue;
    biasGradients[unit]! += slope;
    const start = unit * width;
    for (let place = 0; place < width; place++)
      weightGradients[start + place]! += slope * inputs[from + place]!;
  }
}

function divide({ weightGradients, biasGradients }: Layer, by: number): void {
  for (const gradients of [weightGradients, biasGradients])
    for (let place = 0; place < gradients.length; place++) gradients[place] = gradients[place]! / by;
}
