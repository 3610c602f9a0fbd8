// What the two kinds of session of this machine owe beyond the contract: memory, cores, and one and the same answer.
import { describe, expect, it } from 'vitest';
import { DeviceError } from '#core';
import {
  loadModelFile,
  normalizeInputs,
  pictureInput,
  serialize,
  withFloatInterface,
  withStaticInput,
} from '#onnx';
import {
  openOrtFfiSession,
  openOrtNodeSession,
  type RunResult,
  type Session,
  type SessionInput,
} from '#runtime';
import { OLDER_RUNTIMES } from '../../support/older-runtimes.ts';
import { BUNDLED, ortLibrary } from '../../support/ort-libraries.ts';
import { slowModel, typesModel } from '../../support/session-models.ts';
import { testData } from '../../support/test-data.ts';

const CPU = { provider: { kind: 'cpu' }, threads: 1 } as const;
const CUDA = { provider: { kind: 'cuda', index: 7 }, threads: 1 } as const;
const KINDS = [
  { name: 'ort-node', open: openOrtNodeSession },
  { name: 'ort-ffi', open: openOrtFfiSession },
];

describe.each(KINDS)('a session of $name', ({ open }) => {
  it('takes the memory of its input while it runs', async () => {
    const { bytes, spec, length } = slowModel();
    const session = await open(bytes, 'slow.onnx', CPU);
    const input = new Float32Array(length);
    const running = session.run(input, spec);
    expect(input.length).toBe(0);
    expect((await running).input).toHaveLength(length);
    await session.close();
  });

  it('runs beside another session', async () => {
    const { bytes, spec, length } = slowModel();
    const sessions = await Promise.all([1, 2].map(() => open(bytes, 'slow.onnx', CPU)));
    const intervals = await Promise.all(
      sessions.map(async (session) => {
        const start = performance.now();
        for (let run = 0; run < 5; run++) await session.run(new Float32Array(length), spec);
        return [start, performance.now()] as const;
      }),
    );
    await Promise.all(sessions.map((session) => session.close()));
    const overlap =
      Math.min(...intervals.map(([, end]) => end)) - Math.max(...intervals.map(([start]) => start));
    const longest = Math.max(...intervals.map(([start, end]) => end - start));
    expect(overlap / longest).toBeGreaterThan(0.5);
  });

  it('refuses a graph that the runtime cannot load, naming the file', async () => {
    const opening = open(Uint8Array.of(1, 2, 3), 'broken.onnx', CPU);
    await expect(opening).rejects.toThrow(/broken\.onnx: ONNX Runtime cannot load the graph/);
  });

  it('does not fall back to the CPU where CUDA was asked for', async () => {
    const opening = open(slowModel().bytes, 'slow.onnx', CUDA);
    // On a machine with eight CUDA devices this would open: then it must say that it runs there.
    const outcome = await opening.then(
      (session) => session.close().then(() => session.provider),
      (error: unknown) => error,
    );
    if (typeof outcome === 'string') expect(outcome).toBe('cuda:7');
    else expect(outcome).toBeInstanceOf(DeviceError);
  });
});

type Answer = RunResult['outputs'];

/** All outputs of two runs on the same wave of pixels: the second is the one that writes into arrays of ours. */
async function answersOf(session: Session, { name, shape }: SessionInput, dtype: string): Promise<Answer> {
  const length = shape.reduce((product, axis) => product * axis, 1);
  const input = dtype === 'uint8' ? new Uint8Array(length) : new Float32Array(length);
  for (let at = 0; at < length; at++) input[at] = Math.round(127 + 120 * Math.sin(at / 50));
  const first = await session.run(input, { name, shape });
  const second = await session.run(first.input, { name, shape });
  await session.close();
  expect(furthest(second.outputs, first.outputs)).toBe(0);
  return first.outputs;
}

/** Largest difference, of values above 1 relative to them; not a number where a value is missing. */
function furthest(found: Answer, wanted: Answer): number {
  let most = 0;
  for (const [name, { shape, data }] of wanted) {
    const other = found.get(name);
    expect(other?.shape).toEqual(shape);
    for (let at = 0; at < data.length; at++) {
      const value = Number(data[at]);
      const apart = Math.abs(value - Number(other?.data[at])) / Math.max(1, Math.abs(value));
      if (!(apart <= most)) most = apart;
    }
  }
  return most;
}

/** Releases before 1.17 read no opset 20, which the quantised one is written in. */
const MODELS = [
  { name: 'yolox_nano', opset: 11, tolerance: 1e-3 },
  { name: 'nanodet_m_320', opset: 11, tolerance: 1e-3 },
  { name: 'yolov5n_fp16', opset: 12, tolerance: 1e-2 }, // releases differ in which halves they round to
  { name: 'yolov8n_640_int8dyn', opset: 20, tolerance: 2e-3 },
];

describe('the same graph in both kinds of session', () => {
  it('gives the same bits for every type of output', async () => {
    const both = await Promise.all(
      KINDS.map(async ({ open }) =>
        answersOf(await open(typesModel(), 'types.onnx', CPU), { name: 'x', shape: [1, 3] }, 'float32'),
      ),
    );
    expect(both[1]).toEqual(both[0]);
  });

  for (const { name, opset, tolerance } of MODELS) {
    const path = testData(`models/${name}.onnx`);
    it.skipIf(path === undefined)(
      `${name}: the same bits on the same release, the same numbers on older ones`,
      async () => {
        const { model } = await loadModelFile(path ?? '');
        const picture = pictureInput(normalizeInputs(model));
        const { width = 320, height = 320, order, dtype } = picture;
        const bytes = serialize(
          withFloatInterface(withStaticInput(normalizeInputs(model), { batch: 1, width, height })),
        );
        const shape = order === 'nchw' ? [1, 3, height, width] : [1, height, width, 3];
        const answer = async (open: typeof openOrtNodeSession, library?: string) => {
          const options = library === undefined ? CPU : { ...CPU, ortLibrary: library };
          const session = await open(bytes, name, options);
          return answersOf(session, { name: picture.name, shape }, dtype);
        };
        const wanted = await answer(openOrtNodeSession);
        expect(furthest(await answer(openOrtFfiSession, ortLibrary(BUNDLED)), wanted)).toBe(0);
        for (const version of OLDER_RUNTIMES) {
          const library = ortLibrary(version);
          if (library === undefined) continue;
          if (version === '1.16.3' && opset > 19) {
            await expect(answer(openOrtFfiSession, library)).rejects.toThrow(
              /is written in opset 20, and this runtime reads up to 19$/,
            );
            continue;
          }
          expect(furthest(await answer(openOrtFfiSession, library), wanted), version).toBeLessThan(tolerance);
        }
      },
      120_000,
    );
  }
});
