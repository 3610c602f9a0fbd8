// One training of a study: a head on the cached features of a frozen host, judged after its last epoch. No epoch is
// chosen by the held-out cameras.
import { mkdir } from 'node:fs/promises';
import { DataError } from 'edge-detect/core';
import type { Predictions } from 'edge-detect/evaluate';
import { chooseEngine, type TrainRequest, trainDetector, type ValidationResult } from 'edge-detect/training';
import type { HeldOut, HoldOutOptions } from './hold-out.ts';

export interface ArmOptions extends HoldOutOptions {
  /** ONNX file of the frozen host. */
  readonly model: string;
  readonly epochs: number;
  readonly batch: number;
  /** Augmented variants of every training picture in the cache, beside the picture as it is. */
  readonly variants: number;
}

/** What differs from the default head of a training. */
export interface Arm {
  readonly name: string;
  readonly text: string;
  readonly request: Partial<TrainRequest>;
}

export interface TrainedArm {
  /** What it was trained with. */
  readonly options: ArmOptions;
  /** Validation after the last epoch. */
  readonly validation: ValidationResult;
  readonly predictions: Predictions;
  /** The detector of the last epoch. */
  readonly modelPath: string;
  /** From the first step to the last validation; features are cached before. */
  readonly seconds: number;
  readonly cachingSeconds: number;
}

export interface ArmContext {
  readonly options: ArmOptions;
  readonly heldOut: HeldOut;
  readonly seed: number;
  /** For this run alone. */
  readonly folder: string;
  readonly cacheFolder: string;
  readonly signal: AbortSignal;
  readonly onNote: (text: string) => void;
}

/** @throws DataError, ModelError, ConfigError as the training; the reason of the signal */
export async function trainArm(arm: Arm, context: ArmContext): Promise<TrainedArm> {
  const { options, heldOut, folder, cacheFolder, signal, onNote } = context;
  await mkdir(folder, { recursive: true });
  const begun = performance.now();
  let started = begun;
  let validation: ValidationResult | undefined;
  let modelPath = '';
  const events = trainDetector(requestOf(arm, context), {
    folder,
    cacheFolder,
    signal,
    openEngine: async (part, batch) =>
      (await chooseEngine({ engine: 'auto', device: 'auto' }, part, batch)).engine,
  });
  for await (const event of events) {
    if (event.type === 'note') onNote(event.text);
    if (event.type === 'started') started = performance.now();
    if (event.type === 'epoch') validation = event.validation ?? validation;
    if (event.type === 'finished') modelPath = event.files.lastPath;
  }
  if (validation === undefined) {
    throw new DataError(`${heldOut.file}: nothing was validated`, { hint: 'hold out groups with pictures' });
  }
  const { classNames } = heldOut;
  return {
    options,
    validation,
    predictions: { classNames, pictures: validation.predictions },
    modelPath,
    seconds: (performance.now() - started) / 1000,
    cachingSeconds: (started - begun) / 1000,
  };
}

function requestOf({ request }: Arm, { options, heldOut, seed }: ArmContext): TrainRequest {
  return {
    data: heldOut.file,
    model: options.model,
    epochs: options.epochs,
    batch: options.batch,
    variants: options.variants,
    seed,
    // The boxes are the host's, so that only scores and classes differ, unless an arm says otherwise.
    freezeBox: true,
    patience: 0,
    singleClass: options.classes === 'one',
    ...request,
  };
}
