// Distils a compact quality head from a trained one: runs the trained model over pictures, and teaches a small layer to say
// in a few channels what the law over bins says.
import { ConfigError, createRandom, DataError, deriveSeed, type PreprocessContract } from '#core';
import type { LabelledPicture } from '#data/datasets';
import type { CompactQuality, ModelProto, QualityLayer } from '#onnx';
import { qualitySource } from '#onnx';
import type { Provider } from '#runtime';
import { openFrozenPart } from '../features/frozen-part.ts';
import { allOf } from '../pictures/picture-source.ts';
import { loadPlainInto } from '../pictures/sample-drawer.ts';
import { type CellSample, createCellSample, FOREGROUND } from './cell-sample.ts';
import { type FitOptions, fitQuality, type LevelRows } from './fit-quality.ts';
import { createLawReader, TARGET_WIDTH } from './law-targets.ts';

export interface DistillRequest {
  /** As training wrote it. */
  readonly model: ModelProto;
  readonly preprocess: PreprocessContract;
  /** Not those that the result is judged on. Labels are not looked at. */
  readonly pictures: readonly LabelledPicture[];
  readonly form: CompactQuality;
  /**
   * `logits` (default): a hidden layer behind the trained quality layer. The law is a function of its logits and of
   * nothing else, so this can come close everywhere, on cameras that it never saw too. `features`: in the place of the
   * trained layer, without a hidden layer; cheaper by a few channels, and off by several times as much.
   */
  readonly reads?: 'logits' | 'features';
  /** Width of the hidden layer. Default 24. */
  readonly hidden?: number;
  /** Most pictures; more are thinned out evenly. Default 96. */
  readonly mostPictures?: number;
  /** Default 8000 (a quarter of a minute). */
  readonly steps?: number;
  readonly seed?: number;
  readonly provider?: Provider;
  /** Default 2. */
  readonly sessions?: number;
}

export interface DistillContext {
  readonly signal?: AbortSignal;
  readonly onProgress?: (stage: 'pictures' | 'fit', done: number, total: number) => void;
}

export interface DistilledHead {
  readonly layer: QualityLayer;
  readonly pictures: number;
  /** Cells with an expected quality above 0.02 that were learnt from, over all levels. */
  readonly cells: number;
  /** Root of the mean squared distance to the teacher's law (see `LAW_LOSSES`) at the end. */
  readonly distance: number;
}

const DEFAULTS = { hidden: 24, mostPictures: 96, steps: 8000, batch: 256, learningRate: 0.01 };

/** Kept cells of each level (or of all together), so that memory is bounded. */
const MOST_CELLS = 24_000;

/** Fewer cells than this say nothing about the many laws that a camera will bring. */
const LEAST_CELLS = 100;

/** How much a cell of the background counts. */
const BACKGROUND_WEIGHT = 0.3;

/**
 * Noise copies of every foreground cell and the spread of the noise on its logits. What the law of a row of logits is
 * needs no picture: copies are free teachers, and fill the gaps between the cells that the pictures gave.
 */
const COPIES = 3;
const NOISE = 0.4;

/**
 * @throws ModelError where the model has no law over bins of ours (see `findQuality`), DataError without pictures or where
 * too little is found in them, ConfigError for settings out of range, the reason of the signal
 */
export async function distillHead(
  request: DistillRequest,
  context: DistillContext = {},
): Promise<DistilledHead> {
  const { model, reads = 'logits', mostPictures = DEFAULTS.mostPictures, seed = 0 } = request;
  const source = qualitySource(model, reads);
  expectSettings(request, source.spec.locations);
  const pictures = thinned(request.pictures, mostPictures);
  const samples = await collect({ ...request, pictures, reads, seed }, source, context);
  const cells = samples.reduce((sum, { foreground }) => sum + foreground, 0);
  if (cells < LEAST_CELLS) {
    throw new DataError(
      `the model sees next to nothing in the ${pictures.length} pictures to distil on: ${cells} locations with a quality above ${FOREGROUND}, at least ${LEAST_CELLS} are needed`,
      { hint: 'give pictures like those that it was trained on (data=)' },
    );
  }
  const fitted = await fitAll({ ...request, reads, seed }, source, samples, context);
  return { ...fitted, pictures: pictures.length, cells };
}

type Source = ReturnType<typeof qualitySource>;
type Settled = DistillRequest & { readonly reads: 'logits' | 'features'; readonly seed: number };

function expectSettings(request: DistillRequest, locations: number): void {
  const { hidden = DEFAULTS.hidden, steps = DEFAULTS.steps, mostPictures = DEFAULTS.mostPictures } = request;
  for (const [key, value] of Object.entries({ hidden, steps, mostPictures })) {
    if (Number.isInteger(value) && value >= 1) continue;
    throw new ConfigError(`distillation: ${key} is ${value}`, { hint: 'expected a whole number from 1' });
  }
  if (request.reads === 'features' && locations > 1) {
    throw new ConfigError(
      `a layer on the features serves one location per cell, this head has ${locations}`,
      {
        hint: "distil with reads: 'logits'",
      },
    );
  }
  if (request.pictures.length === 0) {
    throw new DataError('there are no pictures to distil the head on', {
      hint: 'name a data set with data=: its training pictures are used, its labels are not',
    });
  }
}

function thinned<Item>(items: readonly Item[], most: number): readonly Item[] {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, place) => items[Math.floor((place * items.length) / most)]!);
}

/** Cells of all levels together where logits are read, else level by level. Rows: logits, then features. */
async function collect(
  { preprocess, pictures, reads, seed, provider = { kind: 'cpu' }, sessions = 2 }: Settled,
  { spec, picture, levels, part, tensors }: Source,
  { signal, onProgress }: DistillContext,
): Promise<readonly CellSample[]> {
  const { bins, locations, input } = spec;
  const widths = reads === 'logits' ? [bins] : levels.map(({ channels }) => bins + channels);
  const samples = widths.map((width, place) =>
    createCellSample(width, MOST_CELLS, deriveSeed(seed, 1, place)),
  );
  const reader = createLawReader(bins);
  const frozen = await openFrozenPart({
    model: part,
    inputName: picture,
    input,
    features: tensors,
    provider,
    sessions,
  });
  try {
    for (let first = 0; first < pictures.length; first += frozen.parallel) {
      signal?.throwIfAborted();
      const found = await allOf(pictures.slice(first, first + frozen.parallel), (one) =>
        frozen.extract((target) => loadPlainInto(target, one, { input, preprocess })),
      );
      // In the order of the pictures, so that the sample does not depend on which session was faster.
      for (const { features } of found) offerPicture(features);
      onProgress?.('pictures', Math.min(first + frozen.parallel, pictures.length), pictures.length);
    }
  } finally {
    await frozen.close();
  }
  return samples;

  function offerPicture(maps: readonly Float32Array[]): void {
    levels.forEach(({ channels }, level) => {
      const { columns, rows } = spec.levels[level]!;
      const cells = columns * rows;
      const logits = maps[reads === 'logits' ? level : 2 * level]!;
      const features = reads === 'logits' ? undefined : maps[2 * level + 1]!;
      const sample = samples[reads === 'logits' ? 0 : level]!;
      for (let at = 0; at < locations * cells; at++) {
        const offset = Math.floor(at / cells) * bins * cells + (at % cells);
        sample.offer(reader.mean(logits, offset, cells), (target, start) => {
          for (let bin = 0; bin < bins; bin++) target[start + bin] = logits[offset + bin * cells]!;
          if (!features) return;
          for (let channel = 0; channel < channels; channel++) {
            target[start + bins + channel] = features[channel * cells + at]!;
          }
        });
      }
    });
  }
}

async function fitAll(
  request: Settled,
  { spec, levels }: Source,
  samples: readonly CellSample[],
  { signal, onProgress }: DistillContext,
): Promise<Pick<DistilledHead, 'layer' | 'distance'>> {
  const { form, reads, seed, hidden = DEFAULTS.hidden, steps = DEFAULTS.steps } = request;
  const options = (place: number): FitOptions => ({
    form,
    hidden: reads === 'logits' ? hidden : 0,
    steps,
    batch: DEFAULTS.batch,
    learningRate: DEFAULTS.learningRate,
    seed: deriveSeed(seed, 2, place),
    ...(signal && { signal }),
    onStep: (step) => onProgress?.('fit', place * steps + step, samples.length * steps),
  });
  const fits = [];
  for (const [place, sample] of samples.entries()) {
    const rows =
      reads === 'logits'
        ? logitRows(sample, spec.bins, deriveSeed(seed, 3))
        : featureRows(sample, spec.bins, levels[place]!.channels);
    fits.push(await fitQuality(rows, options(place)));
  }
  const distance = Math.sqrt(fits.reduce((sum, { loss }) => sum + loss, 0) / fits.length);
  const [first] = fits;
  if (first?.network.hidden) {
    const { hidden: units, output } = first.network;
    return { layer: { reads: 'logits', hidden: units, output }, distance };
  }
  return { layer: { reads: 'features', levels: fits.map(({ network }) => network.output) }, distance };
}

function logitRows(sample: CellSample, bins: number, seed: number): LevelRows {
  const { foreground, background } = sample;
  const random = createRandom(seed);
  const kept = sample.rows();
  const count = foreground * (1 + COPIES) + background;
  const features = new Float32Array(count * bins);
  features.set(kept);
  for (let at = kept.length; at < features.length; at++) {
    const original = (at - kept.length) % (foreground * bins);
    features[at] = kept[original]! + NOISE * random.normal();
  }
  return withTargets({ count, channels: bins, features }, { logits: features, width: bins, bins });
}

function featureRows(sample: CellSample, bins: number, channels: number): LevelRows {
  const kept = sample.rows();
  const width = bins + channels;
  const count = kept.length / width;
  const features = new Float32Array(count * channels);
  for (let row = 0; row < count; row++) {
    features.set(kept.subarray(row * width + bins, (row + 1) * width), row * channels);
  }
  return withTargets({ count, channels, features }, { logits: kept, width, bins });
}

function withTargets(
  rows: Pick<LevelRows, 'count' | 'channels' | 'features'>,
  { logits, width, bins }: { readonly logits: Float32Array; readonly width: number; readonly bins: number },
): LevelRows {
  const reader = createLawReader(bins);
  const targets = new Float32Array(rows.count * TARGET_WIDTH);
  const weights = new Float32Array(rows.count);
  for (let row = 0; row < rows.count; row++) {
    const at = TARGET_WIDTH * row;
    reader.targetInto(targets, at, { logits, offset: row * width, stride: 1 });
    weights[row] = targets[at]! > FOREGROUND ? 1 : BACKGROUND_WEIGHT;
  }
  return { ...rows, targets, weights };
}
