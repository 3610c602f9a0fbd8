// How long a training step takes beside PyTorch's: the same two networks, the same batch, loss and optimiser included.
// Engines take turns within one run; CPU time stands beside wall time, because other work may share the machine.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { NodeProto, TensorProto, TrainablePart } from '#onnx';
import { ElementType, floats, graph, model, node, valueInfo } from '#onnx';
import { createRandom } from '../../src/core/random.ts';
import type { ParameterValues, Tensor, Tensors } from '../../training/engines/engine.ts';
import { openOnnxEngine } from '../../training/engines/onnx/engine.ts';
import { expOfNegative } from '../../training/losses/exponential.ts';
import { createOptimizer, OPTIMIZER_DEFAULTS } from '../../training/optimizer.ts';

export type NetKind = 'whole' | 'head';

const BINS = 16;
const CLASSES = 4;
const CHANNELS = 4 * BINS + CLASSES;
const EPSILON = 1e-5;

interface Net {
  readonly part: TrainablePart;
  readonly values: ParameterValues;
}

/** Collects nodes and parameters; He's initialisation (2015). */
function createNet() {
  const nodes: NodeProto[] = [];
  const initializers: TensorProto[] = [];
  const parameters: TrainablePart['parameters'][number][] = [];
  const values = new Map<string, Float32Array<ArrayBuffer>>();
  const normalizations: { mean: string; variance: string }[] = [];
  const random = createRandom(1);
  const fill = (count: number, value: () => number) => Float32Array.from({ length: count }, value);
  const add = (
    name: string,
    shape: number[],
    role: 'weight' | 'bias' | 'scale' | 'shift',
    value: () => number,
  ) => {
    const data = fill(
      shape.reduce((product, size) => product * size, 1),
      value,
    );
    initializers.push(floats(name, shape, data));
    parameters.push({ name, shape, role });
    values.set(name, data);
  };
  const conv = (
    x: string,
    name: string,
    [inputs, outputs, size, stride]: readonly number[],
    bias: boolean,
  ) => {
    const [i = 1, o = 1, k = 1, s = 1] = [inputs, outputs, size, stride];
    const scale = Math.sqrt(2 / (i * k * k));
    add(`${name}.weight`, [o, i, k, k], 'weight', () => random.normal() * scale);
    if (bias) add(`${name}.bias`, [o], 'bias', () => 0);
    const pad = BigInt((k - 1) / 2);
    nodes.push(
      node('Conv', [x, `${name}.weight`, ...(bias ? [`${name}.bias`] : [])], [name], {
        strides: [BigInt(s), BigInt(s)],
        pads: [pad, pad, pad, pad],
      }),
    );
    return name;
  };
  const silu = (x: string) => {
    nodes.push(node('Sigmoid', [x], [`${x}/s`]), node('Mul', [x, `${x}/s`], [`${x}/y`]));
    return `${x}/y`;
  };
  const normalise = (x: string, channels: number) => {
    add(`${x}.gamma`, [channels], 'scale', () => 1);
    add(`${x}.beta`, [channels], 'shift', () => 0);
    const [mean, variance] = [`${x}.mean`, `${x}.variance`];
    initializers.push(
      floats(
        mean,
        [channels],
        fill(channels, () => 0),
      ),
    );
    initializers.push(
      floats(
        variance,
        [channels],
        fill(channels, () => 1),
      ),
    );
    normalizations.push({ mean, variance });
    const names = [x, `${x}.gamma`, `${x}.beta`, mean, variance];
    nodes.push(node('BatchNormalization', names, [`${x}/n`], { epsilon: EPSILON }));
    return `${x}/n`;
  };
  return { nodes, initializers, parameters, values, normalizations, conv, silu, normalise };
}

type Building = ReturnType<typeof createNet>;

function finish(net: Building, inputs: Record<string, number[]>, outputs: Record<string, number[]>): Net {
  const infos = (tensors: Record<string, number[]>) =>
    Object.entries(tensors).map(([name, shape]) => valueInfo(name, ElementType.FLOAT, ['N', ...shape]));
  const { nodes, initializers, parameters, normalizations, values } = net;
  const named = (tensors: Record<string, number[]>) =>
    Object.entries(tensors).map(([name, shape]) => ({ name, shape, kind: 'features' as const }));
  return {
    values,
    part: {
      model: model(graph({ nodes, initializers, inputs: infos(inputs), outputs: infos(outputs) })),
      inputs: named(inputs),
      outputs: named(outputs),
      parameters,
      normalizations,
    },
  };
}

function wholeNet(): Net {
  const net = createNet();
  let x = 'x';
  [
    [3, 16, 3, 2],
    [16, 32, 3, 2],
    [32, 32, 3, 1],
    [32, 64, 3, 2],
    [64, 64, 3, 1],
    [64, 128, 3, 2],
    [128, 128, 3, 1],
  ].forEach((layer, index) => {
    x = net.silu(net.normalise(net.conv(x, `c${index}`, layer, false), layer[1]!));
  });
  net.conv(x, 'out', [128, CHANNELS, 1, 1], true);
  return finish(net, { x: [3, 160, 160] }, { out: [CHANNELS, 10, 10] });
}

function headNet(): Net {
  const net = createNet();
  const levels = [
    [64, 20],
    [128, 10],
    [256, 5],
  ] as const;
  for (const [width] of levels) {
    const first = net.silu(net.conv(`f${width}`, `a${width}`, [width, 64, 3, 1], true));
    const second = net.silu(net.conv(first, `b${width}`, [64, 64, 3, 1], true));
    net.conv(second, `out${width}`, [64, CHANNELS, 1, 1], true);
  }
  return finish(
    net,
    Object.fromEntries(levels.map(([width, size]) => [`f${width}`, [width, size, size]])),
    Object.fromEntries(levels.map(([width, size]) => [`out${width}`, [CHANNELS, size, size]])),
  );
}

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

export function benchNet(kind: NetKind): Net {
  return kind === 'whole' ? wholeNet() : headNet();
}

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
