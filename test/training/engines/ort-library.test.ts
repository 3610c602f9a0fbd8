// The onnx engine on a library of the user's choice: the same numbers as on the one that npm brings, or words.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ConfigError, DeviceError } from '#core';
import { node } from '#onnx';
import { chooseEngine } from '../../../training/engines/choose.ts';
import type { Tensors } from '../../../training/engines/engine.ts';
import { openOnnxEngine } from '../../../training/engines/onnx/engine.ts';
import { selfTest } from '../../../training/engines/self-test.ts';
import { initialValues } from '../../../training/initial-values.ts';
import { OLDER_RUNTIMES } from '../../support/older-runtimes.ts';
import { BUNDLED, ortLibrary } from '../../support/ort-libraries.ts';
import { makePart } from './parts.ts';

const { part } = makePart(
  {
    nodes: [
      node('Conv', ['x', 'w'], ['c'], { pads: [1n, 1n, 1n, 1n] }),
      node('Sigmoid', ['c'], ['s']),
      node('Mul', ['c', 's'], ['y']),
    ],
    parameters: { w: [3, 3, 3, 3] },
  },
  1,
);

/** One step through an engine: outputs and gradients. */
async function step(library?: string) {
  const engine = await openOnnxEngine(part, library === undefined ? {} : { ortLibrary: library });
  const tensors = (specs: typeof part.inputs | typeof part.outputs): Tensors =>
    new Map(
      specs.map(({ name, shape }) => {
        const length = shape.reduce((product, axis) => product * axis, 2);
        return [name, { shape: [2, ...shape], data: Float32Array.from({ length }, (_, at) => Math.sin(at)) }];
      }),
    );
  try {
    const values = initialValues(part);
    const { outputs, state } = await engine.forward(tensors(part.inputs), values, { mode: 'train' });
    if (state === undefined) throw new Error('nothing was kept');
    const { gradients } = await engine.backward(state, tensors(part.outputs));
    return { outputs, gradients };
  } finally {
    await engine.close();
  }
}

it('computes the same bits through the C API as through onnxruntime-node', async () => {
  const [bundled, through] = [await step(), await step(ortLibrary(BUNDLED))];
  expect(through).toEqual(bundled);
  expect(through.gradients.get('w')?.some((value) => value !== 0)).toBe(true);
});

it.each([BUNDLED, ...OLDER_RUNTIMES])('passes the self-test on release %s', async (version) => {
  const library = ortLibrary(version);
  if (library === undefined) return;
  await selfTest((tiny) => openOnnxEngine(tiny, { ortLibrary: library }));
});

it('says what is wrong with a library, and does not take another', async () => {
  const nowhere = join('nowhere', 'libonnxruntime.so');
  const request = { engine: 'onnx', device: { kind: 'cpu' }, ortLibrary: nowhere } as const;
  const choosing = chooseEngine(request, part, 4);
  await expect(choosing).rejects.toThrow(DeviceError);
  await expect(choosing).rejects.toThrow(/nowhere.* cannot be used: there is no such file/);
});

it.each([
  { kind: 'tensorrt', index: 0 } as const,
  { kind: 'dla', index: 0 } as const,
  { kind: 'kserve', url: 'kserve://box:8001/model' } as const,
])('trains on no device that runs finished networks: $kind', async (device) => {
  for (const engine of ['auto', 'onnx'] as const) {
    const choosing = chooseEngine({ engine, device }, part, 4);
    await expect(choosing).rejects.toThrow(ConfigError);
    await expect(choosing).rejects.toThrow(/runs finished networks and trains none/);
  }
});

it('asks a GPU of WebGPU by name, and falls to nothing else', async () => {
  const outcome = await chooseEngine({ engine: 'onnx', device: { kind: 'webgpu' } }, part, 4).then(
    async ({ engine }) => {
      await engine.close();
      return engine.plan.backend;
    },
    (error: unknown) => error,
  );
  if (typeof outcome === 'string') expect(outcome).toBe('webgpu');
  else expect(outcome).toBeInstanceOf(DeviceError);
});
