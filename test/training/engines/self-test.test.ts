// A silent fault of a backend must not pass the self-test: each is built here on purpose.
import { describe, expect, it } from 'vitest';
import { DeviceError } from '#core';
import type { BackwardResult, Engine } from '../../../training/engines/engine.ts';
import { openOnnxEngine } from '../../../training/engines/onnx/engine.ts';
import { selfTest } from '../../../training/engines/self-test.ts';
import { openTfjsEngine } from '../../../training/engines/tfjs/engine.ts';

function withBackward(engine: Engine, change: (result: BackwardResult) => BackwardResult): Engine {
  return { ...engine, backward: async (state, seeds) => change(await engine.backward(state, seeds)) };
}

/** The gradients of one parameter, each replaced. */
function altered(name: string, alter: (value: number, index: number) => number) {
  return selfTest(async (part) =>
    withBackward(await openTfjsEngine(part), ({ gradients, statistics }) => {
      const changed = new Map(gradients);
      changed.set(name, gradients.get(name)!.map(alter));
      return { gradients: changed, statistics };
    }),
  );
}

describe('the self-test of an engine', () => {
  it('passes on both engines', async () => {
    await expect(selfTest((part) => openTfjsEngine(part))).resolves.toBeUndefined();
    await expect(selfTest((part) => openOnnxEngine(part))).resolves.toBeUndefined();
  });

  it.each([
    ['a gradient that is a twentieth too large', 'weight', (value: number) => value * 1.05],
    ['a lost gradient', 'gamma', () => 0],
    ['a gradient that is not a number', 'beta', () => Number.NaN],
    [
      'one channel of the wrong sign',
      'factor',
      (value: number, index: number) => (index === 1 ? -value : value),
    ],
  ])('notices %s, naming the parameter', async (_, name, alter) => {
    const failed = altered(name, alter);
    await expect(failed).rejects.toThrow(DeviceError);
    await expect(failed).rejects.toThrow(
      `this engine computes wrong gradients here: the gradient of ${name} `,
    );
    await expect(failed).rejects.toMatchObject({ hint: expect.stringContaining('engine=onnx') });
  });

  it('closes the engine that failed', async () => {
    let closed = 0;
    const failed = selfTest(async (part) => {
      const engine = await openTfjsEngine(part);
      return {
        ...engine,
        forward: async (inputs, values) => {
          const { outputs } = await engine.forward(inputs, values, { mode: 'train' });
          return { outputs };
        },
        close: async () => {
          closed++;
          await engine.close();
        },
      };
    });
    await expect(failed).rejects.toThrow('it keeps nothing for the backward pass');
    expect(closed).toBe(1);
  });
});
