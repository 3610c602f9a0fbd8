// Which engine computes the gradients: what was asked for, or the first of the usual order that works here.
import { ConfigError, DeviceError } from '#core';
import type { TrainablePart } from '#onnx';
import { type Provider, providerName } from '#runtime';
import type { Engine, EnginePlan } from './engine.ts';
import { openOnnxEngine } from './onnx/engine.ts';
import { tuneOnnxPlan } from './onnx/tune.ts';
import { selfTest } from './self-test.ts';
import { openTfjsEngine } from './tfjs/engine.ts';

export interface EngineRequest {
  readonly engine: 'auto' | 'onnx' | 'tfjs' | 'tfjs-wasm' | 'tfjs-node' | 'tfjs-node-gpu';
  /** Belongs to `auto` and `onnx`; the other engines carry their device in their name. */
  readonly device: Provider | 'auto';
  /** The ONNX Runtime library to use in place of the one of onnxruntime-node. */
  readonly ortLibrary?: string;
  /** Plan of a run that is resumed: it is used again, or the run is refused. */
  readonly plan?: EnginePlan;
  /** Threads inside one operator, for `onnx` on the CPU; timed where neither this nor `workers` is given. */
  readonly threads?: number;
  readonly workers?: number;
}

export interface ChosenEngine {
  readonly engine: Engine;
  /** One line for the user: what was chosen, and why. */
  readonly reason: string;
}

/** One way to compute gradients. */
export interface Candidate {
  readonly name: string;
  /** Opens it for any part, as for a self-test. @throws DeviceError where it does not work here */
  open(part: TrainablePart): Promise<Engine>;
  /** Opens it for the part that is trained, in its best plan; `open` where there is nothing to weigh. */
  openBest?(part: TrainablePart): Promise<{ readonly engine: Engine; readonly note: string }>;
}

/**
 * `auto`: tfjs-node-gpu where it has a GPU, then onnx on CUDA, then onnx on the CPU in its fastest plan; the first whose
 * gradient agrees with a difference. Every other engine by name only.
 * @param batch pictures of a step, for the timing
 * @param searchFrom file beside whose `node_modules` the bindings of TensorFlow are looked for. Default: this package
 * @throws DeviceError where what was asked for does not work here, ConfigError where the words do not go together
 */
export async function chooseEngine(
  request: EngineRequest,
  part: TrainablePart,
  batch: number,
  searchFrom?: string,
): Promise<ChosenEngine> {
  expectKnown(request.engine);
  expectTrainable(request.device);
  if (request.plan !== undefined) return reopen(request.plan, request, part, searchFrom);
  if (request.engine.startsWith('tfjs')) expectNoOnnxOptions(request);
  return firstThatWorks(candidatesFor(request, batch, searchFrom), part);
}

const ENGINES: readonly string[] = ['auto', 'onnx', 'tfjs', 'tfjs-wasm', 'tfjs-node', 'tfjs-node-gpu'];

function expectKnown(engine: string): void {
  if (ENGINES.includes(engine)) return;
  const why =
    engine === 'tfjs-cpu'
      ? 'engine=tfjs-cpu is not offered: its gradients are wrong (enlarging, batches of more than one picture), and a step takes some 15 s'
      : `engine=${engine} is not known`;
  throw new ConfigError(why, { hint: `write one of ${ENGINES.join(', ')}` });
}

/** Engines and servers hold graphs that were frozen; what trains must take a new graph for every batch size. */
function expectTrainable(device: EngineRequest['device']): void {
  if (device === 'auto' || (device.kind !== 'kserve' && device.kind !== 'tensorrt' && device.kind !== 'dla'))
    return;
  const gpu = device.kind === 'tensorrt' ? ` (the same GPU: device=cuda:${device.index})` : '';
  throw new ConfigError(`device=${providerName(device)} runs finished networks and trains none${gpu}`, {
    hint: 'write device=cpu, device=0 for CUDA, device=webgpu, or leave it away',
  });
}

function expectNoOnnxOptions({ engine, device, threads = 1, workers = 1 }: EngineRequest): void {
  if (device === 'auto' && threads === 1 && workers === 1) return;
  throw new ConfigError(`engine=${engine} takes no device, threads or workers: its name says where it runs`, {
    hint: 'leave device=, threads= and sessions= away, or write engine=onnx',
  });
}

function candidatesFor(
  { engine, device, ortLibrary, threads, workers }: EngineRequest,
  batch: number,
  searchFrom: string | undefined,
): readonly Candidate[] {
  const library = ortLibrary === undefined ? {} : { ortLibrary };
  const cpu = onnxOnCpu(batch, { ...(threads && { threads }), ...(workers && { workers }) }, library);
  const onnx =
    device === 'auto'
      ? [onnxOnGpu({ kind: 'cuda', index: 0 }, library), cpu]
      : [device.kind === 'cpu' ? cpu : onnxOnGpu(device, library)];
  const tfjs = (name: TfjsName) => tfjsCandidate(name, searchFrom);
  switch (engine) {
    case 'auto': {
      const mayUseGpu = device === 'auto' || (device.kind === 'cuda' && device.index === 0);
      return mayUseGpu ? [tfjs('tfjs-node-gpu'), ...onnx] : onnx;
    }
    case 'onnx':
      return onnx;
    case 'tfjs':
      return [tfjs('tfjs-node-gpu'), tfjs('tfjs-node'), tfjs('tfjs-wasm')];
    default:
      return [tfjs(engine)];
  }
}

type TfjsName = 'tfjs-wasm' | 'tfjs-node' | 'tfjs-node-gpu';

function tfjsCandidate(name: TfjsName, searchFrom: string | undefined): Candidate {
  const backend = name === 'tfjs-wasm' ? 'wasm' : name;
  return {
    name,
    open: (part) => openTfjsEngine(part, { backend, ...(searchFrom !== undefined && { searchFrom }) }),
  };
}

type Library = Pick<EngineRequest, 'ortLibrary'>;

function onnxOnGpu(provider: Provider, library: Library): Candidate {
  return {
    name: `onnx on ${providerName(provider)}`,
    open: (part) => openOnnxEngine(part, { provider, ...library }),
  };
}

function onnxOnCpu(
  batch: number,
  given: { readonly threads?: number; readonly workers?: number },
  library: Library,
): Candidate {
  return {
    name: 'onnx on cpu',
    open: (part) => openOnnxEngine(part, library),
    async openBest(part) {
      if (given.threads !== undefined || given.workers !== undefined) {
        return { engine: await openOnnxEngine(part, { ...given, ...library }), note: 'as asked for' };
      }
      const timed = await tuneOnnxPlan(part, batch, library);
      const [best] = timed;
      const { threads = 1, workers = 1 } = best?.plan ?? {};
      const engine = await openOnnxEngine(part, { threads, workers, ...library });
      const time = best === undefined ? '' : `${Math.round(best.stepMs)} ms a step, `;
      return { engine, note: `${time}the fastest of ${timed.length} plans` };
    },
  };
}

/** @throws DeviceError of the only candidate, or one that says why each of several does not work */
export async function firstThatWorks(
  candidates: readonly Candidate[],
  part: TrainablePart,
): Promise<ChosenEngine> {
  const refused: DeviceError[] = [];
  for (const candidate of candidates) {
    try {
      await selfTest((tiny) => candidate.open(tiny));
      const { engine, note } = (await candidate.openBest?.(part)) ?? {
        engine: await candidate.open(part),
        note: '',
      };
      const asides = [note, ...refused.map(({ message }) => message)].filter((aside) => aside !== '');
      return { engine, reason: [describe(candidate.name, engine.plan), ...asides].join('; ') };
    } catch (error) {
      if (!(error instanceof DeviceError)) throw error;
      const { message, hint } = error;
      refused.push(new DeviceError(`${candidate.name}: ${message}`, { hint, cause: error }));
    }
  }
  const [only] = refused;
  if (only !== undefined && refused.length === 1) throw only;
  throw new DeviceError(
    `no engine works here: ${refused.map(({ message }) => message).join('; ') || 'there is none to try'}`,
    { hint: 'use engine=onnx device=cpu, which needs nothing beside this package' },
  );
}

function describe(name: string, { threads, workers }: EnginePlan): string {
  const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;
  return `${name}, ${plural(threads, 'thread')}, ${plural(workers, 'worker')}`;
}

/** Bits are equal only within a plan, so a resumed run goes on with the very one it had. */
async function reopen(
  plan: EnginePlan,
  request: EngineRequest,
  part: TrainablePart,
  searchFrom: string | undefined,
): Promise<ChosenEngine> {
  expectSamePlan(plan, request);
  const candidate = candidateOf(plan, searchFrom, request.ortLibrary);
  const { engine } = await firstThatWorks([candidate], part);
  if (JSON.stringify(sorted(engine.plan)) !== JSON.stringify(sorted(plan))) {
    await engine.close();
    throw new DeviceError(
      `the run was trained with ${describe(candidate.name, plan)}; here that would be ${describe(candidate.name, engine.plan)}, and the results would differ`,
      { hint: 'resume it on the machine it was started on, or start a new run' },
    );
  }
  return { engine, reason: `${describe(candidate.name, plan)}; the plan of the run that is resumed` };
}

function candidateOf(plan: EnginePlan, searchFrom?: string, ortLibrary?: string): Candidate {
  const { engine, backend, threads, workers } = plan;
  if (engine === 'onnx') {
    const provider = providerOf(backend);
    const library = ortLibrary === undefined ? {} : { ortLibrary };
    return {
      name: `onnx on ${backend}`,
      open: (part) => openOnnxEngine(part, { provider, threads, workers, ...library }),
    };
  }
  const names: Readonly<Record<string, TfjsName>> = {
    tensorflow: 'tfjs-node',
    'tensorflow-gpu': 'tfjs-node-gpu',
  };
  return tfjsCandidate(names[backend] ?? 'tfjs-wasm', searchFrom);
}

function providerOf(backend: string): Provider {
  const [, index] = /^cuda:(\d+)$/.exec(backend) ?? [];
  if (index !== undefined) return { kind: 'cuda', index: Number(index) };
  return { kind: backend === 'webgpu' ? 'webgpu' : 'cpu' };
}

/** What is said beside `resume` must be what the run had. */
function expectSamePlan(plan: EnginePlan, { engine, device, threads, workers }: EngineRequest): void {
  const { name } = candidateOf(plan);
  const provider = device === 'auto' ? undefined : providerName(device);
  const differs = [
    engine !== 'auto' && engine !== plan.engine && engine !== name && `engine=${engine}`,
    provider !== undefined && provider !== plan.backend && `device=${provider}`,
    threads !== undefined && threads !== plan.threads && `threads=${threads}`,
    workers !== undefined && workers !== plan.workers && `sessions=${workers}`,
  ].filter((part) => part !== false);
  if (differs.length === 0) return;
  throw new ConfigError(
    `the run was trained with ${describe(name, plan)}, but ${differs.join(', ')} is asked for`,
    { hint: 'leave it away to go on as before, or start a new run' },
  );
}

function sorted(plan: EnginePlan): readonly unknown[] {
  return [plan.engine, plan.backend, plan.threads, plan.workers];
}
