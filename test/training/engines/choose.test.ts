// What is asked for is used or refused in words; auto takes the first engine that computes right gradients.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, DeviceError, ModelError } from '#core';
import { node } from '#onnx';
import {
  type Candidate,
  chooseEngine,
  type EngineRequest,
  firstThatWorks,
} from '../../../training/engines/choose.ts';
import type { EnginePlan } from '../../../training/engines/engine.ts';
import { openOnnxEngine } from '../../../training/engines/onnx/engine.ts';
import { openTfjsEngine } from '../../../training/engines/tfjs/engine.ts';
import { makePart } from './parts.ts';

const { part } = makePart({ nodes: [node('Mul', ['x', 'w'], ['y'])], parameters: { w: [3, 1, 1] } }, 1);
/** Nothing is installed beside this file. */
const nowhere = join(tmpdir(), 'nothing-here', 'main.js');
const auto: EngineRequest = { engine: 'auto', device: 'auto' };

async function chosen(request: EngineRequest) {
  const { engine, reason } = await chooseEngine(request, part, 4, nowhere);
  await engine.close();
  return { plan: engine.plan, reason };
}

const plan = (engine: 'onnx' | 'tfjs', backend: string, threads = 1, workers = 1): EnginePlan => ({
  ...{ engine, backend, threads, workers },
});

describe('choosing an engine', () => {
  it('auto without a GPU is onnx on the CPU in its fastest plan, said in one line', async () => {
    const { plan, reason } = await chosen(auto);
    expect(plan).toMatchObject({ engine: 'onnx', backend: 'cpu' });
    expect(reason).toMatch(
      /^onnx on cpu, \d+ threads?, \d+ workers?; \d+ ms a step, the fastest of \d plans; tfjs-node-gpu: the package @tensorflow\/tfjs-node-gpu is not installed/,
    );
    expect(reason).toContain('; onnx on cuda:0: ');
    expect(reason).not.toContain('\n');
  });

  it('takes threads and workers as they are asked for', async () => {
    const { plan, reason } = await chosen({ ...auto, device: { kind: 'cpu' }, threads: 2 });
    expect(plan).toEqual({ engine: 'onnx', backend: 'cpu', threads: 2, workers: 1 });
    expect(reason).toBe('onnx on cpu, 2 threads, 1 worker; as asked for');
  });

  it('takes an engine that is named, also one that auto would not', async () => {
    const { plan, reason } = await chosen({ engine: 'tfjs-wasm', device: 'auto' });
    expect(plan).toEqual({ engine: 'tfjs', backend: 'wasm', threads: 1, workers: 1 });
    expect(reason).toBe('tfjs-wasm, 1 thread, 1 worker');
  });

  it('tfjs is the first of its bindings that is here, and says what the others lack', async () => {
    const { plan, reason } = await chosen({ engine: 'tfjs', device: 'auto' });
    expect(plan.backend).toBe('wasm');
    expect(reason).toContain('@tensorflow/tfjs-node-gpu is not installed');
    expect(reason).toContain('@tensorflow/tfjs-node is not installed');
  });

  it.each<[string, EngineRequest, new (...rest: never[]) => Error, string]>([
    ['a binding', { engine: 'tfjs-node-gpu', device: 'auto' }, DeviceError, 'CUDA 11.2 with cuDNN 8.1'],
    ['a device', { engine: 'onnx', device: { kind: 'cuda', index: 0 } }, DeviceError, 'cuda:0'],
    ['a device of auto', { engine: 'auto', device: { kind: 'cuda', index: 1 } }, DeviceError, 'cuda:1'],
  ])('fails where %s that is asked for is not here', async (_, request, kind, words) => {
    await expect(chosen(request)).rejects.toThrow(kind);
    await expect(chosen(request)).rejects.toThrow(words);
  });

  it('refuses tfjs-cpu with the reason, and names that nobody knows', async () => {
    const named = (engine: string) => chosen({ engine: engine as EngineRequest['engine'], device: 'auto' });
    await expect(named('tfjs-cpu')).rejects.toThrow(/its gradients are wrong/);
    await expect(named('torch')).rejects.toThrow(ConfigError);
  });

  it('refuses a device beside an engine whose name says where it runs', async () => {
    const request: EngineRequest = { engine: 'tfjs-wasm', device: { kind: 'cuda', index: 0 } };
    await expect(chosen(request)).rejects.toThrow('engine=tfjs-wasm takes no device, threads or workers');
    await expect(chosen({ engine: 'tfjs-wasm', device: 'auto', threads: 2 })).rejects.toThrow(ConfigError);
  });
});

describe('the plan of a run that is resumed', () => {
  it.each([plan('onnx', 'cpu', 2, 1), plan('onnx', 'cpu', 1, 2), plan('tfjs', 'wasm')])(
    'is used again: %o',
    async (stored) => {
      const { plan, reason } = await chosen({ ...auto, plan: stored });
      expect(plan).toEqual(stored);
      expect(reason).toContain('the plan of the run that is resumed');
    },
  );

  it.each<[Partial<EngineRequest>, string]>([
    [{ engine: 'tfjs-wasm' }, 'engine=tfjs-wasm'],
    [{ device: { kind: 'cuda', index: 0 } }, 'device=cuda:0'],
    [{ threads: 1 }, 'threads=1'],
    [{ workers: 2 }, 'sessions=2'],
  ])('is not changed by %o', async (words, named) => {
    const stored = plan('onnx', 'cpu', 2, 1);
    await expect(chosen({ ...auto, ...words, plan: stored })).rejects.toThrow(
      `the run was trained with onnx on cpu, 2 threads, 1 worker, but ${named} is asked for`,
    );
  });

  it('may be said again', async () => {
    const words: EngineRequest = { engine: 'onnx', device: { kind: 'cpu' }, threads: 2, workers: 1 };
    expect((await chosen({ ...words, plan: plan('onnx', 'cpu', 2, 1) })).plan.threads).toBe(2);
  });

  it('fails where its device is gone', async () => {
    await expect(chosen({ ...auto, plan: plan('onnx', 'cuda:0') })).rejects.toThrow(DeviceError);
    await expect(chosen({ ...auto, plan: plan('tfjs', 'tensorflow-gpu') })).rejects.toThrow(
      '@tensorflow/tfjs-node-gpu is not installed',
    );
  });

  it('is refused where it would be another one here', async () => {
    await expect(chosen({ ...auto, plan: plan('tfjs', 'wasm', 7) })).rejects.toThrow(
      'the run was trained with tfjs-wasm, 7 threads, 1 worker; here that would be tfjs-wasm, 1 thread, 1 worker',
    );
  });
});

describe('the first engine that works', () => {
  const faulty: Candidate = {
    name: 'faulty',
    async open(part) {
      const engine = await openTfjsEngine(part);
      return {
        ...engine,
        async backward(state, seeds) {
          const { gradients, statistics } = await engine.backward(state, seeds);
          const doubled = [...gradients].map(
            ([name, data]) => [name, data.map((value) => 2 * value)] as const,
          );
          return { gradients: new Map(doubled), statistics };
        },
      };
    },
  };
  const sound: Candidate = { name: 'sound', open: (part) => openOnnxEngine(part) };

  it('is the one whose gradients are right', async () => {
    const { engine, reason } = await firstThatWorks([faulty, sound], part);
    expect(reason).toMatch(/^sound, 1 thread, 1 worker; faulty: this engine computes wrong gradients here/);
    await engine.close();
  });

  it('is none where all fail, and each is said', async () => {
    await expect(firstThatWorks([faulty, faulty], part)).rejects.toThrow(
      /no engine works here: faulty: .*; faulty: /,
    );
  });

  it('is not looked for behind a fault that is not of a device', async () => {
    const odd = makePart(
      { nodes: [node('Erf', ['x'], ['h']), node('Mul', ['h', 'w'], ['y'])], parameters: { w: [3, 1, 1] } },
      1,
    );
    const broken: Candidate = {
      name: 'broken',
      open: async () => {
        throw new ModelError('there is no such node', { hint: 'none' });
      },
    };
    await expect(firstThatWorks([broken, sound], odd.part)).rejects.toThrow(ModelError);
  });
});
