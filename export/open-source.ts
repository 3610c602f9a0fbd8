// The model that an export starts from: float32, in one file, its head and its preprocessing understood.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ConfigError, type PreprocessContract, type Size } from '#core';
import type { HeadFinding, ModelMetadata, ModelProto, OnnxModelFile, PictureInput, TapPlan } from '#onnx';
import {
  dequantise,
  describeSals,
  embedExternalData,
  isHalfPrecision,
  isQuantised,
  loadModelFile,
  nameFile,
  ownFormat,
  serialize,
  toFloat32,
  withSals,
} from '#onnx';
import { openModel, writeWholeFile } from '#runtime';
import type { GateModelOptions } from './gate/gate-predictions.ts';
import type { ExportRequest } from './settings.ts';

export interface ExportSource {
  /** As the user named it. */
  readonly file: OnnxModelFile;
  /** Float32, weights inside. */
  readonly model: ModelProto;
  /** Path of a file with `model`: what the gate holds the export against. */
  readonly path: string;
  readonly metadata: ModelMetadata;
  readonly input: PictureInput;
  readonly inputSize: Size;
  readonly batch: number;
  readonly finding: HeadFinding;
  readonly taps: TapPlan;
  readonly contract: PreprocessContract;
  readonly classNames: readonly string[];
  /** It came out of an export with its decoding inside. */
  readonly isDecoded: boolean;
  /** What was done to come to float32, and what was taken for granted. */
  readonly notes: readonly string[];
  /** Opens the reference as the user described it. */
  readonly options: GateModelOptions;
  /** Scratch for everything that is not the result. */
  readonly folder: string;
}

/**
 * Runs `use` with the opened source; its scratch folder is gone afterwards.
 * @throws ModelError where the file is no detector known here, or cannot be brought to float32
 */
export async function withExportSource<T>(
  request: ExportRequest,
  use: (source: ExportSource) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'edge-detect-export-'));
  try {
    return await use(await openSource(request, folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function openSource(request: ExportRequest, folder: string): Promise<ExportSource> {
  const file = await loadModelFile(request.model);
  const whole = await embedExternalData(file);
  const { model: floats, notes } = isQuantised(whole) ? dequantise(whole) : { model: whole, notes: [] };
  const isHalf = isHalfPrecision(floats);
  const single = isHalf ? toFloat32(floats) : floats;
  const scaled = request.sals === undefined ? undefined : await scaleLogits(single, request);
  const model = scaled?.model ?? single;
  const path = model === file.model ? request.model : join(folder, basename(request.model));
  if (path !== request.model) await writeWholeFile(path, serialize(model));
  const options: GateModelOptions = {
    ...(request.imageSize && { imageSize: request.imageSize }),
    ...(request.layout && { layout: request.layout }),
    ...(request.preprocess !== undefined && { preprocess: request.preprocess }),
    ...(request.classNames && { classNames: request.classNames }),
    ...(request.threads !== undefined && { threads: request.threads }),
  };
  const open = await openModel(path, options);
  await Promise.all(open.sessions.map((session) => session.close()));
  return {
    file,
    model,
    path,
    metadata: open.metadata,
    input: open.input,
    inputSize: open.inputSize,
    batch: open.batchSize,
    finding: open.finding,
    taps: open.taps,
    contract: open.preprocess.contract,
    classNames: open.classNames,
    isDecoded: ownFormat(open.metadata)?.decoded === true,
    notes: [
      ...notes,
      ...(scaled ? [scaled.note] : []),
      ...(isHalf ? ['float16 weights were widened to float32, which changes nothing'] : []),
      ...open.assumed,
    ],
    options,
    folder,
  };
}

/** The gate holds the export against the scaled model: what scaling changes is the user's choice and no fault. */
async function scaleLogits(
  model: ModelProto,
  { sals, reference, model: path }: ExportRequest,
): Promise<{ readonly model: ModelProto; readonly note: string }> {
  if (reference !== undefined) {
    throw new ConfigError('sals= and another head= cannot go into one export', {
      hint: 'export with sals= first, and then that file with head=',
    });
  }
  const before = sals === 'ceilings' || sals === undefined ? undefined : await loadModelFile(sals.before);
  try {
    const scaled = withSals(model, {
      reference: before
        ? { kind: 'frozen-layer', before: before.model, sha256: before.sha256 }
        : { kind: 'ceilings' },
    });
    return { model: scaled.model, note: describeSals(scaled.record) };
  } catch (error) {
    throw nameFile(path, error);
  }
}

/** What a manifest says of a file. */
export async function fileFacts(
  file: OnnxModelFile | string,
): Promise<{ readonly name: string; readonly sha256: string }> {
  const { path, sha256 } = typeof file === 'string' ? await loadModelFile(file) : file;
  return { name: basename(path), sha256 };
}
