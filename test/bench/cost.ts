// What uncertainty costs: CPU time of one host and one head, with its quality said in one channel, as a law over ten bins,
// and as two Gaussians. Weights of the heads are random: time does not depend on them.
import { createRandom } from '#core';
import {
  assembleDetector,
  COMPACT_CHANNELS,
  CONTRACTS,
  type CompactQuality,
  type DenseLayer,
  dequantise,
  findQuality,
  isQuantised,
  loadModelFile,
  type ModelProto,
  ownFormat,
  type QualityLayer,
  readMetadata,
  reheadHost,
  serialize,
  withQualityForm,
} from '#onnx';
import { openOrtNodeSession } from '#runtime';
import { median } from './stream.ts';

export interface CostFigure {
  readonly host: string;
  readonly rounds: number;
  /** Medians of CPU ms per picture, all threads of the process together. */
  readonly cpuMs: Readonly<Record<string, number>>;
  /** Part of the time of `plain` that is added, with its 95 % bootstrap interval over rounds. */
  readonly added: Readonly<Record<string, readonly [added: number, low: number, high: number]>>;
}

const HIDDEN = 24;
const RESAMPLES = 2000;
const WARM_UP = 3;

/** @param path a host (dequantised where it is quantised), or a model of ours */
export async function measureCost(path: string, host: string, rounds: number): Promise<CostFigure> {
  const variants = await variantsOf(path);
  const { spec, picture } = findQuality(variants['distribution']!);
  const shape = [1, 3, spec.input.height, spec.input.width];
  const random = createRandom(1);
  let memory = Float32Array.from({ length: 3 * spec.input.height * spec.input.width }, () => random.next());
  const names = Object.keys(variants);
  const sessions = await Promise.all(
    names.map((name) =>
      openOrtNodeSession(serialize(variants[name]!), name, { provider: { kind: 'cpu' }, threads: 1 }),
    ),
  );
  const times = names.map((): number[] => []);
  for (let round = -WARM_UP; round < rounds; round++) {
    // The order turns every round and goes on by one, so that no variant always follows the same other.
    const order = names.map((_, place) => (place + Math.abs(round)) % names.length);
    for (const place of round % 2 === 0 ? order : order.toReversed()) {
      const before = process.cpuUsage();
      const result = await sessions[place]!.run(memory, { name: picture, shape });
      const { user, system } = process.cpuUsage(before);
      memory = result.input as Float32Array<ArrayBuffer>;
      if (round >= 0) times[place]!.push((user + system) / 1000);
    }
  }
  await Promise.all(sessions.map((session) => session.close()));
  const [plain = [], ...others] = times;
  return {
    host,
    rounds,
    cpuMs: Object.fromEntries(names.map((name, place) => [name, rounded(median(times[place]!), 2)])),
    added: Object.fromEntries(others.map((values, place) => [names[place + 1]!, added(plain, values)])),
  };
}

async function variantsOf(path: string): Promise<Readonly<Record<string, ModelProto>>> {
  const distribution = await headOn(path);
  return {
    plain: withQualityForm(distribution, { form: 'plain', layer: thin(distribution, 'plain') }),
    distribution,
    'two-gaussian': withQualityForm(distribution, {
      form: 'two-gaussian',
      layer: behindLogits(distribution, 'two-gaussian'),
    }),
  };
}

async function headOn(path: string): Promise<ModelProto> {
  const { model } = await loadModelFile(path);
  if (ownFormat(readMetadata(model))?.head) return model;
  const host = isQuantised(model) ? dequantise(model).model : model;
  return assembleDetector(
    reheadHost(host, { classNames: ['object'], preprocess: CONTRACTS.ultralytics }),
    new Map(),
  );
}

/** One channel in the place of the bins: the least that a head can cost. */
function thin(model: ModelProto, form: CompactQuality): QualityLayer {
  const levels = findQuality(model).levels.map(({ channels }) => dense(channels, COMPACT_CHANNELS[form]));
  return { reads: 'features', levels };
}

/** As `distillHead` makes it. */
function behindLogits(model: ModelProto, form: CompactQuality): QualityLayer {
  const { bins } = findQuality(model).spec;
  return { reads: 'logits', hidden: dense(bins, HIDDEN), output: dense(HIDDEN, COMPACT_CHANNELS[form]) };
}

function dense(inputs: number, outputs: number): DenseLayer {
  const random = createRandom(inputs);
  const weight = Float32Array.from({ length: inputs * outputs }, () => 0.1 * random.normal());
  return { inputs, outputs, weight, bias: new Float32Array(outputs) };
}

function added(plain: readonly number[], other: readonly number[]): readonly [number, number, number] {
  const random = createRandom(2);
  const ratios = Array.from({ length: RESAMPLES }, () => {
    const rounds = plain.map(() => random.integer(plain.length));
    return median(rounds.map((round) => other[round]!)) / median(rounds.map((round) => plain[round]!)) - 1;
  }).sort((a, b) => a - b);
  const at = (share: number) => rounded(ratios[Math.floor(share * RESAMPLES)]!, 4);
  return [rounded(median(other) / median(plain) - 1, 4), at(0.025), at(0.975)];
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
