// What a law over more bins costs beside a single channel: channels, parameters and bytes are counted, CPU time is measured
// turn by turn, so that a busy machine slows all of them alike.
import { createRandom } from 'edge-detect/core';
import {
  assembleDetector,
  COMPACT_CHANNELS,
  CONTRACTS,
  type DenseLayer,
  dequantise,
  findQuality,
  isQuantised,
  loadModelFile,
  type ModelProto,
  reheadHost,
  serialize,
  withQualityForm,
} from 'edge-detect/onnx';
import { openOrtNodeSession } from 'edge-detect/runtime';
import type { Figures } from '../common/seeded-tables.ts';

/** One channel is a score without a law. */
const COST_BINS = [1, 2, 5, 10, 20] as const;

export interface HeadCost {
  readonly bins: number;
  readonly figures: Figures;
  /** Median CPU ms a picture, all threads of the process together. */
  readonly cpuMs: number;
  /** CPU time over that of one channel, minus 1, with its 95 % interval over resampled rounds. */
  readonly added: readonly [added: number, low: number, high: number];
}

const WARM_UP = 3;
const RESAMPLES = 1000;

/** Weights are random: neither size nor time depends on them. */
export async function measureHeadCosts(
  hostPath: string,
  rounds: number,
  signal: AbortSignal,
): Promise<readonly HeadCost[]> {
  const { model } = await loadModelFile(hostPath);
  const host = isQuantised(model) ? dequantise(model).model : model;
  const models = COST_BINS.map((bins) => headWith(host, bins));
  const files = models.map(serialize);
  const times = await timesOf(models, files, rounds, signal);
  return COST_BINS.map((bins, place) => ({
    bins,
    figures: { ...sizesOf(models[place]!, bins), 'bytes of the file': files[place]!.length },
    cpuMs: median(times[place]!),
    added: addedTo(times[0]!, times[place]!),
  }));
}

function headWith(host: ModelProto, bins: number): ModelProto {
  const headed = reheadHost(host, {
    classNames: ['object'],
    preprocess: CONTRACTS.ultralytics,
    bins: Math.max(2, bins),
  });
  const model = assembleDetector(headed, new Map());
  if (bins > 1) return model;
  const levels = findQuality(model).levels.map(({ channels }) => randomLayer(channels));
  return withQualityForm(model, { form: 'plain', layer: { reads: 'features', levels } });
}

function randomLayer(inputs: number): DenseLayer {
  const random = createRandom(inputs);
  const outputs = COMPACT_CHANNELS.plain;
  const weight = Float32Array.from({ length: inputs * outputs }, () => 0.1 * random.normal());
  return { inputs, outputs, weight, bias: new Float32Array(outputs) };
}

function sizesOf(model: ModelProto, bins: number): Figures {
  const initializers = model.graph?.initializer ?? [];
  const parameters = initializers
    .filter(({ dataType, name }) => dataType === FLOAT && !name.startsWith('tail.'))
    .reduce((sum, { dims }) => sum + dims.reduce((size, axis) => size * Number(axis), 1), 0);
  return { 'channels a place': bins, parameters };
}

const FLOAT = 1;

async function timesOf(
  models: readonly ModelProto[],
  files: readonly Uint8Array[],
  rounds: number,
  signal: AbortSignal,
): Promise<readonly (readonly number[])[]> {
  const { spec, picture } = findQuality(models[1]!);
  const shape = [1, 3, spec.input.height, spec.input.width];
  const random = createRandom(1);
  let memory = Float32Array.from({ length: 3 * spec.input.height * spec.input.width }, () => random.next());
  const sessions = await Promise.all(
    files.map((file, place) =>
      openOrtNodeSession(file, `bins ${COST_BINS[place]}`, { provider: { kind: 'cpu' }, threads: 1 }),
    ),
  );
  const times = files.map((): number[] => []);
  try {
    for (let round = -WARM_UP; round < rounds; round++) {
      signal.throwIfAborted();
      // The order turns every round and goes on by one, so that none always follows the same other.
      const order = files.map((_, place) => (place + Math.abs(round)) % files.length);
      for (const place of round % 2 === 0 ? order : order.toReversed()) {
        const before = process.cpuUsage();
        const result = await sessions[place]!.run(memory, { name: picture, shape });
        const { user, system } = process.cpuUsage(before);
        memory = result.input as Float32Array<ArrayBuffer>;
        if (round >= 0) times[place]!.push((user + system) / 1000);
      }
    }
  } finally {
    await Promise.all(sessions.map((session) => session.close()));
  }
  return times;
}

function addedTo(base: readonly number[], other: readonly number[]): HeadCost['added'] {
  const random = createRandom(2);
  const ratios = Array.from({ length: RESAMPLES }, () => {
    const drawn = base.map(() => random.integer(base.length));
    return median(drawn.map((round) => other[round]!)) / median(drawn.map((round) => base[round]!)) - 1;
  }).sort((a, b) => a - b);
  const at = (share: number) => ratios[Math.floor(share * RESAMPLES)]!;
  return [median(other) / median(base) - 1, at(0.025), at(0.975)];
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
