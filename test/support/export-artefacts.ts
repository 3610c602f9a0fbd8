// One file of every form that `export` writes, for those who must be able to read it: a checker, older runtimes.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRandom } from '#core';
import { type ExportRequest, type ExportSettings, exportModel } from '#export';
import {
  COMPACT_CHANNELS,
  type DenseLayer,
  findQuality,
  loadModelFile,
  ownFormat,
  type QualityLayer,
  readMetadata,
  serialize,
  withQualityForm,
  withSals,
} from '#onnx';
import { writeStreetSet } from './street-set.ts';
import { type HostFamily, tinyHost } from './tiny-hosts.ts';

const SAMPLE = fileURLToPath(new URL('../../samples/model/edge-n-street.onnx', import.meta.url));
const HIDDEN = 24;

const PLAIN: ExportSettings = {
  format: 'onnx',
  precision: 'float32',
  decode: false,
  boxVariance: 'auto',
  uint8: false,
  opset: 17,
};
const INT8 = { method: 'percentile', weightBits: 8 } as const;
const CPU = { precision: 'int8', quantise: { ...INT8, placement: 'cpu' } } as const;
const TENSORRT = { precision: 'int8', quantise: { ...INT8, placement: 'tensorrt' } } as const;
const DEEPSTREAM = { format: 'deepstream', decode: true } as const;
const HALF = { precision: 'float16' } as const;

/** Of our own detector. */
const OWN: Readonly<Record<string, Partial<ExportSettings>>> = {
  float32: {},
  uint8: { uint8: true },
  topk: { topAnchors: 100 },
  half: HALF,
  'half-uint8-topk': { ...HALF, uint8: true, topAnchors: 100 },
  'int8-cpu': CPU,
  'int8-cpu-uint8': { ...CPU, uint8: true },
  'int8-tensorrt': TENSORRT,
  deepstream: DEEPSTREAM,
  'deepstream-half-topk': { ...DEEPSTREAM, ...HALF, topAnchors: 100 },
};

/** Of detectors as others build them. */
const STOCK: Readonly<Record<string, Partial<ExportSettings>>> = {
  decoded: { decode: true },
  'decoded-uint8-topk': { decode: true, uint8: true, topAnchors: 20 },
  'decoded-half': { ...HALF, decode: true },
  'int8-cpu': CPU,
  deepstream: DEEPSTREAM,
};

const FAMILIES: readonly HostFamily[] = ['yolox', 'nanodet', 'yolov5', 'yolov8'];

export interface Artefact {
  /** What it is, such as `own-half`. */
  readonly name: string;
  readonly path: string;
}

/** Exports everything into the folder; what a gate would say of weights that are random is passed over. */
export async function writeArtefacts(folder: string): Promise<readonly Artefact[]> {
  const hours = { hours: ['day'], cameras: 1, pictures: 1 } as const;
  const street = await writeStreetSet(join(folder, 'street'), hours);
  const frames = { sources: [street.images], most: 1 };
  const artefacts: Artefact[] = [];
  const write = async (name: string, model: string, settings: Partial<ExportSettings>, more = {}) => {
    // A folder of its own: DeepStream's files have one name.
    const path = join(folder, name, `${name}.onnx`);
    await mkdir(join(folder, name));
    await exportModel({
      model,
      settings: { ...PLAIN, ...settings },
      pictures: { kind: 'frames', ...frames },
      calibration: frames,
      force: true,
      threads: 1,
      out: path,
      ...more,
    } satisfies ExportRequest);
    artefacts.push({ name, path });
  };
  for (const [form, settings] of Object.entries(OWN)) await write(`own-${form}`, SAMPLE, settings);
  const scaled = await scaledLogits(folder);
  await write('own-sals', scaled, {});
  for (const [form, model] of await compactHeads(folder)) {
    await write(`own-${form}`, model, {});
    await write(`own-${form}-half`, model, HALF);
  }
  for (const [family, model] of await hosts(folder)) {
    const more = { classNames: ['a', 'b', 'c'] };
    for (const [form, settings] of Object.entries(STOCK))
      await write(`${family}-${form}`, model, settings, more);
  }
  // It chooses its rows itself, from one picture: not for DeepStream, which feeds several.
  const endToEnd = join(folder, 'hosts', 'yolo26.onnx');
  await writeFile(endToEnd, serialize(tinyHost('yolo26')));
  for (const form of ['decoded', 'int8-cpu']) await write(`yolo26-${form}`, endToEnd, STOCK[form] ?? {});
  return artefacts;
}

/** Weights of the distilled layer are random: who reads the graph does not mind. */
async function compactHeads(folder: string): Promise<readonly [string, string][]> {
  const { model } = await loadModelFile(SAMPLE);
  const { bins } = findQuality(model).spec;
  const gaussians: QualityLayer = {
    reads: 'logits',
    hidden: dense(bins, HIDDEN),
    output: dense(HIDDEN, COMPACT_CHANNELS['two-gaussian']),
  };
  await mkdir(join(folder, 'heads'));
  const written: [string, string][] = [];
  for (const form of ['plain', 'mean-variance', 'two-gaussian'] as const) {
    const layer: QualityLayer = form === 'two-gaussian' ? gaussians : { reads: 'law' };
    const path = join(folder, 'heads', `${form}.onnx`);
    await writeFile(path, serialize(withQualityForm(model, { form, layer })));
    written.push([form, path]);
  }
  return written;
}

async function scaledLogits(folder: string): Promise<string> {
  const { model } = await loadModelFile(SAMPLE);
  const names = ownFormat(readMetadata(model))?.classes ?? [];
  const classes = Object.fromEntries(names.map((name) => [name, { least: -9, greatest: 2, positives: 100 }]));
  const stored = { statistic: 'made up', classes };
  const path = join(folder, 'scaled.onnx');
  await writeFile(path, serialize(withSals(model, { reference: { kind: 'ceilings', stored } }).model));
  return path;
}

async function hosts(folder: string): Promise<readonly [string, string][]> {
  await mkdir(join(folder, 'hosts'));
  const written: [string, string][] = [];
  for (const family of FAMILIES) {
    const path = join(folder, 'hosts', `${family}.onnx`);
    await writeFile(path, serialize(tinyHost(family)));
    written.push([family, path]);
  }
  return written;
}

function dense(inputs: number, outputs: number): DenseLayer {
  const random = createRandom(inputs);
  const weight = Float32Array.from({ length: inputs * outputs }, () => 0.1 * random.normal());
  return { inputs, outputs, weight, bias: new Float32Array(outputs) };
}
