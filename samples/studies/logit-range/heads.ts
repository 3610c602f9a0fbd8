// The heads of one seed: a reference trained on one light, and what adapting it does under each way of holding its logits.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DataError } from 'edge-detect/core';
import type { LabelledPicture } from 'edge-detect/data';
import { chooseEngine, type TrainRequest, trainDetector } from 'edge-detect/training';

/** Class losses: plain cross entropy, as the note has it, and the product's default. */
export type ClassLossName = 'ce' | 'bsceGra';

/** What `training` does about the logits while it adapts. */
export const TRAINED_WAYS = ['none', 'zs-norm', 'penalty', 'logitnorm'] as const;
export type TrainedWay = (typeof TRAINED_WAYS)[number];

/** Temperature of LogitNorm, as its paper has it. */
export const LOGIT_NORM_TEMPERATURE = 0.04;

export interface TrainingSetting {
  readonly model: string;
  readonly classNames: readonly string[];
  readonly epochs: number;
  readonly adaptEpochs: number;
  readonly variants: number;
  readonly batch: number;
  readonly cacheFolder: string;
  readonly signal: AbortSignal;
  readonly onNote: (text: string) => void;
}

export interface TrainedHead {
  readonly path: string;
  readonly seconds: number;
  /** CPU time of the whole program meanwhile. */
  readonly cpuSeconds: number;
}

interface HeadRequest {
  readonly pictures: readonly LabelledPicture[];
  readonly loss: ClassLossName;
  readonly seed: number;
  /** Made, and emptied first. */
  readonly folder: string;
}

/** Adapter, quality law and class layer on the frozen host; boxes stay the host's, so all heads share them. */
export function trainReference(setting: TrainingSetting, request: HeadRequest): Promise<TrainedHead> {
  return trainHead(setting, request, {
    model: setting.model,
    epochs: setting.epochs,
    classLoss: request.loss,
  });
}

/** The same head, trained on: learning rate, schedule and options are those of `train`. */
export function adaptHead(
  setting: TrainingSetting,
  request: HeadRequest & { readonly reference: string; readonly way: TrainedWay },
): Promise<TrainedHead> {
  const { loss, way, reference } = request;
  return trainHead(setting, request, {
    model: reference,
    epochs: setting.adaptEpochs,
    classLoss: loss,
    ...((way === 'zs-norm' || way === 'penalty') && { logitRange: way }),
    ...(way === 'logitnorm' && {
      criterion: { classification: { kind: loss, gamma: 2, beta: 2, logitNorm: LOGIT_NORM_TEMPERATURE } },
    }),
  });
}

async function trainHead(
  { classNames, batch, variants, cacheFolder, signal, onNote }: TrainingSetting,
  { pictures, seed, folder }: HeadRequest,
  request: Pick<TrainRequest, 'model'> & Partial<TrainRequest>,
): Promise<TrainedHead> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const data = await writeData(folder, classNames, pictures);
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  let path: string | undefined;
  // One plan for all machines: weights are equal bit by bit within a plan, and none is timed.
  const events = trainDetector(
    { data, batch, variants, seed, freezeBox: true, patience: 0, ...request },
    {
      folder,
      cacheFolder,
      signal,
      openEngine: async (part, size) =>
        (await chooseEngine({ engine: 'onnx', device: { kind: 'cpu' }, threads: 2 }, part, size)).engine,
    },
  );
  for await (const event of events) {
    if (event.type === 'note') onNote(event.text);
    if (event.type === 'finished') path = event.files.lastPath;
  }
  if (path === undefined) {
    throw new DataError(`${data}: the training ended without a model`, { hint: 'look at its notes above' });
  }
  const { user, system } = process.cpuUsage(cpu);
  return { path, seconds: (performance.now() - started) / 1000, cpuSeconds: (user + system) / 1e6 };
}

/** Without a val split: nothing is chosen by pictures that judge. */
async function writeData(
  folder: string,
  classNames: readonly string[],
  pictures: readonly LabelledPicture[],
): Promise<string> {
  await writeFile(join(folder, 'train.txt'), pictures.map(({ path }) => `${path}\n`).join(''));
  const file = join(folder, 'data.yaml');
  const names = classNames.map((name) => JSON.stringify(name)).join(', ');
  await writeFile(file, `path: .\ntrain: train.txt\nnames: [${names}]\n`);
  return file;
}
