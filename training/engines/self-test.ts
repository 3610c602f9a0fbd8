// Whether an engine really differentiates on this machine: one small step against known numbers.
import { DeviceError } from '#core';
import type { TrainablePart } from '#onnx';
import { ElementType, floats, graph, model, node, valueInfo } from '#onnx';
import type { Engine, ParameterValues, Tensors } from './engine.ts';

/** Largest relative error that is still arithmetic and not a fault: a difference of float32 losses has about 1e-4. */
const TOLERANCE = 1e-2;
const SIZE = 6;
const CHANNELS = 3;
const BATCH = 2;

/** Values without meaning that differ along every axis. */
function wave(length: number, phase: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length }, (_, index) => Math.sin(index * 0.7 + phase));
}

/** Convolution, normalisation by the batch, SiLU: what every head is made of. */
export function selfTestPart(): TrainablePart {
  const weight = { name: 'weight', shape: [CHANNELS, CHANNELS, 3, 3], role: 'weight' as const };
  const gamma = { name: 'gamma', shape: [CHANNELS], role: 'scale' as const };
  const beta = { name: 'beta', shape: [CHANNELS], role: 'shift' as const };
  const shape = [CHANNELS, SIZE, SIZE];
  const info = (name: string) => valueInfo(name, ElementType.FLOAT, ['N', ...shape]);
  const nodes = [
    node('Conv', ['x', 'weight'], ['c'], { pads: [1n, 1n, 1n, 1n] }),
    node('BatchNormalization', ['c', 'gamma', 'beta', 'mean', 'variance'], ['n'], { epsilon: 1e-3 }),
    node('Sigmoid', ['n'], ['s']),
    node('Mul', ['n', 's'], ['y']),
  ];
  const initializers = [
    floats('weight', weight.shape, wave(CHANNELS * CHANNELS * 9, 0)),
    floats('gamma', [CHANNELS], [1, 0.5, 1.5]),
    floats('beta', [CHANNELS], [0, 0.2, -0.1]),
    floats('mean', [CHANNELS], [0, 0, 0]),
    floats('variance', [CHANNELS], [1, 1, 1]),
  ];
  return {
    model: model(graph({ nodes, inputs: [info('x')], outputs: [info('y')], initializers })),
    inputs: [{ name: 'x', shape, kind: 'features' }],
    outputs: [{ name: 'y', shape }],
    parameters: [weight, gamma, beta],
    normalizations: [{ mean: 'mean', variance: 'variance' }],
  };
}

/**
 * Compares the gradient of Σ r·y along a direction d with the difference of Σ r·y at θ ± h·d.
 * @param open opens the engine under test for `selfTestPart()`
 * @throws DeviceError when they differ by more than a hundredth, or whatever opening throws
 */
export async function selfTest(open: (part: TrainablePart) => Promise<Engine>): Promise<void> {
  const part = selfTestPart();
  const engine = await open(part);
  try {
    const length = BATCH * CHANNELS * SIZE * SIZE;
    const shape = [BATCH, CHANNELS, SIZE, SIZE];
    const inputs: Tensors = new Map([['x', { shape, data: wave(length, 1) }]]);
    const weights: Tensors = new Map([['y', { shape, data: wave(length, 2) }]]);
    const values = new Map([
      ['weight', wave(CHANNELS * CHANNELS * 9, 0)],
      ['gamma', Float32Array.of(1, 0.5, 1.5)],
      ['beta', Float32Array.of(0, 0.2, -0.1)],
    ]);
    const { state } = await engine.forward(inputs, values, { mode: 'train' });
    if (state === undefined) throw fault('it keeps nothing for the backward pass');
    const { gradients } = await engine.backward(state, weights);
    for (const { name } of part.parameters) {
      await compareAlong(name, { engine, inputs, weights, values, gradients });
    }
  } finally {
    await engine.close();
  }
}

interface Step {
  readonly engine: Engine;
  readonly inputs: Tensors;
  readonly weights: Tensors;
  readonly values: ParameterValues;
  readonly gradients: ParameterValues;
}

async function compareAlong(name: string, step: Step): Promise<void> {
  const { engine, inputs, weights, values, gradients } = step;
  const gradient = gradients.get(name) ?? new Float32Array(0);
  const norm = Math.hypot(...gradient);
  if (!(norm > 0)) throw fault(`the gradient of ${name} is ${norm === 0 ? 'zero' : 'not a number'}`);
  const reach = 1e-2;
  const lossAt = async (distance: number) => {
    const moved = new Map(values);
    const from = values.get(name) ?? new Float32Array(0);
    moved.set(
      name,
      from.map((value, index) => value + ((gradient[index] ?? 0) / norm) * distance),
    );
    const { outputs, state } = await engine.forward(inputs, moved, { mode: 'train' });
    if (state !== undefined) engine.discard(state);
    const factors = weights.get('y')?.data ?? new Float32Array(0);
    const results = outputs.get('y')?.data ?? new Float32Array(0);
    return results.reduce((sum, value, index) => sum + value * (factors[index] ?? 0), 0);
  };
  const [above, below] = [await lossAt(reach), await lossAt(-reach)];
  const slope = (above - below) / (2 * reach);
  if (!(Math.abs(slope - norm) <= TOLERANCE * norm)) {
    throw fault(
      `the gradient of ${name} says ${norm.toPrecision(6)}, the difference ${slope.toPrecision(6)}`,
    );
  }
}

function fault(why: string): DeviceError {
  return new DeviceError(`this engine computes wrong gradients here: ${why}`, {
    hint: 'use engine=onnx device=cpu; a driver or library on this machine may be broken',
  });
}
