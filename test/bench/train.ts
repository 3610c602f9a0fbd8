// How long a training step takes beside PyTorch's: the same two networks, the same batch, loss and optimiser included.
// Engines take turns within one run; CPU time stands beside wall time, because other work may share the machine.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createRandom } from '../../src/core/random.ts';
import type { Tensor, Tensors } from '../../training/engines/engine.ts';
import { openOnnxEngine } from '../../training/engines/onnx/engine.ts';
import { expOfNegative } from '../../training/losses/exponential.ts';
import { createOptimizer, OPTIMIZER_DEFAULTS } from '../../training/optimizer.ts';
import type { NetKind } from './train-nets.ts';
import { BINS, benchNet, CHANNELS, CLASSES } from './train-nets.ts';

/** DFL cross-entropy of four sides and Brier loss of the classes against dense soft targets. */
function lossInto(gradient: Float32Array, output: Tensor, targets: Float32Array): number {
  const [batch = 1, , rows = 1, columns = 1] = output.shape;
  const area = rows * columns;
  const scale = 1 / batch;
  let total = 0;
  for (let picture = 0; picture < batch; picture++) {
    const start = picture * CHANNELS * area;
    for (let side = 0; side < 4; side++) {
      total += sideInto(gradient, output.data, targets, start + side * BINS * area, area, scale);
    }
    total += brierInto(gradient, output.data, targets, start + 4 * BINS * area, CLASSES * area, scale);
  }
  return total * scale;
}

function sideInto(
  gradient: Float32Array,
  logits: Float32Array,
  targets: Float32Array,
  start: number,
  area: number,
  scale: number,
): number {
  const law = new Float64Array(BINS);
  let total = 0;
  for (let first = start; first < start + area; first++) {
    let peak = -Infinity;
    for (let bin = 0, at = first; bin < BINS; bin++, at += area) peak = Math.max(peak, logits[at]!);
    let sum = 0;
    for (let bin = 0, at = first; bin < BINS; bin++, at += area) {
      const power = expOfNegative(logits[at]! - peak);
      law[bin] = power;
      sum += power;
    }
    const logSum = peak + Math.log(sum);
    const share = 1 / sum;
    for (let bin = 0, at = first; bin < BINS; bin++, at += area) {
      const target = targets[at]!;
      total += target * (logSum - logits[at]!);
      gradient[at] = (law[bin]! * share - target) * scale;
    }
  }
  return total;
}

function brierInto(
  gradient: Float32Array,
  logits: Float32Array,
  targets: Float32Array,
  start: number,
  count: number,
  scale: number,
): number {
  let total = 0;
  for (let at = start; at < start + count; at++) {
    const logit = logits[at]!;
    const power = expOfNegative(-Math.abs(logit));
    const p = (logit >= 0 ? 1 : power) / (1 + power);
    const apart = p - targets[at]!;
    total += apart * apart;
    gradient[at] = 2 * apart * p * (1 - p) * scale;
  }
  return total;
}

/** Soft targets: a distribution over the bins of each side, a number in [0, 1] for each class. */
function targetsFor(batch: number, area: number, seed: number): Float32Array {
  const random = createRandom(seed);
  const targets = Float32Array.from({ length: batch * CHANNELS * area }, () => random.next());
  for (let row = 0; row < batch * 4 * area; row++) {
    const cell = row % area;
    const side = Math.floor(row / area);
    const start = (Math.floor(side / 4) * CHANNELS + (side % 4) * BINS) * area + cell;
    let sum = 0;
    for (let bin = 0; bin < BINS; bin++) sum += targets[start + bin * area]!;
    for (let bin = 0; bin < BINS; bin++) targets[start + bin * area] = targets[start + bin * area]! / sum;
  }
  return targets;
}

export interface Steps {
  readonly wallMs: readonly number[];
  readonly cpuMs: readonly number[];
  readonly losses: readonly number[];
}

export interface StepSetting {
  readonly net: NetKind;
  readonly batch: number;
  readonly threads: number;
  readonly workers: number;
  readonly steps: number;
}

const WARM_UP = 3;

/** Steps of our engine. */
export async function ownSteps({ net: kind, batch, threads, workers, steps }: StepSetting): Promise<Steps> {
  const { part, values } = benchNet(kind);
  const engine = await openOnnxEngine(part, { threads, workers });
  const random = createRandom(2);
  const inputs: Tensors = new Map(
    part.inputs.map(({ name, shape }) => {
      const count = shape.reduce((product, size) => product * size, batch);
      return [
        name,
        { shape: [batch, ...shape], data: Float32Array.from({ length: count }, () => random.normal()) },
      ];
    }),
  );
  const areas = part.outputs.map(({ shape }) => shape[1]! * shape[2]!);
  const targets = areas.map((area, index) => targetsFor(batch, area, 3 + index));
  const gradients = new Map(
    part.outputs.map(({ name, shape }, index) => [
      name,
      { shape: [batch, ...shape], data: new Float32Array(batch * CHANNELS * areas[index]!) },
    ]),
  );
  const optimizer = createOptimizer({ ...OPTIMIZER_DEFAULTS, weightDecay: 0 }, part.parameters);
  const [wallMs, cpuMs, losses]: [number[], number[], number[]] = [[], [], []];
  for (let step = 0; step < steps + WARM_UP; step++) {
    const [started, burnt] = [performance.now(), process.cpuUsage()];
    const { outputs, state } = await engine.forward(inputs, values, { mode: 'train' });
    const loss = part.outputs.reduce(
      (sum, { name }, index) =>
        sum + lossInto(gradients.get(name)!.data, outputs.get(name)!, targets[index]!),
      0,
    );
    const result = await engine.backward(state!, gradients);
    optimizer.step(values, result.gradients, 1e-3);
    const { user, system } = process.cpuUsage(burnt);
    losses.push(loss);
    wallMs.push(performance.now() - started);
    cpuMs.push((user + system) / 1000);
  }
  await engine.close();
  return { wallMs: wallMs.slice(WARM_UP), cpuMs: cpuMs.slice(WARM_UP), losses: losses.slice(0, 7) };
}

const script = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? './torch_step.py' : '../../../test/bench/torch_step.py',
    import.meta.url,
  ),
);

/** Steps of PyTorch; undefined where there is none. */
export function torchSteps({ net, batch, threads, steps }: StepSetting): Steps | undefined {
  const python = ['/usr/bin/python3', 'python3'].find(
    (program) =>
      (program === 'python3' || existsSync(program)) &&
      spawnSync(program, ['-c', 'import torch']).status === 0,
  );
  if (python === undefined) return undefined;
  const numbers = [batch, threads, steps, WARM_UP].map(String);
  const { status, stdout, stderr } = spawnSync(python, [script, net, ...numbers], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Steps;
}

export interface StepFigure extends Omit<StepSetting, 'steps'> {
  readonly name: 'train step';
  readonly edgeDetectMs: number;
  readonly edgeDetectCpuMs: number;
  readonly torchMs?: number;
  readonly torchCpuMs?: number;
  /** Ours over PyTorch's, of the medians. */
  readonly ratio?: number;
  readonly cpuRatio?: number;
  /** The bar that the project set itself, on one thread. */
  readonly bar?: number;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const rounded = (value: number) => Math.round(value * 100) / 100;

/** @param rounds turns of each engine */
export async function measureTrain(setting: StepSetting, rounds: number): Promise<StepFigure> {
  const own: Steps[] = [];
  const torch: Steps[] = [];
  for (let round = 0; round < rounds; round++) {
    own.push(await ownSteps(setting));
    const other = torchSteps({ ...setting, threads: setting.threads * setting.workers });
    if (other !== undefined) torch.push(other);
  }
  const over = (runs: readonly Steps[], pick: (run: Steps) => readonly number[]) =>
    median(runs.flatMap(pick));
  const [wall, cpu] = [over(own, (run) => run.wallMs), over(own, (run) => run.cpuMs)];
  const { net, batch, threads, workers } = setting;
  const head = { name: 'train step' as const, net, batch, threads, workers };
  const ours = { edgeDetectMs: rounded(wall), edgeDetectCpuMs: rounded(cpu) };
  if (torch.length === 0) return { ...head, ...ours };
  const [torchWall, torchCpu] = [over(torch, (run) => run.wallMs), over(torch, (run) => run.cpuMs)];
  return {
    ...head,
    ...ours,
    torchMs: rounded(torchWall),
    torchCpuMs: rounded(torchCpu),
    ratio: rounded(wall / torchWall),
    cpuRatio: rounded(cpu / torchCpu),
    ...(threads * workers === 1 ? { bar: net === 'whole' ? 1.15 : 1.3 } : {}),
  };
}

/** The settings of the bar, then two threads and two workers. */
export const TRAIN_SETTINGS: readonly StepSetting[] = [
  [1, 1],
  [2, 1],
  [1, 2],
].flatMap(([threads = 1, workers = 1]) =>
  (
    [
      ['whole', 8],
      ['head', 8],
      ['head', 32],
    ] as const
  ).map(([net, batch]) => ({ net, batch, threads, workers, steps: 15 })),
);
