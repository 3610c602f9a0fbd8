// The toy: classes that are Gaussians around drawn centres, so that the true posterior of every point is known. A small
// network learns them from few points, and the weights of the losses are held against what is truly uncertain there.
import { createRandom, deriveSeed, type Random, softmaxInto } from 'edge-detect/core';
import { createSoftmaxLoss } from 'edge-detect/training';
import { correlation, rankCorrelation } from '../common/correlation.ts';
import { type LabelledRows, trainClassHead } from './head.ts';
import { oneHot, probe } from './probe.ts';

export interface ToySetting {
  readonly classes: number;
  readonly dimensions: number;
  /** Standard deviation of the class centres around 0; that of a class around its centre is 1. */
  readonly spread: number;
  readonly trainingPoints: number;
  readonly testPoints: number;
  readonly hidden: number;
  readonly epochs: number;
}

const PLANE: ToySetting = {
  classes: 4,
  dimensions: 2,
  spread: 2,
  trainingPoints: 400,
  testPoints: 4000,
  hidden: 32,
  epochs: 60,
};

/** As the note draws it, and with more classes than a plane shows. */
export const TOYS: Readonly<Record<string, ToySetting>> = {
  '4 classes': PLANE,
  '10 classes': { ...PLANE, classes: 10, dimensions: 4, trainingPoints: 1000 },
};

/** What is called uncertain, at a point x with label y, posterior η and prediction p. */
export const UNCERTAINTIES = {
  'calibration error²': '‖p − η‖², how wrong the prediction is',
  'calibration error': '‖p − η‖',
  'noise of the point': '1 − max η, what no classifier can know',
  'entropy of the point': '−Σ η ln η',
  'noise of the label': '1 − η_y, how unlikely the drawn label was',
  'expected error': '‖p − η‖² + 1 − ‖η‖², the Brier score to expect of the prediction',
} as const;

export type Uncertainty = keyof typeof UNCERTAINTIES;

/** Names as in the note, and the weights of the product's losses. */
export const WEIGHTS = {
  Brier: { loss: 'bsceGra', gamma: 2 },
  'dual focal': { loss: 'dualGra', gamma: 2 },
  focal: { loss: 'focalGra', gamma: 2 },
} as const;

export type WeightName = keyof typeof WEIGHTS;

export interface ToyResult {
  /** Pearson and Spearman by uncertainty and weight. */
  readonly pearson: Readonly<Record<Uncertainty, Readonly<Record<WeightName, number | null>>>>;
  readonly spearman: Readonly<Record<Uncertainty, Readonly<Record<WeightName, number | null>>>>;
  /** Share of test points that the network, and the posterior itself, name right. */
  readonly accuracy: number;
  readonly bestAccuracy: number;
  /** Largest difference of E_y[Brier weight] and ‖p − η‖² + 1 − ‖η‖²: erratum A7 on every test point. */
  readonly identityError: number;
}

export function runToy(seed: number, setting: ToySetting = PLANE): ToyResult {
  const { classes, hidden, epochs, trainingPoints, testPoints } = setting;
  const world = createMixture(setting, createRandom(deriveSeed(seed, 10)));
  const training = world.draw(trainingPoints, createRandom(deriveSeed(seed, 11)));
  const test = world.draw(testPoints, createRandom(deriveSeed(seed, 12)));
  const loss = createSoftmaxLoss('ce', classes);
  const head = trainClassHead(training.rows, classes, {
    loss,
    optimizer: 'adamw',
    hidden,
    epochs,
    batch: 32,
    seed,
  });
  return judge(test, head.logits(test.rows), classes);
}

interface Drawn {
  readonly rows: LabelledRows;
  /** Float64[N * K], the true posterior of every point. */
  readonly posterior: Float64Array;
}

function createMixture({ classes, dimensions, spread }: ToySetting, random: Random) {
  const centres = Float64Array.from({ length: classes * dimensions }, () => spread * random.normal());
  return {
    draw(count: number, points: Random): Drawn {
      const features = new Float32Array(count * dimensions);
      const labels = new Int32Array(count);
      const posterior = new Float64Array(count * classes);
      const [law, logits] = [new Float64Array(classes), new Float64Array(classes)];
      for (let row = 0; row < count; row++) {
        const label = points.integer(classes);
        labels[row] = label;
        for (let axis = 0; axis < dimensions; axis++)
          features[row * dimensions + axis] = centres[label * dimensions + axis]! + points.normal();
        for (let k = 0; k < classes; k++) {
          let distance = 0;
          for (let axis = 0; axis < dimensions; axis++)
            distance += (features[row * dimensions + axis]! - centres[k * dimensions + axis]!) ** 2;
          logits[k] = -distance / 2;
        }
        softmaxInto(law, logits, 0, 1, classes);
        posterior.set(law, row * classes);
      }
      return { rows: { width: dimensions, features, labels }, posterior };
    },
  };
}

function judge({ rows, posterior }: Drawn, logits: Float64Array, classes: number): ToyResult {
  const count = rows.labels.length;
  const uncertain = mapKeys(UNCERTAINTIES, () => new Float64Array(count));
  const weights = mapKeys(WEIGHTS, () => new Float64Array(count));
  const losses = mapKeys(WEIGHTS, (name) =>
    createSoftmaxLoss(WEIGHTS[name].loss, classes, { gamma: WEIGHTS[name].gamma }),
  );
  const targets = Array.from({ length: classes }, (_, label) => oneHot(classes, label));
  const law = new Float64Array(classes);
  let [right, bestRight, identityError] = [0, 0, 0];
  for (let row = 0; row < count; row++) {
    const own = logits.subarray(row * classes, (row + 1) * classes);
    const truth = posterior.subarray(row * classes, (row + 1) * classes);
    const label = rows.labels[row]!;
    softmaxInto(law, own, 0, 1, classes);
    for (const name of keysOf(WEIGHTS)) weights[name][row] = probe(losses[name], own, targets[label]!).weight;
    const expected = targets.reduce(
      (sum, target, k) => sum + truth[k]! * probe(losses.Brier, own, target).weight,
      0,
    );
    const found = uncertaintiesAt(law, truth, label);
    for (const name of keysOf(UNCERTAINTIES)) uncertain[name][row] = found[name];
    identityError = Math.max(identityError, Math.abs(expected - found['expected error']));
    right += topOf(law) === label ? 1 : 0;
    bestRight += topOf(truth) === label ? 1 : 0;
  }
  const correlate = (how: typeof correlation) =>
    mapKeys(UNCERTAINTIES, (one) => mapKeys(WEIGHTS, (weight) => how(weights[weight], uncertain[one])));
  return {
    pearson: correlate(correlation),
    spearman: correlate(rankCorrelation),
    accuracy: right / count,
    bestAccuracy: bestRight / count,
    identityError,
  };
}

function uncertaintiesAt(
  law: Float64Array,
  truth: Float64Array,
  label: number,
): Readonly<Record<Uncertainty, number>> {
  let [squared, entropy, norm, most] = [0, 0, 0, 0];
  truth.forEach((share, k) => {
    squared += (law[k]! - share) ** 2;
    if (share > 0) entropy -= share * Math.log(share);
    norm += share * share;
    most = Math.max(most, share);
  });
  return {
    'calibration error²': squared,
    'calibration error': Math.sqrt(squared),
    'noise of the point': 1 - most,
    'entropy of the point': entropy,
    'noise of the label': 1 - truth[label]!,
    'expected error': squared + 1 - norm,
  };
}

function topOf(law: Float64Array): number {
  let top = 0;
  for (let k = 1; k < law.length; k++) if (law[k]! > law[top]!) top = k;
  return top;
}

export function keysOf<Key extends string>(record: Readonly<Record<Key, unknown>>): readonly Key[] {
  return Object.keys(record) as Key[];
}

function mapKeys<Key extends string, Value>(
  record: Readonly<Record<Key, unknown>>,
  make: (key: Key) => Value,
): Record<Key, Value> {
  return Object.fromEntries(keysOf(record).map((key) => [key, make(key)])) as Record<Key, Value>;
}
