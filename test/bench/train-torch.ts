// PyTorch's side of the training benchmark: a Python program beside this file, where PyTorch is installed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { PictureBoxes } from './train-criterion.ts';
import type { NetKind } from './train-nets.ts';

const script = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? './torch_step.py' : '../../../test/bench/torch_step.py',
    import.meta.url,
  ),
);

/** A Python that has PyTorch; undefined where there is none. */
export function findTorch(): string | undefined {
  return ['/usr/bin/python3', 'python3'].find(
    (program) =>
      (program === 'python3' || existsSync(program)) &&
      spawnSync(program, ['-c', 'import torch']).status === 0,
  );
}

function ask(python: string, words: readonly (string | number)[], input: unknown): unknown {
  const { status, stdout, stderr } = spawnSync(python, ['-B', script, ...words.map(String)], {
    encoding: 'utf8',
    input: JSON.stringify(input),
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

export interface Steps {
  readonly wallMs: readonly number[];
  readonly cpuMs: readonly number[];
  /** Of the first steps. */
  readonly losses: readonly number[];
}

export interface TorchSetting {
  readonly net: NetKind;
  readonly threads: number;
  readonly steps: number;
  readonly warmUp: number;
  /** One list a picture. */
  readonly objects: readonly PictureBoxes[];
}

export function torchSteps(python: string, { net, threads, steps, warmUp, objects }: TorchSetting): Steps {
  return ask(python, [net, threads, steps, warmUp], { objects }) as Steps;
}

export interface TorchCriterion {
  readonly total: number;
  readonly positives: number;
  /** d total / d output, flat, one a raw output in the order in which they were given. */
  readonly gradients: readonly (readonly number[])[];
}

/** @param levels raw outputs `[N, channels, rows, columns]`, box before score, flat */
export function torchCriterion(
  python: string,
  objects: readonly PictureBoxes[],
  levels: readonly { readonly stride: number; readonly box: number[]; readonly quality: number[] }[],
): TorchCriterion {
  return ask(python, ['criterion'], { objects, levels }) as TorchCriterion;
}
