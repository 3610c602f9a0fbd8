// The new quality layer while it is fitted: a 1x1 convolution is a matrix over the rows of cells, with or without a small
// hidden layer in front of it.
import type { DenseLayer } from '#onnx';

/** `raw = output(ReLU(hidden(x)))`, or `raw = output(x)` without a hidden layer. */
export interface QualityNetwork {
  readonly hidden?: DenseLayer;
  readonly output: DenseLayer;
}

export interface NetworkPass {
  /** [rows, outputs] raw channels of the latest `forward`. */
  readonly raw: Float32Array;
  /** [rows, outputs]: what the caller wants to go back. */
  readonly gradient: Float32Array;
  /** @param input [rows, inputs] */
  forward(input: Float32Array, rows: number): void;
  /** Gradients of all weights, summed over the rows of the latest `forward`, in the order of `parametersOf`. */
  backward(): readonly Float32Array[];
}

export function parametersOf({ hidden, output }: QualityNetwork): readonly Float32Array[] {
  return [...(hidden ? [hidden.weight, hidden.bias] : []), output.weight, output.bias];
}

/** Memory for up to `most` rows; the weights are read at every call. */
export function createNetworkPass(network: QualityNetwork, most: number): NetworkPass {
  const { hidden, output } = network;
  const raw = new Float32Array(most * output.outputs);
  const gradient = new Float32Array(most * output.outputs);
  const before = new Float32Array(most * (hidden?.outputs ?? 0));
  const after = new Float32Array(before.length);
  const slopes = new Float32Array(before.length);
  const gradients = parametersOf(network).map((values) => new Float32Array(values.length));
  let rows = 0;
  let latest: Float32Array = raw;
  return {
    raw,
    gradient,
    forward(input, count) {
      rows = count;
      latest = input;
      if (!hidden) return applyInto(raw, input, rows, output);
      applyInto(before, input, rows, hidden);
      for (let at = 0; at < rows * hidden.outputs; at++) {
        const open = before[at]! > 0;
        after[at] = open ? before[at]! : 0;
        slopes[at] = open ? 1 : 0;
      }
      applyInto(raw, after, rows, output);
    },
    backward() {
      for (const values of gradients) values.fill(0);
      if (!hidden) {
        addGradients(output, latest, gradient, rows, gradients[0]!, gradients[1]!);
        return gradients;
      }
      addGradients(output, after, gradient, rows, gradients[2]!, gradients[3]!);
      // `before` has served; it takes the gradient of the hidden rows.
      backInto(before, gradient, rows, output);
      for (let at = 0; at < rows * hidden.outputs; at++) before[at] = before[at]! * slopes[at]!;
      addGradients(hidden, latest, before, rows, gradients[0]!, gradients[1]!);
      return gradients;
    },
  };
}

function applyInto(target: Float32Array, input: Float32Array, rows: number, layer: DenseLayer): void {
  const { inputs, outputs, weight, bias } = layer;
  for (let row = 0; row < rows; row++) {
    const from = row * inputs;
    for (let out = 0; out < outputs; out++) {
      const first = out * inputs;
      let sum = bias[out]!;
      for (let index = 0; index < inputs; index++) sum += weight[first + index]! * input[from + index]!;
      target[row * outputs + out] = sum;
    }
  }
}

function addGradients(
  { inputs, outputs }: DenseLayer,
  input: Float32Array,
  gradient: Float32Array,
  rows: number,
  weight: Float32Array,
  bias: Float32Array,
): void {
  for (let row = 0; row < rows; row++) {
    const from = row * inputs;
    for (let out = 0; out < outputs; out++) {
      const slope = gradient[row * outputs + out]!;
      const first = out * inputs;
      bias[out] = bias[out]! + slope;
      for (let index = 0; index < inputs; index++) {
        weight[first + index] = weight[first + index]! + slope * input[from + index]!;
      }
    }
  }
}

function backInto(target: Float32Array, gradient: Float32Array, rows: number, layer: DenseLayer): void {
  const { inputs, outputs, weight } = layer;
  for (let row = 0; row < rows; row++) {
    for (let index = 0; index < inputs; index++) {
      let sum = 0;
      for (let out = 0; out < outputs; out++) {
        sum += weight[out * inputs + index]! * gradient[row * outputs + out]!;
      }
      target[row * inputs + index] = sum;
    }
  }
}
