// `export head=`: the form in which a model of ours says its quality, made before the passes of the export see it. Export
// itself knows nothing of training; here the two are put together.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ConfigError, ModelError } from '#core';
import { loadDataset } from '#data/datasets';
import { chooseSplit, otherSplit } from '#evaluate';
import type { ExportContext, ExportRequest } from '#export';
import {
  type CompactQuality,
  findQuality,
  loadModelFile,
  nameFile,
  type OnnxModelFile,
  ownFormat,
  type QualityForm,
  type QualityLayer,
  readMetadata,
  serialize,
  withQualityForm,
} from '#onnx';
import { writeWholeFile } from '#runtime';
import type { Config } from './config.ts';

/**
 * Runs `use` with the request as it is, or with one for a file whose head has the form that `head=` names and with the
 * original as its reference; that file is gone afterwards. Two Gaussians are distilled on pictures that the gate does not
 * see; mean and variance, and plain scores, are read off the trained law and need none.
 * @throws ConfigError where pictures are needed and there are none, ModelError where the model has no law of ours
 */
export async function withChosenHead<T>(
  config: Config,
  request: ExportRequest,
  context: ExportContext,
  use: (request: ExportRequest) => Promise<T>,
): Promise<T> {
  const form = config.text('head') as QualityForm | undefined;
  if (form === undefined) return use(request);
  const file = await loadModelFile(request.model);
  if (ownFormat(readMetadata(file.model))?.quality === form) return use(request);
  inFile(file, () => findQuality(file.model));
  if (form === 'distribution') return use(request);
  const folder = await mkdtemp(join(tmpdir(), 'edge-detect-head-'));
  try {
    const path = join(folder, basename(request.model));
    await writeWholeFile(path, serialize(await inForm(file, form, request, context)));
    return await use({
      ...request,
      model: path,
      reference: request.reference ?? request.model,
      settings: { ...request.settings, head: form },
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function inFile<T>({ path }: OnnxModelFile, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof ModelError ? nameFile(path, error) : error;
  }
}

async function inForm(
  file: OnnxModelFile,
  form: CompactQuality,
  request: ExportRequest,
  context: ExportContext,
) {
  const from = { name: basename(file.path), sha256: file.sha256 };
  const { layer, facts } =
    form === 'two-gaussian'
      ? await distilled(file, form, request, context)
      : { layer: { reads: 'law' } satisfies QualityLayer, facts: {} };
  return withQualityForm(file.model, { form, layer, record: { from, ...facts } });
}

async function distilled(
  file: OnnxModelFile,
  form: CompactQuality,
  request: ExportRequest,
  { signal, onStage }: ExportContext,
) {
  const { split, pictures } = await picturesFor(form, request);
  const { distillHead } = await import('#training');
  const { layer, ...facts } = await distillHead(
    { model: file.model, preprocess: findQuality(file.model).spec.preprocess, pictures, form },
    {
      ...(signal && { signal }),
      onProgress: (stage, done, total) => onStage?.(`distillation: ${stage}`, done, total),
    },
  );
  return { layer, facts: { split, ...facts } };
}

/** A split that the gate does not judge on, train first: the head must hold on pictures that it did not learn from. */
async function picturesFor(form: CompactQuality, { pictures }: ExportRequest) {
  if (pictures.kind !== 'labelled') {
    throw new ConfigError(`head=${form} is distilled on pictures, and there are none`, {
      hint: 'name a data set with data=: it learns from its training pictures and is judged on the others',
    });
  }
  const dataset = await loadDataset(pictures.data);
  const judged = chooseSplit(dataset, pictures.split).split;
  const split = otherSplit(dataset, judged);
  if (split !== undefined) return { split, pictures: dataset.splits[split] ?? [] };
  throw new ConfigError(
    `${pictures.data} has only the split ${judged}, on which the export is judged: nothing is left to distil head=${form} on`,
    { hint: 'give a data set with train and val' },
  );
}
