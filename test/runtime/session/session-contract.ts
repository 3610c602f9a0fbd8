// What every kind of session owes its caller: one suite, registered for each kind with a way to open it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { ModelError } from '#core';
import type { Provider, RunResult, Session } from '#runtime';
import {
  doubledModel,
  dynamicModel,
  pixelModel,
  slowModel,
  typesModel,
} from '../../support/session-models.ts';

/** How a session of this kind is opened, and what can be asked of it. */
export interface SessionKind {
  open(model: Uint8Array, options: { readonly threads: number }): Promise<Session>;
  /** Ends what all sessions of the kind share, when the suite has ended. */
  close?(): Promise<void>;
  readonly limits?: SessionLimits;
}

export interface SessionLimits {
  /** Runs of the test of memory. Default: 10 000. */
  readonly runs?: number;
  /** Growth of the resident memory over the second half of those runs. Default: 24 MiB. */
  readonly growthMiB?: number;
  /** What a child process opens for the test of Ctrl-C; the test is left out where it is absent. */
  readonly child?: { readonly provider: Provider; readonly ortLibrary?: string };
  /** Whether axes may be open. Default: yes. */
  readonly dynamicAxes?: boolean;
  readonly timeoutMs?: number;
}

const ONE_THREAD = { threads: 1 } as const;
const MIB = 2 ** 20;

/** Registers the tests of the contract for one kind of session. */
export function describeSessionContract(name: string, kind: SessionKind): void {
  const { runs = 10_000, growthMiB = 24, child, dynamicAxes = true, timeoutMs = 120_000 } = kind.limits ?? {};

  async function using<T>(model: Uint8Array, use: (session: Session) => Promise<T>): Promise<T> {
    const session = await kind.open(model, ONE_THREAD);
    try {
      return await use(session);
    } finally {
      await session.close();
    }
  }

  describe(`the contract of sessions: ${name}`, { timeout: timeoutMs }, () => {
    afterAll(() => kind.close?.());

    it('gives shapes and names, gives its input back, and hands over fresh memory', () =>
      using(doubledModel(), async (session) => {
        expect(session.outputNames).toEqual(['y']);
        const input = Float32Array.of(1, -2, 3, 4, 5, 6);
        const first = await session.run(input, { name: 'x', shape: [2, 3] });
        expect(first.outputs.get('y')).toEqual({
          shape: [2, 3],
          data: Float32Array.of(2, -4, 6, 8, 10, 12),
        });
        expect([...first.input]).toEqual([1, -2, 3, 4, 5, 6]);
        expect(first.inferenceMs).toBeGreaterThan(0);
        const second = await session.run(first.input, { name: 'x', shape: [2, 3] });
        second.outputs.get('y')?.data.fill(0 as never);
        expect(first.outputs.get('y')?.data[0]).toBe(2);
      }));

    it('reads float32, float16, uint8, int32 and int64 outputs', () =>
      using(typesModel(), async (session) => {
        const { outputs } = await session.run(Float32Array.of(1.5, 2, 254.75), { name: 'x', shape: [1, 3] });
        expect(Object.fromEntries([...outputs].map(([output, { data }]) => [output, data]))).toEqual({
          single: Float32Array.of(1.5, 2, 254.75),
          half: Float32Array.of(1.5, 2, 254.75),
          bytes: Uint8Array.of(1, 2, 254),
          ints: Int32Array.of(1, 2, 254),
          longs: BigInt64Array.of(1n, 2n, 254n),
        });
        for (const { shape } of outputs.values()) expect(shape).toEqual([1, 3]);
      }));

    it('takes pixels as bytes', () =>
      using(pixelModel(), async (session) => {
        const pixels = Uint8Array.of(0, 51, 102, 153, 204, 255);
        const { outputs, input } = await session.run(pixels, { name: 'pixels', shape: [1, 1, 2, 3] });
        const { shape, data } = outputs.get('y') ?? { shape: [], data: [] };
        expect(shape).toEqual([1, 3, 1, 2]);
        [0, 0.6, 0.2, 0.8, 0.4, 1].forEach((value, at) => {
          expect(data[at]).toBeCloseTo(value, 6);
        });
        expect([...input]).toEqual([0, 51, 102, 153, 204, 255]);
      }));

    it.runIf(dynamicAxes)('follows open axes, also those that only the run decides', () =>
      using(dynamicModel(), async (session) => {
        for (const rows of [1, 3, 2, 3]) {
          const input = Float32Array.from({ length: rows * 2 }, (_, at) => (at % 3 === 0 ? 0 : at));
          const places = [...input].filter((value) => value !== 0).length;
          const { outputs } = await session.run(input.slice(), { name: 'x', shape: [rows, 2] });
          expect(outputs.get('y')).toEqual({ shape: [rows, 2], data: input });
          expect(outputs.get('places')?.shape).toEqual([2, places]);
          expect(outputs.get('places')?.data).toHaveLength(2 * places);
        }
        const none = await session.run(new Float32Array(2), { name: 'x', shape: [1, 2] });
        expect(none.outputs.get('places')?.shape).toEqual([2, 0]);
      }),
    );

    it('answers 100 calls at once, each with its own result, in their order', () =>
      using(doubledModel(), async (session) => {
        const order: number[] = [];
        const calls = Array.from({ length: 100 }, async (_, call) => {
          const { outputs } = await session.run(new Float32Array(6).fill(call), { name: 'x', shape: [2, 3] });
          order.push(call);
          expect(outputs.get('y')?.data).toEqual(new Float32Array(6).fill(2 * call));
        });
        await Promise.all(calls);
        expect(order).toEqual(calls.map((_, call) => call));
      }));

    it('says in one line what is wrong with an input, and goes on', () =>
      using(doubledModel(), async (session) => {
        const wrong = [
          session.run(new Float32Array(5), { name: 'x', shape: [5] }),
          session.run(new Float32Array(8), { name: 'x', shape: [2, 4] }),
          session.run(new Float32Array(6), { name: 'not there', shape: [2, 3] }),
          session.run(new Uint8Array(6), { name: 'x', shape: [2, 3] }),
          session.run(new Float32Array(5), { name: 'x', shape: [2, 3] }),
        ];
        for (const outcome of await Promise.allSettled(wrong)) {
          expect(outcome.status).toBe('rejected');
          const { reason } = outcome as PromiseRejectedResult;
          expect(reason).toBeInstanceOf(ModelError);
          expect((reason as Error).message).not.toContain('\n');
        }
        const right = await session.run(new Float32Array(6).fill(5), { name: 'x', shape: [2, 3] });
        expect(right.outputs.get('y')?.data[0]).toBe(10);
      }));

    it('refuses what is no model, naming the file', async () => {
      const opening = kind.open(Uint8Array.of(1, 2, 3), ONE_THREAD);
      await expect(opening.then((session) => session.close())).rejects.toThrow(ModelError);
    });

    it('finishes what is under way when it is closed, and may be closed twice', async () => {
      const { bytes, spec, length } = slowModel();
      const session = await kind.open(bytes, ONE_THREAD);
      const running = [1, 2, 3].map((value) => session.run(new Float32Array(length).fill(value), spec));
      const closing = session.close();
      const values = (await Promise.all(running)).map(({ outputs }: RunResult) => outputs.get('y')?.data[7]);
      expect(values.map((value) => Math.round(Number(value)))).toEqual([1, 2, 3]);
      await closing;
      await session.close();
      await expect(session.run(new Float32Array(length), spec)).rejects.toThrow(/closed/);
    });

    it('never blocks the event loop', () => {
      const { bytes, spec, length } = slowModel();
      return using(bytes, async (session) => {
        let ticks = 0;
        const timer = setInterval(() => ticks++, 1);
        let inferenceMs = 0;
        for (let run = 0; run < 8; run++)
          inferenceMs += (await session.run(new Float32Array(length), spec)).inferenceMs;
        clearInterval(timer);
        // A blocking run would leave one tick per run.
        expect(ticks).toBeGreaterThan(Math.max(16, inferenceMs / 20));
      });
    });

    it(`keeps memory flat over ${runs} runs`, () =>
      using(doubledModel(), async (session) => {
        let input: RunResult['input'] = new Float32Array(6).fill(1);
        const someRuns = async (count: number) => {
          for (let run = 0; run < count; run++) {
            const result = await session.run(input, { name: 'x', shape: [2, 3] });
            if (result.outputs.get('y')?.data[5] !== 2) throw new Error(`run ${run} gave something else`);
            input = result.input;
          }
        };
        await someRuns(runs / 2);
        const before = process.memoryUsage.rss();
        await someRuns(runs / 2);
        expect((process.memoryUsage.rss() - before) / MIB).toBeLessThan(growthMiB);
      }));

    const built = fileURLToPath(new URL('../../../dist/runtime/session/open-session.js', import.meta.url));
    it.skipIf(child === undefined || !existsSync(built))(
      'ends in order when Ctrl-C comes in the middle of a run',
      async () => {
        for (let round = 0; round < 3; round++) {
          const program = startChild({ ...child, ending: 'drain' });
          await started(program.process);
          program.process.kill('SIGINT');
          const [code, signal] = await once(program.process, 'close');
          expect({ code, signal, errors: program.errors() }).toEqual({
            code: 130,
            signal: null,
            errors: '',
          });
        }
      },
    );
  });
}

/** Runs a session without pause until it is told to end. @param job what it opens and how it ends */
export function startChild(job: object): { readonly process: ChildProcess; errors(): string } {
  const script = fileURLToPath(new URL('../../support/session-child.mjs', import.meta.url));
  const process_ = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'pipe'] });
  const errors: Buffer[] = [];
  process_.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
  const model = Buffer.from(slowModel().bytes).toString('base64');
  process_.stdin.end(JSON.stringify({ ...job, model, spec: slowModel().spec }));
  return { process: process_, errors: () => Buffer.concat(errors).toString() };
}

/** Waits until its first run has ended, so that it is in the middle of a later one. */
export async function started(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close').then(() => {
    throw new Error('the child ended before it ran anything');
  });
  await Promise.race([once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data'), ended]);
}
