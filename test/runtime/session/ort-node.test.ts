// Sessions run in threads of their own; these tests use the built worker (see scripts/bootstrap.mjs).
import { describe, expect, it } from 'vitest';
import { DeviceError, ModelError } from '#core';
import { ElementType, floats, graph, model, node, serialize, valueInfo } from '#onnx';
import { openOrtNodeSession } from '../../../runtime/session/ort-node.ts';
import type { Session } from '../../../runtime/session/session.ts';

const SIDE = 512;
const SPEC = { name: 'x', shape: [SIDE, SIDE] };
const CPU = { provider: { kind: 'cpu' }, threads: 1 } as const;

/** y = x multiplied with a constant matrix eight times: some 10 ms of work in one thread, with a known answer. */
function slowModel(): Uint8Array {
  const shape = [SIDE, SIDE];
  const identity = new Float32Array(SIDE * SIDE);
  for (let index = 0; index < SIDE; index++) identity[index * SIDE + index] = 1;
  const names = Array.from({ length: 9 }, (_, step) => (step === 0 ? 'x' : step === 8 ? 'y' : `x${step}`));
  const nodes = names.slice(1).map((name, step) => node('MatMul', [names[step] ?? 'x', 'identity'], [name]));
  return serialize(
    model(
      graph({
        nodes,
        inputs: [valueInfo('x', ElementType.FLOAT, shape)],
        outputs: [valueInfo('y', ElementType.FLOAT, shape)],
        initializers: [floats('identity', shape, identity)],
      }),
    ),
  );
}

async function withSessions<T>(count: number, use: (sessions: readonly Session[]) => Promise<T>): Promise<T> {
  const bytes = slowModel();
  const open = () => openOrtNodeSession(bytes, 'slow.onnx', CPU);
  const sessions = await Promise.all(Array.from({ length: count }, open));
  try {
    return await use(sessions);
  } finally {
    await Promise.all(sessions.map((session) => session.close()));
  }
}

describe('a session of onnxruntime-node', () => {
  it('answers in order, gives its input back, and hands over fresh memory', async () => {
    await withSessions(1, async ([session]) => {
      const runs = [1, 2, 3].map((value) => session!.run(new Float32Array(SIDE * SIDE).fill(value), SPEC));
      const results = await Promise.all(runs);
      for (const [index, { outputs, input }] of results.entries()) {
        expect(outputs.get('y')?.data[7]).toBeCloseTo(index + 1, 5);
        expect(outputs.get('y')?.shape).toEqual([SIDE, SIDE]);
        expect(input).toHaveLength(SIDE * SIDE);
        expect(input[0]).toBe(index + 1);
      }
    });
  });

  it('never blocks the event loop', async () => {
    await withSessions(1, async ([session]) => {
      let ticks = 0;
      const timer = setInterval(() => ticks++, 1);
      let inferenceMs = 0;
      for (let run = 0; run < 8; run++) {
        inferenceMs += (await session!.run(new Float32Array(SIDE * SIDE), SPEC)).inferenceMs;
      }
      clearInterval(timer);
      // A blocking run would leave one tick per run.
      expect(ticks).toBeGreaterThan(Math.max(16, inferenceMs / 20));
    });
  });

  it('takes the memory of its input while it runs', async () => {
    await withSessions(1, async ([session]) => {
      const input = new Float32Array(SIDE * SIDE);
      const running = session!.run(input, SPEC);
      expect(input.length).toBe(0);
      await running;
    });
  });

  it('runs beside another session', async () => {
    await withSessions(2, async (sessions) => {
      const intervals = await Promise.all(
        sessions.map(async (session) => {
          const start = performance.now();
          for (let run = 0; run < 5; run++) await session.run(new Float32Array(SIDE * SIDE), SPEC);
          return [start, performance.now()] as const;
        }),
      );
      const overlap =
        Math.min(...intervals.map(([, end]) => end)) - Math.max(...intervals.map(([start]) => start));
      const longest = Math.max(...intervals.map(([start, end]) => end - start));
      expect(overlap / longest).toBeGreaterThan(0.5);
    });
  });

  it('finishes what is under way before it closes, and may be closed twice', async () => {
    const session = await openOrtNodeSession(slowModel(), 'slow.onnx', CPU);
    const running = session.run(new Float32Array(SIDE * SIDE).fill(2), SPEC);
    const closing = session.close();
    expect((await running).outputs.get('y')?.data[0]).toBeCloseTo(2, 5);
    await closing;
    await session.close();
    await expect(session.run(new Float32Array(SIDE * SIDE), SPEC)).rejects.toThrow(/closed/);
  });

  it('says in one line what is wrong with an input, and goes on', async () => {
    await withSessions(1, async ([session]) => {
      const wrong = session!.run(new Float32Array(4), { name: 'x', shape: [2, 2] });
      await expect(wrong).rejects.toThrow(ModelError);
      await expect(wrong).rejects.toThrow(/invalid dimensions[^\n]*$/i);
      const right = await session!.run(new Float32Array(SIDE * SIDE).fill(5), SPEC);
      expect(right.outputs.get('y')?.data[0]).toBeCloseTo(5, 5);
    });
  });

  it('refuses a graph that the runtime cannot load, naming the file', async () => {
    const opening = openOrtNodeSession(Uint8Array.of(1, 2, 3), 'broken.onnx', CPU);
    await expect(opening).rejects.toThrow(/broken\.onnx: ONNX Runtime cannot load the graph/);
  });

  it('does not fall back to the CPU where CUDA was asked for', async () => {
    const cuda = { provider: { kind: 'cuda', index: 7 }, threads: 1 } as const;
    const opening = openOrtNodeSession(slowModel(), 'slow.onnx', cuda);
    // On a machine with eight CUDA devices this would open: then it must say that it runs there.
    const outcome = await opening.then(
      (session) => session.close().then(() => session.provider),
      (error: unknown) => error,
    );
    if (typeof outcome === 'string') expect(outcome).toBe('cuda:7');
    else expect(outcome).toBeInstanceOf(DeviceError);
  });
});
