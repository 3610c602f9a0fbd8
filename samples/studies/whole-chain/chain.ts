// From a frozen host to the last file, by the same calls as `train`, `calibrate` and `export head=two-gaussian` make.
import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { calibrateModel, writeCalibrator } from 'edge-detect/evaluate';
import { type ExportSettings, exportModel, type ModelManifest, type Precision } from 'edge-detect/export';
import { findQuality, loadModelFile, serialize, withQualityForm } from 'edge-detect/onnx';
import { writeWholeFile } from 'edge-detect/runtime';
import { distillHead } from 'edge-detect/training';
import { type LastModel, trainLast } from '../common/train-last.ts';
import { type ChainParts, type PartFiles, thinned } from './parts.ts';

export interface ChainSetting {
  /** ONNX file of the host. */
  readonly model: string;
  readonly epochs: number;
  readonly variants: number;
  readonly batch: number;
  /** Of the exported files; float32 is always among them. */
  readonly precisions: readonly Precision[];
  readonly cacheFolder: string;
  readonly signal: AbortSignal;
  readonly onNote: (text: string) => void;
}

/** From the widest to the narrowest. */
export const EXPORTED = ['float32', 'float16', 'int8'] as const satisfies readonly Precision[];

export interface ExportedFile {
  readonly path: string;
  readonly gate: ModelManifest['gate'];
  readonly bytes: number;
}

export interface Chain {
  /** The trained head with its full law, no calibrator. */
  readonly trained: string;
  readonly calibrated: string;
  /** Two Gaussians, by the precision of the file. Written even where the gate refused: its verdict stands beside. */
  readonly exported: ReadonlyMap<Precision, ExportedFile>;
  /** Root of the mean squared distance between the laws of the two heads where it was distilled. */
  readonly distance: number;
  /** Of the training, features included. */
  readonly seconds: number;
  readonly cpuSeconds: number;
}

export interface ChainRequest {
  readonly parts: ChainParts;
  readonly files: PartFiles;
  readonly seed: number;
  readonly folder: string;
}

const ONE_CLASS = { singleClass: true } as const;
const MOST_RANGE_PICTURES = 48;

/** @throws DataError, ModelError as the steps; the reason of the signal */
export async function buildChain(setting: ChainSetting, request: ChainRequest): Promise<Chain> {
  await mkdir(request.folder, { recursive: true });
  const { path: trained, seconds, cpuSeconds } = await trainHead(setting, request);
  return { trained, seconds, cpuSeconds, ...(await finishChain(trained, request, setting)) };
}

/** What follows the training: calibrator, two Gaussians, and the files of each precision. */
export async function finishChain(
  trained: string,
  request: ChainRequest,
  { precisions, signal }: Pick<ChainSetting, 'precisions' | 'signal'>,
): Promise<Pick<Chain, 'calibrated' | 'exported' | 'distance'>> {
  const { folder, files } = request;
  await mkdir(folder, { recursive: true });
  const calibrated = join(folder, 'calibrated.onnx');
  const fitted = { data: files.exporting, split: 'train', matching: ONE_CLASS, resamples: 0 } as const;
  await writeCalibrator(await calibrateModel({ model: trained, ...fitted, out: calibrated }, { signal }));
  const compact = join(folder, 'two-gaussian.onnx');
  const distance = await distil(calibrated, compact, request, signal);
  const exported = new Map<Precision, ExportedFile>();
  for (const precision of precisions) {
    const paths = { model: compact, reference: calibrated, out: join(folder, `last-${precision}.onnx`) };
    exported.set(precision, await exportAs(precision, paths, request, signal));
  }
  return { calibrated, distance, exported };
}

/** The defaults of `train`; one class. */
async function trainHead(
  { model, epochs, variants, batch, cacheFolder, signal, onNote }: ChainSetting,
  { files, seed, folder }: ChainRequest,
): Promise<LastModel> {
  const run = join(folder, 'run');
  await mkdir(run, { recursive: true });
  return trainLast(
    { data: files.training, model, epochs, variants, batch, seed, patience: 0, singleClass: true },
    { folder: run, cacheFolder, signal, onNote },
  );
}

/** On the pictures that the gate does not see, as `export` does it. */
async function distil(
  from: string,
  to: string,
  { parts, seed }: ChainRequest,
  signal: AbortSignal,
): Promise<number> {
  const { model, sha256 } = await loadModelFile(from);
  const { layer, distance, cells } = await distillHead(
    {
      model,
      preprocess: findQuality(model).spec.preprocess,
      pictures: parts.fit.map(({ picture }) => picture),
      form: 'two-gaussian',
      seed,
    },
    { signal },
  );
  const record = { from: { name: basename(from), sha256 }, cells, distance };
  await writeWholeFile(to, serialize(withQualityForm(model, { form: 'two-gaussian', layer, record })));
  return distance;
}

async function exportAs(
  precision: Precision,
  paths: { readonly model: string; readonly reference: string; readonly out: string },
  { parts, files }: ChainRequest,
  signal: AbortSignal,
): Promise<ExportedFile> {
  const settings: ExportSettings = {
    format: 'onnx',
    precision,
    ...{ decode: false, boxVariance: 'auto', uint8: false, opset: 17, head: 'two-gaussian' },
    ...(precision === 'int8' && { quantise: { placement: 'cpu', method: 'auto', weightBits: 7 } }),
  };
  const ranges = thinned(
    parts.fit.map(({ picture }) => picture.path),
    MOST_RANGE_PICTURES,
  );
  const exported = await exportModel(
    {
      ...paths,
      settings,
      pictures: { kind: 'labelled', data: files.exporting, split: 'val', matching: ONE_CLASS },
      ...(precision !== 'float32' && { calibration: { sources: ranges, most: ranges.length } }),
      force: true,
    },
    { signal },
  );
  return { path: exported.paths.model, gate: exported.manifest.gate, bytes: exported.bytes };
}
