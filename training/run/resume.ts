// Finds the run to go on with, and says what it was.
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ConfigError, DataError } from '#core';
import { loadCheckpoint } from '../checkpoint.ts';
import type { EnginePlan } from '../engines/engine.ts';
import type { LoopConfig } from '../loop.ts';
import { completeRequest, type TrainRequest } from '../options.ts';
import { toArguments } from './arguments.ts';
import { type StoredRun, storedRun } from './state-file.ts';

export interface ResumedRun {
  readonly folder: string;
  readonly statePath: string;
  /** As the run was started, but for what may be changed. */
  readonly request: TrainRequest;
  /** Every option of the run under its name on the command line. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Bit-equality holds per plan, so the stored one is used again. */
  readonly plan: EnginePlan;
}

/**
 * @param place folder of a run, or its `weights/last.state`
 * @param changes what the user asks for now; more epochs than before extend the run
 * @throws DataError where there is no checkpoint, ConfigError where the run is over
 */
export async function resumeRun(
  place: string,
  changes: Pick<TrainRequest, 'epochs' | 'patience'> = {},
): Promise<ResumedRun> {
  const statePath = await findState(place);
  const stored = storedRun(await loadCheckpoint(statePath), statePath);
  const request = { ...stored.request, ...changes };
  const options = completeRequest(request);
  expectUnfinished(place, stored, options.loop);
  return {
    folder: dirname(dirname(statePath)),
    statePath,
    request,
    arguments: toArguments(options),
    plan: stored.plan,
  };
}

function expectUnfinished(place: string, { epoch, best }: StoredRun, { epochs, patience }: LoopConfig): void {
  const otherwise = 'or train further from its weights/best.onnx as model=';
  if (epoch >= epochs) {
    throw new ConfigError(`${place}: this run is complete: ${epoch} of ${epochs} epochs are done`, {
      hint: `extend it with epochs=${epoch * 2}, ${otherwise}`,
    });
  }
  if (patience > 0 && epoch - 1 - best.epoch >= patience) {
    throw new ConfigError(
      `${place}: this run is over: none of the last ${patience} epochs was better than epoch ${best.epoch + 1}`,
      { hint: `go on with patience=${patience * 2} or patience=0, ${otherwise}` },
    );
  }
}

async function findState(place: string): Promise<string> {
  if (basename(place) === 'last.state') return place;
  const path = join(place, 'weights', 'last.state');
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    throw new DataError(`${place}: there is no weights/last.state in this folder`, {
      hint: 'name the folder of a run, as resume=runs/detect/train2',
    });
  }
  return path;
}
