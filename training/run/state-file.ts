// What a run stores to go on as if it had never stopped, and how it is checked against the run that wants it.
import { ConfigError } from '#core';
import type { Checkpoint } from '../checkpoint.ts';
import type { EnginePlan } from '../engines/engine.ts';
import type { RunState } from '../loop.ts';
import type { TrainRequest } from '../options.ts';

const VERSION = 1;

/** Facts of a run that a resumed one must share. */
export interface RunIdentity {
  readonly classNames: readonly string[];
  /** sha256 of the model file that the run started from; the name of the net where it starts from scratch. */
  readonly start: string;
  readonly input: readonly [width: number, height: number];
  readonly bins: number;
}

export interface RunRecord {
  readonly identity: RunIdentity;
  readonly plan: EnginePlan;
  /** What the run was asked for. */
  readonly request: TrainRequest;
  /** Rows of results.csv so far. */
  readonly rows: readonly Readonly<Record<string, number>>[];
  readonly seconds: number;
}

export interface StoredRun extends RunRecord {
  readonly epoch: number;
  readonly step: number;
  readonly best: RunState['best'];
}

export function toCheckpoint(state: RunState, record: RunRecord): Checkpoint {
  const { steps, moments } = state.optimizer.state();
  return {
    header: {
      version: VERSION,
      epoch: state.epoch,
      step: state.step,
      best: state.best,
      optimizerSteps: steps,
      averageUpdates: state.average.updates,
      ...record,
    },
    arrays: new Map([
      ...prefixed('value', state.values),
      ...prefixed('average', state.average.values),
      ...prefixed('moment', moments),
    ]),
  };
}

/** Options, rows and place of a stored run. @throws ConfigError where the file is of a newer version */
export function storedRun({ header }: Checkpoint, path: string): StoredRun {
  if (header['version'] !== VERSION) {
    throw new ConfigError(
      `${path}: checkpoint of version ${header['version']}; this program reads ${VERSION}`,
      {
        hint: 'resume with the version of edge-detect that wrote it',
      },
    );
  }
  return header as unknown as StoredRun;
}

/**
 * Puts a stored state into a fresh one.
 * @throws ConfigError naming the first fact in which the two runs differ
 */
export function restoreState(fresh: RunState, checkpoint: Checkpoint, identity: RunIdentity): RunState {
  const { header, arrays } = checkpoint;
  expectSameRun(checkpoint, identity);
  const part = (prefix: string) =>
    new Map(
      [...arrays]
        .filter(([name]) => name.startsWith(`${prefix}/`))
        .map(([name, values]) => [name.slice(prefix.length + 1), values] as const),
    );
  const values = part('value');
  for (const [name, value] of fresh.values) {
    const stored = values.get(name);
    if (stored?.length !== value.length) {
      throw new ConfigError(`the checkpoint has no ${name} of ${value.length} values`, {
        hint: 'resume with the freeze=, bins= and adapter= of the run that wrote it',
      });
    }
    value.set(stored);
  }
  fresh.average.restore(part('average'), header['averageUpdates'] as number);
  fresh.optimizer.restore({ steps: header['optimizerSteps'] as number, moments: part('moment') });
  return {
    ...fresh,
    epoch: header['epoch'] as number,
    step: header['step'] as number,
    best: header['best'] as RunState['best'],
  };
}

function prefixed(prefix: string, arrays: ReadonlyMap<string, Float32Array<ArrayBuffer>>) {
  return [...arrays].map(([name, values]) => [`${prefix}/${name}`, values] as const);
}

/** @throws ConfigError naming the first fact in which the stored run differs */
export function expectSameRun({ header }: Checkpoint, wanted: RunIdentity): void {
  const stored = header['identity'] as RunIdentity;
  for (const key of ['classNames', 'start', 'input', 'bins'] as const) {
    const [before, now] = [JSON.stringify(stored[key]), JSON.stringify(wanted[key])];
    if (before !== now) {
      throw new ConfigError(`the run to resume has ${key} ${before}, and now it is ${now}`, {
        hint: 'resume with the data and the model that the run was started with, or start a new run',
      });
    }
  }
}
