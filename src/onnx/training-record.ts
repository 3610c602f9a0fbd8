// What a model of ours says about the set that it was trained on, in its metadata key `edge_detect`.
import { basename, dirname, join, resolve } from 'node:path';
import { ownFormat } from './head-finder/own-format.ts';
import type { ModelMetadata } from './metadata.ts';

/** Which set, and nothing of the machine that it lies on: `street/data.yaml`. */
export function setName(data: string): string {
  return join(basename(dirname(resolve(data))), basename(data));
}

/** @returns name of the set as `setName` gives it; undefined where the model is not ours or does not say */
export function trainedOn(metadata: ModelMetadata): string | undefined {
  if (ownFormat(metadata) === undefined) return undefined;
  const { training } = JSON.parse(metadata.edgeDetect ?? '') as {
    readonly training?: { readonly data?: unknown };
  };
  return typeof training?.data === 'string' ? training.data : undefined;
}
