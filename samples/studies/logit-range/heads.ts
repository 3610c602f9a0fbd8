// The heads of one seed: a reference trained on one light, and what adapting it does under each way of holding its logits.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LabelledPicture } from 'edge-detect/data';
import type { TrainRequest } from 'edge-detect/training';
import { type LastModel, trainLast } from '../common/train-last.ts';

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

interface HeadRequest {
  readonly pictures: readonly LabelledPicture[];
  readonly loss: ClassLossName;
  readonly seed: number;
  /** Made, and emptied first. */
  readonly folder: string;
}

/** Adapter, quality law and class layer on the frozen host; boxes stay the host's, so all heads share them. */
export function trainReference(setting: TrainingSetting, request: HeadRequest): Promise<LastModel> {
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
): Promise<LastModel> {
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
): Promise<LastModel> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const data = await writeData(folder, classNames, pictures);
  return trainLast(
    { data, batch, variants, seed, freezeBox: true, patience: 0, ...request },
    { folder, cacheFolder, signal, onNote },
  );
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
