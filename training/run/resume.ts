// Finds the run to go on with, and says what it was.
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ConfigError, DataError } from '#core';
import { loadCheckpoint } from '../checkpoint.ts';
import type { EnginePlan } from '../engines/engine.ts';
import { completeRequest, type TrainRequest } from '../options.ts';
import { storedRun } from './state-file.ts';

export interface ResumedRun {
  readonly folder: string;
  readonly statePath: string;
  /** As the run was started; `epochs` may be raised. */
  readonly request: TrainRequest;
  /** Bit-equality holds per plan, so the stored one is used again. */
  readonly plan: EnginePlan;
}

/**
 * @param place folder of a run, or its `weights/last.state`
 * @param epochs what the user asks for now; more than before extends the run
 * @throws DataError where there is no checkpoint, ConfigError where the run is complete
 */
export async function resumeRun(place: string, epochs?: number): Promise<ResumedRun> {
  const statePath = await findState(place);
  const stored = storedRun(await loadCheckpoint(statePath), statePath);
  const request = epochs === undefined ? stored.request : { ...stored.request, epochs };
  const planned = completeRequest(request).loop.epochs;
  if (stored.epoch >= planned) {
    throw new ConfigError(`${place}: this run is complete: ${stored.epoch} of ${planned} epochs are done`, {
      hint: `extend it with epochs=${planned * 2}, or train further from its weights/best.onnx as model=`,
    });
  }
  return { folder: dirname(dirname(statePath)), statePath, request, plan: stored.plan };
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
