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

interface Times {
  readonly wallMs: number[];
  /** Of all threads of the process. */
  readonly cpuMs: number[];
}

/** One run after the other, each kind in turn, so that what else the machine does meets both alike. */
async function inTurn(sessions: readonly Session[], { spec, length }: Loaded): Promise<readonly Times[]> {
  const times = sessions.map((): Times => ({ wallMs: [], cpuMs: [] }));
  let array = new Float32Array(length).fill(0.3) as Parameters<Session['run']>[0];
  for (let run = 0; run < RUNS; run++) {
    const order = [...sessions.keys()];
    for (const place of run % 2 === 0 ? order : order.toReversed()) {
      const before = process.cpuUsage();
      const started = performance.now();
      const { input } = await (sessions[place] as Session).run(array, spec);
      times[place]?.wallMs.push(performance.now() - started);
      const { user, system } = process.cpuUsage(before);
      times[place]?.cpuMs.push((user + system) / 1000);
      array = input;
    }
  }
  return times;
}

/** Share of the longer interval in which both sessions were at work. */
async function overlapOf(kind: Kind, model: Loaded): Promise<number> {
  const sessions = await Promise.all([1, 2].map(() => KINDS[kind](model.bytes, 'model', CPU)));
  const intervals = await Promise.all(
    sessions.map(async (session) => {
      const start = performance.now();
      await inTurn([session], model);
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

export async function measureSessions(path: string, name: string, rounds: number) {
  const model = await load(path);
  const open = (kind: Kind) => KINDS[kind](model.bytes, name, CPU);
  const idleMs = await loopDelay(() => new Promise((resolve) => setTimeout(resolve, IDLE_MS)));
  const both = await Promise.all(NAMES.map(open));
  await inTurn(both, model); // the first runs allocate
  const [wall, cpu]: [number[][], number[][]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const times = await inTurn(both, model);
    wall.push(times.map(({ wallMs }) => median(wallMs)));
    cpu.push(times.map(({ cpuMs }) => median(cpuMs)));
  }
  const delays: number[] = [];
  for (const session of both) delays.push(await loopDelay(() => inTurn([session], model)));
  await Promise.all(both.map((session) => session.close()));
  const overlaps: number[] = [];
  for (const kind of NAMES) overlaps.push(await overlapOf(kind, model));
  const ratio = (rows: readonly number[][]) => rows.map(([node = 0, ffi = 0]) => round3(ffi / node));
  return {
    name: `sessions: ${name}, ${RUNS} runs a round, ${NAMES.join(' and ')}`,
    ffiToNode: { wall: ratio(wall), cpu: ratio(cpu) },
    wallMs: wall.map((row) => row.map(round3)),
    cpuMs: cpu.map((row) => row.map(round3)),
    overlapOfTwo: overlaps.map(round3),
    loopDelayP99Ms: { idle: round3(idleMs), atWork: delays.map(round3) },
  };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function round3(value: number): number {
  return Number(value.toFixed(3));
}
