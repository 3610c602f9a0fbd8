// The two kinds of session of this machine on one model in one run: time per run, overlap of two sessions, and how late
// the event loop comes while one works.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import {
  loadModelFile,
  normalizeInputs,
  pictureInput,
  serialize,
  withFloatInterface,
  withStaticInput,
} from '#onnx';
import { openOrtFfiSession, openOrtNodeSession, type Session, type SessionInput } from '#runtime';

const CPU = { provider: { kind: 'cpu' }, threads: 1 } as const;
const KINDS = { 'ort-node': openOrtNodeSession, 'ort-ffi': openOrtFfiSession } as const;
type Kind = keyof typeof KINDS;
const NAMES = Object.keys(KINDS) as Kind[];
const RUNS = 40;
const IDLE_MS = 2000;
const NS = 1e6;

interface Loaded {
  readonly bytes: Uint8Array;
  readonly spec: SessionInput;
  readonly length: number;
}

async function load(path: string): Promise<Loaded> {
  const model = normalizeInputs((await loadModelFile(path)).model);
  const { name, order, width = 416, height = 416 } = pictureInput(model);
  const shape = order === 'nchw' ? [1, 3, height, width] : [1, height, width, 3];
  const bytes = serialize(withFloatInterface(withStaticInput(model, { batch: 1, width, height })));
  return { bytes, spec: { name, shape }, length: 3 * width * height };
}

/** Median of the time per run, as a caller sees it and as the session says. */
async function timePerRun(session: Session, { spec, length }: Loaded) {
  let array = new Float32Array(length).fill(0.3) as Parameters<Session['run']>[0];
  const [walls, inside]: [number[], number[]] = [[], []];
  for (let run = 0; run < RUNS; run++) {
    const started = performance.now();
    const { input, inferenceMs } = await session.run(array, spec);
    walls.push(performance.now() - started);
    inside.push(inferenceMs);
    array = input;
  }
  return { wallMs: median(walls), inferenceMs: median(inside) };
}

/** Share of the longer interval in which both sessions were at work. */
async function overlapOf(kind: Kind, model: Loaded): Promise<number> {
  const sessions = await Promise.all([1, 2].map(() => KINDS[kind](model.bytes, 'model', CPU)));
  const intervals = await Promise.all(
    sessions.map(async (session) => {
      const start = performance.now();
      await timePerRun(session, model);
      return [start, performance.now()] as const;
    }),
  );
  await Promise.all(sessions.map((session) => session.close()));
  const both = Math.min(...intervals.map(([, end]) => end)) - Math.max(...intervals.map(([start]) => start));
  return both / Math.max(...intervals.map(([start, end]) => end - start));
}

/** 99th percentile of how late a timer comes, ms. */
async function loopDelay(work: () => Promise<unknown>): Promise<number> {
  const monitor = monitorEventLoopDelay({ resolution: 1 });
  monitor.enable();
  await work();
  monitor.disable();
  return monitor.percentile(99) / NS;
}

/** @param rounds each kind once per round, the order turned every round */
export async function measureSessions(path: string, name: string, rounds: number) {
  const model = await load(path);
  const figures = new Map(
    NAMES.map((kind) => [kind, { wallMs: [], inferenceMs: [], delayMs: [], overlap: [] } as Series]),
  );
  const idleMs = await loopDelay(() => new Promise((resolve) => setTimeout(resolve, IDLE_MS)));
  for (let round = 0; round < rounds; round++) {
    for (const kind of round % 2 === 0 ? NAMES : NAMES.toReversed()) {
      const series = figures.get(kind) as Series;
      const session = await KINDS[kind](model.bytes, name, CPU);
      await timePerRun(session, model);
      series.delayMs.push(
        await loopDelay(async () => {
          const { wallMs, inferenceMs } = await timePerRun(session, model);
          series.wallMs.push(wallMs);
          series.inferenceMs.push(inferenceMs);
        }),
      );
      await session.close();
      series.overlap.push(await overlapOf(kind, model));
    }
  }
  const [node, ffi] = NAMES.map((kind) => figures.get(kind) as Series) as [Series, Series];
  const ratios = ffi.wallMs.map((value, round) => value / (node.wallMs[round] ?? Number.NaN));
  return {
    name: `sessions: ${name}, ${RUNS} runs a round`,
    ratioFfiToNode: { median: median(ratios), rounds: ratios.map(round3) },
    idleLoopDelayP99Ms: round3(idleMs),
    ...Object.fromEntries(
      [...figures].map(([kind, series]) => [
        kind,
        Object.fromEntries(Object.entries(series).map(([key, values]) => [key, values.map(round3)])),
      ]),
    ),
  };
}

interface Series {
  readonly wallMs: number[];
  readonly inferenceMs: number[];
  readonly delayMs: number[];
  readonly overlap: number[];
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function round3(value: number): number {
  return Number(value.toFixed(3));
}
