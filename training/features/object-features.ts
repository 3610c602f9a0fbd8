// What a frozen host sees of every labelled object: its features at the anchor that answers for the object best. With
// them a class layer can be studied in seconds, without training a detector.
import { DataError } from '#core';
import type { LabelledPicture } from '#data/datasets';
import type { HeadedModel, TrainablePart } from '#onnx';
import { type AnchorGrid, createAnchorGrid, levelOf } from '../assign/anchor-grid.ts';
import { createPredictionReader, type PredictionReader } from '../assign/predictions.ts';
import { ASSIGNER_DEFAULTS, type Assigner, createTaskAlignedAssigner } from '../assign/task-aligned.ts';
import { dropoutMasks } from '../dropout.ts';
import type { Engine, Tensors } from '../engines/engine.ts';
import { initialValues } from '../initial-values.ts';
import { openHost } from '../open-host.ts';
import { completeRequest, isScratch } from '../options.ts';
import type { ValidationBatch } from '../pictures/batch-source.ts';
import { createFeatureSource } from './feature-source.ts';

export interface ObjectFeaturesRequest {
  /** ONNX file of the host. */
  readonly model: string;
  readonly classNames: readonly string[];
  readonly pictures: readonly LabelledPicture[];
}

export interface ObjectFeaturesContext {
  readonly openEngine: (part: TrainablePart, batch: number) => Promise<Engine>;
  readonly signal?: AbortSignal;
}

/** One row per object that an anchor answers for; objects that others cover whole have none. */
export interface ObjectFeatures {
  /** C, features of a row: all channels at the freeze boundary of the anchor's level. */
  readonly width: number;
  /** Float32[N * C] */
  readonly features: Float32Array;
  /** Int32[N], class ids. */
  readonly labels: Int32Array;
  /** Int32[N], places in the request's `pictures`. */
  readonly pictures: Int32Array;
}

const BATCH = 8;

/**
 * The anchors are those that training would assign before its first step, with the boxes of the host.
 * @throws DataError without an object; ModelError, DeviceError as a training
 */
export async function objectFeatures(
  { model, classNames, pictures }: ObjectFeaturesRequest,
  { openEngine, signal }: ObjectFeaturesContext,
): Promise<ObjectFeatures> {
  if (isScratch(model)) {
    throw new DataError(`${model}: a network without weights has no features`, {
      hint: 'name the ONNX file of a trained host',
    });
  }
  const options = completeRequest({ data: '', model });
  const { headed } = await openHost(options, classNames);
  const { spec, trainable, frozen, pictureInput } = headed;
  if (frozen === undefined) throw new Error('a host that is cut at its towers has a frozen part');
  const engine = await openEngine(trainable, BATCH);
  const source = await createFeatureSource({
    training: [],
    validation: pictures,
    input: spec.input,
    preprocess: spec.preprocess,
    batchSize: BATCH,
    seed: 0,
    inputName: pictureInput,
    frozen,
    features: trainable.inputs.filter(({ kind }) => kind === 'features'),
    augment: options.augment,
    ...(signal && { signal }),
  });
  try {
    const values = initialValues(trainable);
    const collector = createCollector(headed);
    let first = 0;
    for await (const batch of source.validation(signal ? { signal } : {})) {
      const inputs: Tensors = new Map([...batch.inputs, ...dropoutMasks(trainable, batch.names.length, 0)]);
      // The engine may move the inputs to a worker: what is read from them later must be a copy.
      const kept = new Map(
        [...batch.inputs].map(([name, { shape, data }]) => [name, { shape, data: data.slice() }]),
      );
      const { outputs } = await engine.forward(inputs, values, { mode: 'evaluate' });
      collector.add({ ...batch, inputs: kept }, outputs, first);
      first += batch.names.length;
    }
    return collector.rows();
  } finally {
    await Promise.all([engine.close(), source.close()]);
  }
}

interface Collector {
  add(batch: ValidationBatch, outputs: Tensors, firstPicture: number): void;
  rows(): ObjectFeatures;
}

function createCollector({ spec, trainable }: HeadedModel): Collector {
  const grid = createAnchorGrid(spec.levels, spec.locations);
  const assigner = createTaskAlignedAssigner(grid, ASSIGNER_DEFAULTS);
  const reader = createPredictionReader(grid, { ...spec, classCount: spec.classNames.length });
  const features: Float32Array[] = [];
  const [labels, pictures]: [number[], number[]] = [[], []];
  return {
    add({ inputs, targets, names }, outputs, firstPicture) {
      const raw = spec.levels.map(({ quality, classes, box }) => ({
        quality: outputs.get(quality)!.data,
        classes: classes === undefined ? undefined : outputs.get(classes)!.data,
        box: outputs.get(box)!.data,
      }));
      for (let picture = 0; picture < names.length; picture++) {
        reader.bind(raw, picture);
        const [first, last] = [targets.starts[picture]!, targets.starts[picture + 1]!];
        for (const [object, anchor] of bestAnchors(assigner, reader, { ...targets, first, last })) {
          features.push(columnOf(inputs, { grid, trainable, picture, anchor }));
          labels.push(targets.classIds[object]!);
          pictures.push(firstPicture + picture);
        }
      }
    },
    rows() {
      const width = features[0]?.length;
      if (width === undefined || features.some(({ length }) => length !== width)) {
        throw new DataError(
          width === undefined
            ? 'no labelled object in any picture'
            : 'the levels of this host differ in their channels, so objects have no common features',
          { hint: 'take another set or another host' },
        );
      }
      const joined = new Float32Array(features.length * width);
      features.forEach((row, place) => {
        joined.set(row, place * width);
      });
      return {
        width,
        features: joined,
        labels: Int32Array.from(labels),
        pictures: Int32Array.from(pictures),
      };
    },
  };
}

/** Per object the anchor with the highest target, the earlier one where equal. */
function bestAnchors(
  assigner: Assigner,
  reader: PredictionReader,
  objects: Parameters<Assigner['assign']>[0],
): ReadonlyMap<number, number> {
  if (objects.first === objects.last) return new Map();
  const positives = assigner.assign(objects, reader);
  const best = new Map<number, { readonly anchor: number; readonly target: number }>();
  for (let index = 0; index < positives.count; index++) {
    const [object, anchor] = [positives.objects[index]!, positives.anchors[index]!];
    const target = positives.targets[index]!;
    const known = best.get(object);
    if (known === undefined || target > known.target || (target === known.target && anchor < known.anchor))
      best.set(object, { anchor, target });
  }
  return new Map([...best].sort(([a], [b]) => a - b).map(([object, { anchor }]) => [object, anchor]));
}

/** All channels of the anchor's cell, tensor by tensor. */
function columnOf(
  inputs: Tensors,
  place: {
    readonly grid: AnchorGrid;
    readonly trainable: TrainablePart;
    readonly picture: number;
    readonly anchor: number;
  },
): Float32Array {
  const { grid, trainable, picture, anchor } = place;
  const { start, cells, rows, columns } = grid.levels[levelOf(grid, anchor)]!;
  const cell = (anchor - start) % cells;
  const own = trainable.inputs.filter(
    ({ kind, shape }) => kind === 'features' && shape[1] === rows && shape[2] === columns,
  );
  const column = new Float32Array(own.reduce((sum, { shape }) => sum + shape[0]!, 0));
  let to = 0;
  for (const { name, shape } of own) {
    const { data } = inputs.get(name)!;
    const channels = shape[0]!;
    for (let channel = 0; channel < channels; channel++)
      column[to++] = data[(picture * channels + channel) * cells + cell]!;
  }
  return column;
}
