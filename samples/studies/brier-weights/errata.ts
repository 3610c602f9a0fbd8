// What the note says and what its numbers say, line by line: every figure is computed here from the product's losses.
import {
  createSigmoidLoss,
  createSoftmaxLoss,
  type SigmoidLossName,
  type SoftmaxLossName,
} from 'edge-detect/training';
import type { Erratum } from '../common/errata-table.ts';
import { oneHot, probe, weightAt } from './probe.ts';

/** Sample of the note's own arithmetic. */
const SAMPLE = { logits: [2, 1, 0.1], label: 0 };

export function errata(): readonly Erratum[] {
  return [
    binaryErratum(),
    threeClassErratum(),
    jumpErratum(),
    literalErratum(),
    curlErratum(),
    signErratum(),
    expectationErratum(),
    labelErratum(),
    properErratum(),
    defaultsErratum(),
    detachErratum(),
    tableErratum(),
    scaleConfirmed(),
  ];
}

function binaryErratum(): Erratum {
  const law = [0.3, 0.7];
  const focal = weightAt('focalGra', law, 0);
  const sigmoid = createSigmoidLoss('gra', { gamma: 2 }).evaluate(Math.log(0.3 / 0.7), 1).weight;
  return {
    id: 'A1',
    said: 'the focal weight equals the Brier score in two classes',
    found: 'up to a factor 2^(γ/β); only the one-sided Brier of a sigmoid equals it',
    figures: [
      { figure: 'two-class Brier / focal, p .3', value: weightAt('bsceGra', law, 0) / focal },
      { figure: 'one-sided Brier / focal, p .3', value: sigmoid / focal },
    ],
  };
}

function threeClassErratum(): Erratum {
  const laws = [
    [0.5, 0.3, 0.2],
    [0.5, 0.4, 0.1],
  ];
  return {
    id: 'A2',
    said: 'the dual focal weight equals the Brier score in three classes',
    found: 'not even their ratio is constant; p_c and p_j only fix the third probability',
    figures: laws.flatMap((law) => [
      { figure: `dual focal, p ${law.join(' ')}`, value: weightAt('dualGra', law, 0) },
      { figure: `Brier, p ${law.join(' ')}`, value: weightAt('bsceGra', law, 0) },
    ]),
  };
}

function jumpErratum(): Erratum {
  return {
    id: 'A3',
    said: 'the dual focal weight measures uncertainty',
    found: 'it jumps down where the true class loses its lead, just where a sample turns wrong',
    figures: [
      { figure: 'dual focal, p_c .4001', value: weightAt('dualGra', [0.4001, 0.3999, 0.2], 0) },
      { figure: 'dual focal, p_c .3999', value: weightAt('dualGra', [0.3999, 0.4001, 0.2], 0) },
    ],
  };
}

function literalErratum(): Erratum {
  const law = [0.5, 0.3, 0.2];
  const norm = (beta: number, gamma: number) => weightAt('bsceGra', law, 0, { beta, gamma });
  return {
    id: 'A4',
    said: 'the generalised Brier score is Σ ‖p_i − y_i‖_β^γ',
    found: 'over scalars that does not depend on β; meant is (Σ |p − y|^β)^(γ/β), equal only at β = γ',
    figures: [
      { figure: 'as written, γ 1', value: norm(1, 1) },
      { figure: 'meant, β 2 γ 1', value: norm(2, 1) },
      { figure: 'as written, γ 2', value: norm(2, 2) },
      { figure: 'meant, β 1 γ 2', value: norm(1, 2) },
    ],
  };
}

const CURL_STEP = 1e-5;

/** ∂g_0/∂z_1 − ∂g_1/∂z_0 of a gradient field; 0 for a field that is the gradient of something. */
function curl(name: SoftmaxLossName): number {
  const at = [0.4, -0.7, 0.9];
  const loss = createSoftmaxLoss(name, 3);
  const slope = (component: number, along: number) => {
    const shifted = (step: number) => at.map((logit, place) => (place === along ? logit + step : logit));
    const [up, down] = [CURL_STEP, -CURL_STEP].map(
      (step) => probe(loss, shifted(step), oneHot(3, 0)).gradient[component]!,
    );
    return (up! - down!) / (2 * CURL_STEP);
  };
  return slope(0, 1) - slope(1, 0);
}

function curlErratum(): Erratum {
  return {
    id: 'A5',
    said: 'gradient weighting has a loss, the integral of u(p) y / p',
    found:
      'with three classes the field of Brier weights has a curl, so no loss has it; that of focal weights has none',
    figures: [
      { figure: 'curl, Brier weights', value: curl('bsceGra') },
      { figure: 'curl, focal weights', value: curl('focalGra') },
    ],
  };
}

function signErratum(): Erratum {
  const { logits, label } = SAMPLE;
  const { gradient } = probe(createSoftmaxLoss('bsceGra', 3), logits, oneHot(3, label));
  const entropy = (sign: number) =>
    probe(
      createSoftmaxLoss('ce', 3),
      logits.map((logit, place) => logit + sign * gradient[place]!),
      oneHot(3, label),
    ).value;
  const before = entropy(0);
  return {
    id: 'A6',
    said: 'θ ← θ + α u ∇L',
    found: 'that climbs; descent has a minus',
    figures: [
      { figure: 'cross entropy before', value: before },
      { figure: 'change after +', value: entropy(1) - before },
      { figure: 'change after −', value: entropy(-1) - before },
    ],
  };
}

function expectationErratum(): Erratum {
  const [eta, law] = [
    [0.6, 0.3, 0.1],
    [0.5, 0.2, 0.3],
  ];
  const perLabel = eta!.map((_, label) => weightAt('bsceGra', law!, label));
  const calibration = eta!.reduce((sum, share, k) => sum + (law![k]! - share) ** 2, 0);
  const expected = eta!.reduce((sum, share, label) => sum + share * perLabel[label]!, 0);
  return {
    id: 'A7',
    said: 'Brier score minus calibration error depends on η alone',
    found: 'in expectation over the label; for a drawn label it does not',
    figures: [
      { figure: 'E[Brier] − ‖p − η‖²', value: expected - calibration },
      { figure: '1 − ‖η‖²', value: 1 - eta!.reduce((sum, share) => sum + share ** 2, 0) },
      ...perLabel.map((brier, label) => ({
        figure: `with label ${label}: Brier − ‖p − η‖²`,
        value: brier - calibration,
      })),
    ],
  };
}

function labelErratum(): Erratum {
  const law = [0.5, 0.2, 0.3];
  return {
    id: 'A8',
    said: 'u is the uncertainty of a sample',
    found: 'it needs the label: one prediction has as many u as there are classes, and none in use',
    figures: law.map((_, label) => ({
      figure: `u of p ${law.join(' ')}, label ${label}`,
      value: weightAt('bsceGra', law, label),
    })),
  };
}

/** Where the expected gradient of a sigmoid loss vanishes, by halving. */
function stationary(name: SigmoidLossName, eta: number, gamma: number): number {
  const loss = createSigmoidLoss(name, { gamma });
  const slope = (logit: number) => {
    const positive = loss.evaluate(logit, 1).gradient;
    return eta * positive + (1 - eta) * loss.evaluate(logit, 0).gradient;
  };
  let [low, high] = [-20, 20];
  for (let middle = 0; middle > low && middle < high; middle = (low + high) / 2) {
    if (slope(middle) > 0) high = middle;
    else low = middle;
  }
  return 1 / (1 + Math.exp(-low));
}

const DESCENT_STEPS = 20_000;

/** The same for Brier weights over classes, by descent of the expected gradient. */
function stationaryLaw(eta: readonly number[]): readonly number[] {
  const classes = eta.length;
  const loss = createSoftmaxLoss('bsceGra', classes);
  const logits = eta.map(Math.log);
  for (let step = 0; step < DESCENT_STEPS; step++) {
    const slopes = new Float64Array(classes);
    eta.forEach((share, label) => {
      const { gradient } = probe(loss, logits, oneHot(classes, label));
      gradient.forEach((slope, k) => {
        slopes[k]! += share * slope;
      });
    });
    slopes.forEach((slope, k) => {
      logits[k]! -= slope;
    });
  }
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  return logits.map((logit) => Math.exp(logit) / total);
}

function properErratum(): Erratum {
  const logit = (p: number) => Math.log(p / (1 - p));
  const found = stationary('gra', 0.9, 2);
  return {
    id: 'A9',
    said: 'trained so, a network needs no temperature',
    found: 'the best prediction is γ + 1 times too soft; it fits only a network that is as much too sharp',
    figures: [
      { figure: 'η .9, γ 2: best p, gradient weights', value: found },
      { figure: 'η .9, γ 2: best p, focal', value: stationary('focal', 0.9, 2) },
      { figure: 'temperature of that, gradient weights', value: logit(0.9) / logit(found) },
      { figure: 'η .6 .3 .1: best first p, Brier weights', value: stationaryLaw([0.6, 0.3, 0.1])[0]! },
    ],
  };
}

function defaultsErratum(): Erratum {
  const law = [0.5, 0.3, 0.2];
  const weight = (beta: number, gamma: number) => weightAt('bsceGra', law, 0, { beta, gamma });
  return {
    id: 'A10',
    said: 'the standard form β 2, γ 2 is used',
    found:
      "the published code's command line has β 1, γ 1, which is twice the focal weight in any number of classes; its class has γ 0, its one script β 2, γ 4",
    figures: [
      { figure: 'u of p .5 .3 .2: β 2 γ 2', value: weight(2, 2) },
      { figure: 'β 1 γ 1', value: weight(1, 1) },
      { figure: 'γ 0', value: weight(2, 0) },
      { figure: 'β 2 γ 4', value: weight(2, 4) },
      {
        figure: 'β 1 γ 1 / focal γ 1',
        value: weight(1, 1) / weightAt('focalGra', law, 0, { gamma: 1 }),
      },
    ],
  };
}

function detachErratum(): Erratum {
  const { logits, label } = SAMPLE;
  const [entropy, held] = (['ce', 'dualGra'] as const).map((name) =>
    probe(createSoftmaxLoss(name, 3), logits, oneHot(3, label)),
  );
  // With γ = 2: d u / d z_c of the part that stayed attached, −2 (1 − p_c + p_j) p_c (1 − p_c).
  const own = Math.exp(-entropy!.value);
  const attached = -2 * Math.sqrt(held!.weight) * own * (1 - own);
  return {
    id: 'A11',
    said: 'the published code weights gradients by the dual focal weight',
    found: 'there p_c still carries a gradient, so its steps are others',
    figures: [
      { figure: 'first slope, weight held', value: held!.gradient[0]! },
      { figure: 'first slope, as published', value: held!.gradient[0]! + entropy!.value * attached },
    ],
  };
}

/** ECE in % of the note: column of the main table (after temperature), row of the ablation; CIFAR-10, CIFAR-100. */
const PUBLISHED = {
  FL: { table: [1.15, 2.57], ablation: [1.15, 2.57] },
  DFL: { table: [1.0, 2.56], ablation: [1.0, 2.56] },
} as const;

function tableErratum(): Erratum {
  return {
    id: 'A12',
    said: 'the ablation compares loss weighting with gradient weighting',
    found:
      'its rows of loss weighting repeat the columns after temperature scaling; whether the others are scaled is not said',
    figures: Object.entries(PUBLISHED).flatMap(([name, { table, ablation }]) =>
      ablation.map((value, place) => ({
        figure: `${name}: ablation − table, CIFAR-${place === 0 ? 10 : 100}`,
        value: value - table[place]!,
      })),
    ),
  };
}

/** The factor between the slopes of focal loss and cross entropy at p_c, on two classes. */
function focalScale(p: number): number {
  const logits = [Math.log(p), Math.log(1 - p)];
  const [focal, entropy] = (['focal', 'ce'] as const).map(
    (name) => probe(createSoftmaxLoss(name, 2), logits, oneHot(2, 0)).gradient[0]!,
  );
  return focal! / entropy!;
}

function scaleConfirmed(): Erratum {
  let [low, high] = [0.01, 0.5];
  while (high - low > 1e-9) {
    const [left, right] = [low + (high - low) / 3, high - (high - low) / 3];
    if (focalScale(left) < focalScale(right)) low = left;
    else high = right;
  }
  return {
    id: 'confirmed',
    said: 'the slope of focal loss rises up to p0 and falls from there',
    found: 'so it does, and it equals g(p, γ) times that of cross entropy',
    figures: [
      { figure: 'p0 at γ 2', value: low },
      { figure: 'g(p0)', value: focalScale(low) },
    ],
  };
}
