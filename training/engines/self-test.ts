// Whether an engine really differentiates on this machine: one small step against known numbers.
import { DeviceError } from '#core';
import type { TrainablePart } from '#onnx';
import { ElementType, floats, graph, model, node, valueInfo } from '#onnx';
import type { Engine, ParameterValues, Tensors } from './engine.ts';

/**
 * Largest relative error of a gradient that is still arithmetic and not a fault: a GPU rounds the operands of a
 * convolution to 11 bits, and a difference over a distance has an error of its own.
 */
const TOLERANCE = 1e-2;
/** How far a parameter moves to either side, as the length of the step. */
const REACH = 3e-2;
const SIZE = 6;
const CHANNELS = 3;
const BATCH = 2;

/** Values without meaning that differ along every axis. */
function wave(length: number, phase: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length }, (_, index) => Math.sin(index * 0.7 + phase));
}

/**
 * What heads and necks are made of, and where backends were found wrong: enlarging two pictures at once, and a maximum
 * over negative values. The factor before the maximum moves no maximum to another place.
 */
function selfTestPart(): TrainablePart {
  const parameters = [
    { name: 'weight', shape: [CHANNELS, CHANNELS, 3, 3], role: 'weight' as const },
    { name: 'gamma', shape: [CHANNELS], role: 'scale' as const },
    { name: 'beta', shape: [CHANNELS], role: 'shift' as const },
    { name: 'factor', shape: [CHANNELS, 1, 1], role: 'weight' as const },
  ];
  const shape = [CHANNELS, SIZE, SIZE];
  const info = (name: string) => valueInfo(name, ElementType.FLOAT, ['N', ...shape]);
  const nodes = [
    node('Mul', ['x', 'factor'], ['h']),
    node('MaxPool', ['h'], ['p'], { kernel_shape: [2n, 2n], strides: [2n, 2n] }),
    node('Conv', ['p', 'weight'], ['c'], { pads: [1n, 1n, 1n, 1n] }),
    node('BatchNormalization', ['c', 'gamma', 'beta', 'mean', 'variance'], ['n'], { epsilon: 1e-3 }),
    node('Sigmoid', ['n'], ['s']),
    node('Mul', ['n', 's'], ['a']),
    node('Resize', ['a', '', 'scales'], ['y'], {
      mode: 'nearest',
      coordinate_transformation_mode: 'asymmetric',
      nearest_mode: 'floor',
    }),
  ];
  const first = firstValues();
  const initializers = [
    ...parameters.map(({ name, shape }) => floats(name, shape, first.get(name) ?? [])),
    floats('mean', [CHANNELS], [0, 0, 0]),
    floats('variance', [CHANNELS], [1, 1, 1]),
    floats('scales', [4], [1, 1, 2, 2]),
  ];
  return {
    model: model(graph({ nodes, inputs: [info('x')], outputs: [info('y')], initializers })),
    inputs: [{ name: 'x', shape, kind: 'features' }],
    outputs: [{ name: 'y', shape }],
    parameters,
    normalizations: [{ mean: 'mean', variance: 'variance' }],
  };
}

function firstValues(): ParameterValues {
  return new Map([
    ['factor', Float32Array.of(1, 0.7, 1.2)],
    ['weight', wave(CHANNELS * CHANNELS * 9, 0)],
    ['gamma', Float32Array.of(1, 0.5, 1.5)],
    ['beta', Float32Array.of(0, 0.2, -0.1)],
  ]);
}

/**
 * Compares the gradient of Σ r·y along directions d with the difference of Σ r·y at θ ± h·d.
 * @param open opens the engine under test for `selfTestPart()`
 * @throws DeviceError when they differ by more than a hundredth of the gradient's length, or whatever opening throws
 */
export async function selfTest(open: (part: TrainablePart) => Promise<Engine>): Promise<void> {
  const part = selfTestPart();
  const engine = await open(part);
  try {
    const length = BATCH * CHANNELS * SIZE * SIZE;
    const shape = [BATCH, CHANNELS, SIZE, SIZE];
    const inputs: Tensors = new Map([['x', { shape, data: wave(length, 1) }]]);
    const weights: Tensors = new Map([['y', { shape, data: wave(length, 2) }]]);
    const values = firstValues();
    const { state } = await engine.forward(inputs, values, { mode: 'train' });
    if (state === undefined) throw fault('it keeps nothing for the backward pass');
    const { gradients } = await engine.backward(state, weights);
    for (const { name } of part.parameters) {
      await compareGradient(name, { engine, inputs, weights, values, gradients });
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

/** Along the gradient itself, where its length shows, and along a direction of its own, where its parts do. */
async function compareGradient(name: string, step: Step): Promise<void> {
  const gradient = step.gradients.get(name) ?? new Float32Array(0);
  const norm = Math.hypot(...gradient);
  if (!(norm > 0)) throw fault(`the gradient of ${name} is ${norm === 0 ? 'zero' : 'not a number'}`);
  for (const towards of [gradient, wave(gradient.length, 3)]) {
    const length = Math.hypot(...towards);
    const direction = towards.map((part) => part / length);
    const said = gradient.reduce((sum, part, index) => sum + part * (direction[index] ?? 0), 0);
    const slope = await slopeAlong(name, direction, step);
    if (!(Math.abs(slope - said) <= TOLERANCE * norm)) {
      throw fault(
        `the gradient of ${name} says ${said.toPrecision(6)}, the difference ${slope.toPrecision(6)}`,
      );
    }
  }
}

/** Difference of Σ r·y when one parameter moves, per length moved. @param direction of length 1 */
async function slopeAlong(name: string, direction: Float32Array, step: Step): Promise<number> {
  const { engine, inputs, weights, values } = step;
  const factors = weights.get('y')?.data ?? new Float32Array(0);
  const sumAt = async (distance: number) => {
    const moved = new Map(values);
    const from = values.get(name) ?? new Float32Array(0);
    moved.set(
      name,
      from.map((value, index) => value + (direction[index] ?? 0) * distance),
    );
    const { outputs, state } = await engine.forward(inputs, moved, { mode: 'train' });
    if (state !== undefined) engine.discard(state);
    const results = outputs.get('y')?.data ?? new Float32Array(0);
    return results.reduce((sum, value, index) => sum + value * (factors[index] ?? 0), 0);
  };
  const [above, below] = [await sumAt(REACH), await sumAt(-REACH)];
  return (above - below) / (2 * REACH);
}

function fault(why: string): DeviceError {
  return new DeviceError(`this engine computes wrong gradients here: ${why}`, {
    hint: 'use engine=onnx device=cpu; a driver or library on this machine may be broken',
  });
}
