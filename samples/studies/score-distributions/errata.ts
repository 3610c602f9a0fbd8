// What in the note on score distributions does not stand as written, each line with the numbers that the product's own
// code computes.
import {
  bimodality,
  equivalentFixedThreshold,
  evaluateDetections,
  meanVarianceHead,
  mixtureBimodality,
  mixtureTailMass,
  PUBLISHED_THRESHOLD,
  scoreMean,
  scoreStd,
  scoreTailMass,
  scoreVariance,
  softmaxInto,
  splitVariance,
  TRUTH_KIND,
  thresholdReach,
} from 'edge-detect/core';
import { createSigmoidLoss } from 'edge-detect/training';
import type { Erratum } from '../common/errata-table.ts';
import { publishedVariance } from './laws.ts';
import { bestRightMass, twoHotLoss } from './two-hot.ts';

export function errata(): readonly Erratum[] {
  return [
    exampleErratum(),
    partsErratum(),
    lastBinErratum(),
    biasErratum(),
    epsilonErratum(),
    focalErratum(),
    boundErratum(),
    gaussianErratum(),
    reachErratum(),
    atomsErratum(),
    oppositeErratum(),
    cutErratum(),
    weightErratum(),
    channelErratum(),
    logErratum(),
    twoBinsErratum(),
  ];
}

const lawOf = (...probabilities: readonly number[]) => ({ probabilities: Float64Array.from(probabilities) });

function exampleErratum(): Erratum {
  const law = lawOf(0.1, 0.2, 0.4, 0.2, 0.1);
  return {
    id: 'B1',
    said: '[.1, .2, .4, .2, .1] is a distribution around 0.7',
    found: 'on its own anchors it lies around 0.5',
    figures: [
      { figure: 'expectation', value: scoreMean(law) },
      { figure: 'variance', value: scoreVariance(law) },
    ],
  };
}

function partsErratum(): Erratum {
  const passes = [0.95, 0.1, 0.8, 0.3, 0.6];
  const split = splitVariance(
    passes,
    passes.map((score) => score * (1 - score)),
  );
  return {
    id: 'B2',
    said: 'the distribution is the epistemic part, MC dropout the other',
    found:
      'the other way round: one pass says the aleatoric part, what passes disagree on is the epistemic one',
    figures: [
      { figure: 'aleatoric, mean of the variances', value: split.aleatoric },
      { figure: 'epistemic, variance of the means', value: split.epistemic },
      { figure: 'total', value: split.total },
    ],
  };
}

/** Logits of one law over ten bins. */
const LOGITS = [-1, -0.5, 0.2, 0.4, 1.1, 0.9, 0.3, -0.2, -0.9, -1.4];

function lastBinErratum(): Erratum {
  const position = LOGITS.length - 1;
  // Clamped before the weights are formed, the right bin is the left one, and neither has a weight.
  const right = Math.min(position, LOGITS.length - 1);
  const probabilities = new Float64Array(LOGITS.length);
  softmaxInto(probabilities, Float64Array.from(LOGITS), 0, 1, LOGITS.length);
  const faulty = -(right - position + (position - right)) * Math.log(probabilities[right]!);
  return {
    id: 'B3',
    said: 'the right bin is clamped',
    found: 'rightly so; clamped before the weights are formed, the loss of the best objects vanishes',
    figures: [
      { figure: 'loss at target 1', value: twoHotLoss(LOGITS, 1, 2) },
      { figure: 'clamped first', value: Math.abs(faulty) },
    ],
  };
}

function biasErratum(): Erratum {
  const laws = [0, 0.01].map((bias) => {
    const probabilities = new Float64Array(10);
    softmaxInto(probabilities, new Float64Array(10).fill(bias), 0, 1, 10);
    return probabilities;
  });
  const difference = laws[0]!.reduce((most, one, bin) => Math.max(most, Math.abs(one - laws[1]![bin]!)), 0);
  return {
    id: 'B4',
    said: 'a bias of 0.01 keeps the first gradients from exploding',
    found: 'under a softmax a constant changes nothing; without one, ln(p + 1e-8) is steep at 0',
    figures: [
      { figure: 'largest change of a probability', value: difference },
      { figure: 'slope of ln(p + 1e-8) at 0', value: 1 / EPSILON },
    ],
  };
}

const EPSILON = 1e-8;

function epsilonErratum(): Erratum {
  const logits = [0, 0, 0, 0, 0, 0, 0, 0, 0, -60];
  const probabilities = new Float64Array(10);
  softmaxInto(probabilities, Float64Array.from(logits), 0, 1, 10);
  return {
    id: 'B5',
    said: 'ln(p + 1e-8)',
    found: 'ends at 18.42, and its gradient at 0; a log-softmax has no end',
    figures: [
      { figure: 'as written', value: -Math.log(probabilities[9]! + EPSILON) },
      { figure: 'from logits', value: twoHotLoss(logits, 1, 0) },
    ],
  };
}

function focalErratum(): Erratum {
  const weights = Array.from({ length: 99 }, (_, place) => (place + 1) / 100);
  const shifts = weights.map((weight) => Math.abs(bestRightMass(weight, 2) - weight));
  const most = Math.max(...shifts);
  return {
    id: 'B6',
    said: 'a focal factor of γ 2 on the distribution',
    found: 'moves the expectation that training aims at; without it nothing moves',
    figures: [
      { figure: 'best mass of the right bin, its weight .1, γ 0', value: bestRightMass(0.1, 0) },
      { figure: 'the same, γ 2', value: bestRightMass(0.1, 2) },
      { figure: 'largest shift in bins', value: most },
      { figure: 'largest shift of the score, 10 bins', value: most / 9 },
    ],
  };
}

function boundErratum(): Erratum {
  const [rawMean, rawVariance] = [2, 3];
  const { mean, variance } = meanVarianceHead(rawMean, rawVariance);
  return {
    id: 'B7',
    said: 'variance = sigmoid · 0.5',
    found: 'no law over [0, 1] has a variance above E (1 − E), which is .25 at most',
    figures: [
      { figure: 'bound at E .881', value: mean * (1 - mean) },
      { figure: 'as written', value: publishedVariance(rawVariance) },
      { figure: 'sigmoid · m (1 − m)', value: variance },
    ],
  };
}

function gaussianErratum(): Erratum {
  const law = lawOf(0.33, 0, 0, 0, 0, 0, 0, 0, 0, 0.67);
  const [mean, variance] = [scoreMean(law), scoreVariance(law)];
  const one = { weight: 1, means: [mean, mean], variances: [variance, variance] } as const;
  return {
    id: 'B8',
    said: 'two Gaussian components',
    found: 'the code says one mean and one variance, in which two answers cannot be seen',
    figures: [
      {
        figure: 'a third at 0, the rest at 1: between fraction of the law',
        value: bimodality(law).betweenFraction,
      },
      { figure: 'of one Gaussian of the same moments', value: mixtureBimodality(one).betweenFraction },
      { figure: 'P(S ≥ .9) of the law', value: scoreTailMass(law, 0.9) },
      { figure: 'of that Gaussian', value: mixtureTailMass(one, 0.9) },
    ],
  };
}

function reachErratum(): Erratum {
  const { k } = PUBLISHED_THRESHOLD;
  const flat = { probabilities: new Float64Array(10).fill(0.1) };
  return {
    id: 'B9',
    said: 'base − 0.3 · variance keeps an object of .67 under a base of .7',
    found: 'the rule moves a threshold by .075 at most, by .003 at a standard deviation of .1',
    figures: [
      { figure: 'most', value: thresholdReach(PUBLISHED_THRESHOLD).maximum },
      { figure: 'at a standard deviation of .1', value: k * 0.1 ** 2 },
      { figure: 'where the law is flat', value: k * scoreVariance(flat) },
      { figure: 'standard deviation that .67 under .7 needs', value: Math.sqrt((0.7 - 0.67) / k) },
      { figure: 'that of a flat law', value: scoreStd(flat) },
    ],
  };
}

function atomsErratum(): Erratum {
  const smoothed = (eta: number) => {
    // Two-hot laws of .05 and .95, mixed as often as objects and background are met.
    const law = new Float64Array(10);
    law[0] = 0.55 * (1 - eta);
    law[1] = 0.45 * (1 - eta);
    law[8] = 0.45 * eta;
    law[9] = 0.55 * eta;
    return { probabilities: law };
  };
  const [middle, high] = [smoothed(0.5), smoothed(0.67)];
  return {
    id: 'B10',
    said: 'smoothed labels make the variance a second piece of information',
    found:
      'the law has two atoms, its variance follows from its expectation, and the rule is a fixed threshold',
    figures: [
      { figure: 'expectation at an object in two', value: scoreMean(middle) },
      { figure: 'its variance', value: scoreVariance(middle) },
      { figure: 'expectation at two objects in three', value: scoreMean(high) },
      { figure: 'its variance, again determined', value: scoreVariance(high) },
      {
        figure: 'fixed threshold that base .5, k .3 is',
        value: equivalentFixedThreshold(PUBLISHED_THRESHOLD.base, PUBLISHED_THRESHOLD.k),
      },
    ],
  };
}

function oppositeErratum(): Erratum {
  const [score, variance] = [0.5, 0.25];
  return {
    id: 'B11',
    said: 'lower the threshold of unsure boxes, and weigh unsure boxes down',
    found: 'the two undo each other where the weighted score meets the threshold',
    figures: [
      { figure: 'weighted score of E .5, Var .25', value: score * Math.exp(-2 * variance) },
      { figure: 'its lowered threshold', value: PUBLISHED_THRESHOLD.base - PUBLISHED_THRESHOLD.k * variance },
    ],
  };
}

/** Two objects, found with scores of .9 and .4, and a false alarm of .6 between them. */
function cutErratum(): Erratum {
  const boxes = [0, 0, 10, 10, 20, 0, 30, 10];
  const truth = {
    starts: Int32Array.of(0, 2),
    boxes: Float64Array.from(boxes),
    classIds: new Int32Array(2),
    areas: Float64Array.of(100, 100),
    kinds: new Uint8Array(2).fill(TRUTH_KIND.object),
  };
  const found = [
    { score: 0.9, box: boxes.slice(0, 4) },
    { score: 0.6, box: [50, 50, 60, 60] },
    { score: 0.4, box: boxes.slice(4) },
  ];
  const ap = (threshold: number) => {
    const kept = found.filter(({ score }) => score > threshold);
    return evaluateDetections(
      truth,
      {
        starts: Int32Array.of(0, kept.length),
        boxes: Float64Array.from(kept.flatMap(({ box }) => box)),
        classIds: new Int32Array(kept.length),
        scores: Float64Array.from(kept, ({ score }) => score),
      },
      { classCount: 1 },
    ).ap;
  };
  return {
    id: 'B12',
    said: 'the dynamic threshold raises mAP',
    found:
      'no threshold does: AP over the whole list is the most; a lower one gives back what a higher one took',
    figures: [
      { figure: 'AP of two objects and a false alarm, no cut', value: ap(0) },
      { figure: 'cut at .5', value: ap(0.5) },
      { figure: 'cut at .7', value: ap(0.7) },
    ],
  };
}

function weightErratum(): Erratum {
  const flat = new Array<number>(10).fill(0);
  const between = [...flat];
  between.fill(-60);
  between[4] = 0;
  between[5] = 0;
  return {
    id: 'B13',
    said: 'the loss of the distribution is ten times smaller, so weigh it 0.1',
    found: 'that would make it a hundred times smaller, and it is not: its floor alone is up to ln 2',
    figures: [
      { figure: 'loss of an untrained law, target .5', value: twoHotLoss(flat, 0.5, 0) },
      { figure: 'of the best law for it', value: twoHotLoss(between, 0.5, 0) },
      {
        figure: 'cross entropy of an untrained sigmoid',
        value: createSigmoidLoss('bce').evaluate(0, 0.5).value,
      },
    ],
  };
}

function channelErratum(): Erratum {
  const [bins, classes] = [10, 80];
  return {
    id: 'B14',
    said: 'ten bins are ten times the channels',
    found:
      'of one score; of every class it would be bins · classes, ours is one law and the classes beside it',
    figures: [
      { figure: 'a law per class, 80 classes', value: bins * classes },
      { figure: 'one law and 80 classes', value: bins + classes },
    ],
  };
}

function logErratum(): Erratum {
  return {
    id: 'B15',
    said: '−label · ln(score)',
    found:
      'has no number where the score rounds to 0 (and the snippet names cls_score and score for one thing)',
    figures: [
      { figure: 'as written, score 0', value: null },
      { figure: 'from a logit of −100', value: createSigmoidLoss('bce').evaluate(-100, 1).value },
    ],
  };
}

function twoBinsErratum(): Erratum {
  const logits = [0.2, 0.9];
  const law = new Float64Array(2);
  softmaxInto(law, Float64Array.from(logits), 0, 1, 2);
  return {
    id: 'B16',
    said: 'a distribution is something else than a score',
    found: 'over two bins it is a sigmoid with cross entropy, and its variance p (1 − p)',
    figures: [
      { figure: 'loss of two bins, target .3', value: twoHotLoss(logits, 0.3, 0) },
      {
        figure: 'cross entropy of their difference',
        value: createSigmoidLoss('bce').evaluate(logits[1]! - logits[0]!, 0.3).value,
      },
      { figure: 'variance of two bins', value: scoreVariance({ probabilities: law }) },
      { figure: 'p (1 − p)', value: law[1]! * (1 - law[1]!) },
    ],
  };
}
