// Folded numbers that can be checked by head: √(σ² + ε) is 2 and 0.5.
import { describe, expect, it } from 'vitest';
import {
  ElementType,
  floats,
  foldBatchNorm,
  graph,
  type ModelProto,
  model,
  node,
  tensorNumbers,
  valueInfo,
} from '#onnx';
import { operators, runGraph } from './run-graph.ts';

function normalized({
  withBias = true,
  readTwice = false,
  attributes = { epsilon: 0.25 } as Parameters<typeof node>[3],
} = {}): ModelProto {
  return model(
    graph({
      nodes: [
        node('Conv', withBias ? ['x', 'w', 'b'] : ['x', 'w'], ['c'], { group: 2n }),
        node('BatchNormalization', ['c', 'scale', 'shift', 'mean', 'variance'], ['n'], attributes),
        node('Sub', ['n', readTwice ? 'c' : 'n'], ['y']),
        node('Relu', ['n'], ['z']),
      ],
      inputs: [valueInfo('x', ElementType.FLOAT, [1, 2, 1, 1])],
      outputs: [valueInfo('z', ElementType.FLOAT), valueInfo('y', ElementType.FLOAT)],
      initializers: [
        floats('w', [2, 1, 1, 1], [3, -5]),
        floats('b', [2], [1, 2]),
        floats('scale', [2], [4, 0.5]),
        floats('shift', [2], [10, 20]),
        floats('mean', [2], [7, 8]),
        floats('variance', [2], [3.75, 0]),
      ],
    }),
  );
}

const numbersOf = (made: ModelProto, place: number) => {
  const name = made.graph?.node[0]?.input[place];
  const found = made.graph?.initializer.find((initializer) => initializer.name === name);
  return found && tensorNumbers(found);
};

describe('a convolution with batch normalisation behind it', () => {
  it('takes scale and shift over', async () => {
    const { model: made, folded } = foldBatchNorm(normalized());
    expect([operators(made), folded]).toEqual([['Conv', 'Sub', 'Relu'], 1]);
    expect(numbersOf(made, 1)).toEqual([6, -5]);
    expect(numbersOf(made, 2)).toEqual([(1 - 7) * 2 + 10, 2 - 8 + 20]);
    expect(made.graph?.initializer).toHaveLength(2);
    expect(await runGraph(made, [1, 2, 1, 1], [1, 2])).toEqual([4, 4]);
    expect(await runGraph(normalized(), [1, 2, 1, 1], [1, 2])).toEqual([4, 4]);
  });

  it('gets a bias where it had none', () => {
    expect(numbersOf(foldBatchNorm(normalized({ withBias: false })).model, 2)).toEqual([-4, 12]);
  });

  it('keeps its normalisation where something else reads it, or where it is in training mode', () => {
    const shared = normalized({ readTwice: true });
    expect(foldBatchNorm(shared)).toEqual({ model: shared, folded: 0 });
    const training = normalized({ attributes: { epsilon: 0.25, training_mode: 1n } });
    expect(foldBatchNorm(training).folded).toBe(0);
  });

  it('uses an epsilon of 1e-5 where none is stated', () => {
    const made = foldBatchNorm(normalized({ attributes: {} })).model;
    expect(numbersOf(made, 1)?.[1]).toBeCloseTo((-5 * 0.5) / Math.sqrt(1e-5), 3);
  });
});
