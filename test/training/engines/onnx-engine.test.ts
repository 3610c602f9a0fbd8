// What an engine promises beside right gradients: equal bits, any batch size, statistics, flat memory, clear refusals.
import { describe, expect, it } from 'vitest';
import { DeviceError, ModelError } from '#core';
import { floats, node, serialize } from '#onnx';
import { openLocalSession } from '#runtime/local-session';
import { differentiate, unsupportedNodes } from '../../../training/autodiff/index.ts';
import type { Engine, ParameterValues, Tensor } from '../../../training/engines/engine.ts';
import { openOnnxEngine } from '../../../training/engines/onnx/engine.ts';
import { tuneOnnxPlan } from '../../../training/engines/onnx/tune.ts';
import { selfTest } from '../../../training/engines/self-test.ts';
import { runReference } from '../../support/reference-graph.ts';
import { differences, makePart, makeTensors, type PartSpec, relativeError } from './parts.ts';

/** Two convolutions with batch normalisation and SiLU between them, as heads have. */
const head: PartSpec = {
  nodes: [
    node('Conv', ['x', 'k'], ['c'], { pads: [1n, 1n, 1n, 1n] }),
    node('BatchNormalization', ['c', 'gamma', 'beta', 'm', 'v'], ['n'], { epsilon: 1e-3 }),
    node('Sigmoid', ['n'], ['s']),
    node('Mul', ['n', 's'], ['a']),
    node('Conv', ['a', 'k2', 'b2'], ['y']),
  ],
  parameters: { k: [4, 3, 3, 3], gamma: [4], beta: [4], k2: [2, 4, 1, 1], b2: [2] },
  constants: [floats('m', [4], [0.1, 0.2, -0.3, 0]), floats('v', [4], [1, 0.5, 2, 1])],
  normalizations: [['m', 'v']],
};

async function withEngine<T>(
  options: Parameters<typeof openOnnxEngine>[1],
  run: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = await openOnnxEngine(makePart(head, 1).part, options);
  try {
    return await run(engine);
  } finally {
    await engine.close();
  }
}

function cloned(values: ParameterValues): Map<string, Float32Array<ArrayBuffer>> {
  return new Map([...values].map(([name, data]) => [name, data.slice()]));
}

/** Steps of plain gradient descent on Σ r·y. @returns the parameters after them */
async function descend(engine: Engine, batches: readonly number[]): Promise<ParameterValues> {
  const { part, values } = makePart(head, 1);
  const current = cloned(values);
  for (const [index, batch] of batches.entries()) {
    const inputs = makeTensors(part.inputs, batch, 20 + index);
    const weights = makeTensors(part.outputs, batch, 40 + index);
    const { state } = await engine.forward(inputs, current, { mode: 'train' });
    const { gradients } = await engine.backward(state!, weights);
    for (const [name, value] of current) {
      value.forEach((old, at) => {
        value[at] = old - 0.01 * gradients.get(name)![at]!;
      });
    }
  }
  return current;
}

const bytes = (values: ParameterValues) =>
  [...values.values()].map((data) => Buffer.from(data.buffer).toString('hex'));

describe('the onnx engine', () => {
  it('gives the same bits for the same seven steps, on one plan and on another', async () => {
    const batches = [4, 4, 4, 4, 4, 4, 1];
    for (const plan of [{ threads: 1 }, { threads: 2 }, { workers: 2 }]) {
      const first = await withEngine(plan, (engine) => descend(engine, batches));
      const second = await withEngine(plan, (engine) => descend(engine, batches));
      expect(bytes(second)).toEqual(bytes(first));
    }
  });

  it('takes any batch size at any time, and more of them than it keeps sessions for', async () => {
    await withEngine({}, async (engine) => {
      for (const batch of [3, 1, 2, 4, 5, 6, 3, 1]) {
        const { part, values } = makePart(head, batch);
        const inputs = makeTensors(part.inputs, batch, 1);
        const weights = makeTensors(part.outputs, batch, 2);
        const { outputs, state } = await engine.forward(inputs, values, { mode: 'train' });
        expect(outputs.get('y')!.shape).toEqual([batch, 2, 5, 4]);
        const { gradients } = await engine.backward(state!, weights);
        const expected = differences(part, inputs, values, weights, ['gamma', 'k2']);
        for (const [name, data] of expected)
          expect(relativeError(gradients.get(name)!, data)).toBeLessThan(1e-5);
      }
    });
  });

  it('notices a gradient that is off by a thousandth', async () => {
    await withEngine({}, async (engine) => {
      const { part, values } = makePart(head, 2);
      const inputs = makeTensors(part.inputs, 2, 1);
      const weights = makeTensors(part.outputs, 2, 2);
      const { state } = await engine.forward(inputs, values, { mode: 'train' });
      const { gradients } = await engine.backward(state!, weights);
      const perturbed = gradients.get('k')!.map((value, index) => (index === 5 ? value * 1.001 : value));
      const expected = differences(part, inputs, values, weights, ['k']).get('k')!;
      expect(relativeError(gradients.get('k')!, expected)).toBeLessThan(1e-6);
      expect(relativeError(perturbed, expected)).toBeGreaterThan(1e-5);
    });
  });

  it('normalises with the batch in training and with the running statistics in evaluation', async () => {
    await withEngine({}, async (engine) => {
      const { part, values } = makePart(head, 3);
      const inputs = makeTensors(part.inputs, 3, 1);
      const doubles = new Map(
        [...inputs].map(([name, { shape, data }]) => [name, { shape, data: Float64Array.from(data) }]),
      );
      const trained = await engine.forward(inputs, values, { mode: 'train' });
      const { statistics } = await engine.backward(trained.state!, makeTensors(part.outputs, 3, 2));
      const running = new Map([
        ...values,
        ['m', Float32Array.of(0.3, 0, 1, 2)],
        ['v', Float32Array.of(1, 2, 3, 4)],
      ]);
      const evaluated = await engine.forward(inputs, running, { mode: 'evaluate' });
      expect(evaluated.state).toBeUndefined();
      const ofBatch = runReference(part.model, doubles, new Set(['m']));
      expect(relativeError(trained.outputs.get('y')!.data, ofBatch.get('y')!.data)).toBeLessThan(1e-6);
      const { means, variances } = momentsOf(ofBatch.get('c')!);
      expect(relativeError(statistics.get('m')!, means)).toBeLessThan(1e-6);
      expect(relativeError(statistics.get('v')!, variances)).toBeLessThan(1e-6);
      const given = new Map(doubles);
      given.set('m', { shape: [4], data: Float64Array.of(0.3, 0, 1, 2) });
      given.set('v', { shape: [4], data: Float64Array.of(1, 2, 3, 4) });
      const still = runReference(part.model, given);
      expect(relativeError(evaluated.outputs.get('y')!.data, still.get('y')!.data)).toBeLessThan(1e-6);
    });
  });

  it('adds up the gradients of workers that share a batch, and combines their statistics', async () => {
    const { part, values } = makePart({ ...head, normalizations: [] }, 5);
    const inputs = makeTensors(part.inputs, 5, 1);
    const weights = makeTensors(part.outputs, 5, 2);
    const run = async (workers: number, normalizations: PartSpec['normalizations'] = []) => {
      const engine = await openOnnxEngine(makePart({ ...head, normalizations }, 5).part, { workers });
      const { outputs, state } = await engine.forward(inputs, values, { mode: 'train' });
      const result = await engine.backward(state!, weights);
      await engine.close();
      return { outputs, ...result };
    };
    const [alone, together] = [await run(1), await run(3)];
    expect(together.outputs.get('y')!.shape).toEqual([5, 2, 5, 4]);
    expect(together.outputs.get('y')!.data).toEqual(alone.outputs.get('y')!.data);
    for (const [name, data] of alone.gradients) {
      expect(relativeError(together.gradients.get(name)!, data)).toBeLessThan(1e-6);
    }
    // With batch statistics each worker normalises with its own; mean and variance of the whole are those of one.
    const [one, two] = [await run(1, [['m', 'v']]), await run(2, [['m', 'v']])];
    for (const name of ['m', 'v']) {
      expect(relativeError(two.statistics.get(name)!, one.statistics.get(name)!)).toBeLessThan(1e-6);
    }
  });

  it('counts a missing output gradient as zero, and a parameter without influence has none', async () => {
    const { part, values } = makePart(
      {
        nodes: [node('Mul', ['x', 'w'], ['y']), node('Mul', ['x', 'u'], ['z'])],
        parameters: { w: [3, 1, 1], u: [3, 1, 1], idle: [2] },
        outputs: ['y', 'z'],
      },
      2,
    );
    const engine = await openOnnxEngine(part);
    const { state } = await engine.forward(makeTensors(part.inputs, 2, 1), values, { mode: 'train' });
    const weights = makeTensors(part.outputs, 2, 2);
    const { gradients } = await engine.backward(state!, new Map([['y', weights.get('y')!]]));
    await engine.close();
    expect(gradients.get('u')).toEqual(new Float32Array(3));
    expect(gradients.get('idle')).toEqual(new Float32Array(2));
    expect(Math.hypot(...gradients.get('w')!)).toBeGreaterThan(0.1);
  });

  it('refuses a forward pass that was used already', async () => {
    await withEngine({}, async (engine) => {
      const { part, values } = makePart(head, 1);
      const { state } = await engine.forward(makeTensors(part.inputs, 1, 1), values, { mode: 'train' });
      engine.discard(state!);
      await expect(engine.backward(state!, new Map())).rejects.toThrow('was used already');
    });
  });

  it('refuses inputs of another shape, naming both', async () => {
    await withEngine({}, async (engine) => {
      const { values } = makePart(head, 1);
      const wrong = makeTensors([{ name: 'x', shape: [3, 4, 4] }], 1, 1);
      await expect(engine.forward(wrong, values, { mode: 'train' })).rejects.toThrow(
        '[N, 3, 5, 4], found [1, 3, 4, 4]',
      );
    });
  });

  it('does not grow over 200 steps', async () => {
    const { part, values } = makePart({ ...head, inputs: { x: [3, 128, 128] } }, 4);
    const engine = await openOnnxEngine(part);
    const inputs = makeTensors(part.inputs, 4, 1);
    const weights = makeTensors(part.outputs, 4, 2);
    const resident: number[] = [];
    for (let step = 0; step < 200; step++) {
      const { state } = await engine.forward(inputs, values, { mode: 'train' });
      if (step % 10 === 3) engine.discard(state!);
      else await engine.backward(state!, weights);
      resident.push(process.memoryUsage().rss);
    }
    await engine.close();
    // One step holds 1.8 MB of inputs and activations: kept for good they would add 180 MB between the two spans.
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect((mean(resident.slice(150)) - mean(resident.slice(50, 100))) / 1e6).toBeLessThan(30);
  });

  it('says which node and operator cannot be differentiated', async () => {
    const odd: PartSpec = {
      nodes: [node('Mul', ['x', 'w'], ['h']), node('Erf', ['h'], ['y'])],
      parameters: { w: [3, 1, 1] },
    };
    const { part } = makePart(odd, 1);
    await expect(openOnnxEngine(part)).rejects.toThrow(ModelError);
    await expect(openOnnxEngine(part)).rejects.toThrow('node Erf_y (Erf) cannot be differentiated');
    expect(unsupportedNodes(part.model, ['w'])).toEqual([{ name: 'Erf_y', opType: 'Erf', output: 'y' }]);
    expect(unsupportedNodes(part.model, [])).toEqual([]);
  });

  it.each([
    ['dilations', node('Conv', ['h', 'k'], ['y'], { dilations: [2n, 2n] }), 'dilations [2, 2], expected 1'],
    [
      'linear resizing',
      node('Resize', ['h', '', 'scales'], ['y'], { mode: 'linear' }),
      'linear from [1, 3, 5, 4] to [1, 3, 10, 8], expected nearest by whole factors',
    ],
    [
      'nearest resizing that is no block',
      node('Resize', ['h', '', 'scales'], ['y'], { mode: 'nearest', nearest_mode: 'floor' }),
      'expected nearest by whole factors',
    ],
  ])('refuses %s, saying what it found', async (_, odd, message) => {
    const { part } = makePart(
      {
        nodes: [node('Mul', ['x', 'w'], ['h']), odd],
        parameters: { w: [3, 1, 1], k: [2, 3, 2, 2] },
        constants: [floats('scales', [4], [1, 1, 2, 2])],
      },
      1,
    );
    await expect(openOnnxEngine(part)).rejects.toThrow(message);
  });

  it('refuses a provider that is not there', async () => {
    const { part } = makePart(head, 1);
    const opening = openOnnxEngine(part, { provider: { kind: 'cuda', index: 0 } });
    await expect(opening).rejects.toThrow(DeviceError);
  });

  it("writes no gradient of the first layer's input and keeps only what the backward pass reads", () => {
    const program = differentiate(makePart(head, 2).part, {
      batch: 2,
      mode: 'train',
      composedNormalization: false,
    });
    expect(program.kept.map(({ name }) => name)).toEqual(['c', 'n/batch_mean', 'n/batch_variance']);
    const produced = program.backward!.graph!.node.map(({ opType }) => opType);
    expect(produced.filter((opType) => opType === 'Conv')).toHaveLength(3); // dW twice, dx once
  });

  it('normalises alike where the provider has no BatchNormalization that trains', async () => {
    const { part, values } = makePart(head, 3);
    const feeds = new Map<string, Tensor>(makeTensors(part.inputs, 3, 1));
    for (const { name, shape } of part.parameters) feeds.set(name, { shape, data: values.get(name)! });
    const run = async (composedNormalization: boolean) => {
      const { forward } = differentiate(part, { batch: 3, mode: 'train', composedNormalization });
      const session = await openLocalSession(serialize(forward), { provider: { kind: 'cpu' }, threads: 1 });
      const results = await session.run(feeds);
      await session.release();
      return { results, opTypes: forward.graph!.node.map(({ opType }) => opType) };
    };
    const [fused, composed] = [await run(false), await run(true)];
    expect(composed.opTypes).toContain('ReduceMean');
    expect([...composed.results.keys()]).toEqual([...fused.results.keys()]);
    for (const [name, { data }] of fused.results) {
      expect(relativeError(composed.results.get(name)!.data, data), name).toBeLessThan(1e-6);
    }
  });

  it('ranks its plans by time', async () => {
    const ranked = await tuneOnnxPlan(makePart(head, 1).part, 4, { cores: 2 });
    expect(ranked.map(({ plan }) => `${plan.threads}x${plan.workers}`).sort()).toEqual(['1x1', '1x2', '2x1']);
    expect(ranked[0]!.stepMs).toBeLessThanOrEqual(ranked[2]!.stepMs);
  });
});

describe('the self-test of an engine', () => {
  it('passes on the CPU', async () => {
    await expect(selfTest((part) => openOnnxEngine(part))).resolves.toBeUndefined();
  });

  it('fails an engine whose gradient is a tenth too large', async () => {
    const wrong = selfTest(async (part) => {
      const engine = await openOnnxEngine(part);
      return {
        ...engine,
        async backward(state, gradients) {
          const result = await engine.backward(state, gradients);
          const larger = [...result.gradients].map(
            ([name, data]) => [name, data.map((value) => value * 1.1)] as const,
          );
          return { ...result, gradients: new Map(larger) };
        },
      };
    });
    await expect(wrong).rejects.toThrow(/wrong gradients here: the gradient of weight says/);
  });
});

function momentsOf({ shape, data }: { shape: readonly number[]; data: Float64Array }) {
  const [batch = 1, channels = 1, rows = 1, columns = 1] = shape;
  const area = rows * columns;
  const values = Array.from({ length: channels }, (_, channel) =>
    Array.from({ length: batch * area }, (_, index) => {
      const [picture, cell] = [Math.floor(index / area), index % area];
      return data[(picture * channels + channel) * area + cell]!;
    }),
  );
  const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length;
  const means = values.map(mean);
  return {
    means,
    variances: values.map((list, index) => mean(list.map((value) => (value - means[index]!) ** 2))),
  };
}
