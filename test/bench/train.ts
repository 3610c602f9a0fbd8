// How long a training step takes beside PyTorch's: the same two networks, batch and objects; assignment, losses and
// optimiser included. Engines take turns within one run; CPU time stands beside wall time, because other work may share
// the machine.
import { benchObjects } from './train-criterion.ts';
import type { NetKind } from './train-nets.ts';
import { type OwnSteps, ownSteps } from './train-own.ts';
import { findTorch, type Steps, torchSteps } from './train-torch.ts';

export interface StepSetting {
  readonly net: NetKind;
  readonly batch: number;
  readonly threads: number;
  readonly workers: number;
  readonly steps: number;
}

export interface StepFigure extends Omit<StepSetting, 'steps'> {
  readonly name: 'train step';
  readonly edgeDetectMs: number;
  readonly edgeDetectCpuMs: number;
  /** Assignment and losses, a part of the step. */
  readonly criterionMs: number;
  /** Losses of the first and the seventh step; the first values of the weights are drawn on either side. */
  readonly losses: readonly number[];
  readonly torchMs?: number;
  readonly torchCpuMs?: number;
  readonly torchLosses?: readonly number[];
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
const over = (runs: readonly Steps[], pick: (run: Steps) => readonly number[]) => median(runs.flatMap(pick));
const firstAndLast = ([run]: readonly Steps[]) =>
  [run?.losses[0], run?.losses.at(-1)].map((loss) => rounded(loss!));

const WARM_UP_STEPS = 3;

/** @param rounds turns of each engine */
export async function measureTrain(setting: StepSetting, rounds: number): Promise<StepFigure> {
  const { net, batch, threads, workers, steps } = setting;
  const given = { net, steps, warmUp: WARM_UP_STEPS, objects: benchObjects(batch, 3) };
  const python = findTorch();
  const own: OwnSteps[] = [];
  const torch: Steps[] = [];
  for (let round = 0; round < rounds; round++) {
    own.push(await ownSteps({ ...given, threads, workers }));
    if (python !== undefined) torch.push(torchSteps(python, { ...given, threads: threads * workers }));
  }
  const [wall, cpu] = [over(own, (run) => run.wallMs), over(own, (run) => run.cpuMs)];
  const ours = {
    ...{ name: 'train step' as const, net, batch, threads, workers },
    ...{ edgeDetectMs: rounded(wall), edgeDetectCpuMs: rounded(cpu) },
    criterionMs: rounded(median(own.flatMap((run) => run.criterionMs))),
    losses: firstAndLast(own),
  };
  if (torch.length === 0) return ours;
  const [torchWall, torchCpu] = [over(torch, (run) => run.wallMs), over(torch, (run) => run.cpuMs)];
  return {
    ...ours,
    ...{ torchMs: rounded(torchWall), torchCpuMs: rounded(torchCpu), torchLosses: firstAndLast(torch) },
    ...{ ratio: rounded(wall / torchWall), cpuRatio: rounded(cpu / torchCpu) },
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
