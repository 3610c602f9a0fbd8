// What a criterion can be asked to do: loss families, their weights, the policy of the targets. Defaults in one place.
import { ConfigError, type LogitRange, nearest } from '#core';
import { ASSIGNER_DEFAULTS, type AssignerConfig } from './assign/task-aligned.ts';
import { SIGMOID_LOSSES, type SigmoidLossName } from './losses/sigmoid.ts';
import { SOFTMAX_LOSSES, type SoftmaxLossName } from './losses/softmax.ts';

/** Losses of the score's law. The scalar kinds take a head of 2 bins, whose law is a sigmoid of the logits' difference. */
export type QualityLossConfig =
  | {
      readonly kind: 'dfl';
      /** Detached focal exponent on objects. Above 0 it biases the expectation. */
      readonly gamma: number;
      /** The same on background, where the target is one bin and nothing is biased. */
      readonly negativeGamma: number;
    }
  | { readonly kind: SigmoidLossName; readonly gamma?: number; readonly alpha?: number };

export interface ClassLossConfig {
  /** A softmax loss where the head's classes exclude each other, else a sigmoid loss or `anchorGra`. */
  readonly kind: SoftmaxLossName | SigmoidLossName | 'anchorGra';
  readonly gamma: number;
  readonly beta: number;
  /** Balance of sigmoid focal and varifocal. */
  readonly alpha?: number;
  /** Temperature of LogitNorm; absent: off. */
  readonly logitNorm?: number;
}

/** What the law of the score is taught at an anchor. */
export type TargetPolicy =
  /** Aligned quality on assigned anchors, 0 elsewhere. */
  | { readonly kind: 'task-aligned' }
  /** IoU of the predicted box on assigned anchors, 0 elsewhere. */
  | { readonly kind: 'iou' }
  /** Smoothed labels. Their law has two atoms, so its variance says nothing that its expectation does not. */
  | {
      readonly kind: 'hard';
      readonly positive: number;
      readonly negative: number;
      /** Label of a positive whose IoU is below `hardBelowIou`. */
      readonly hardPositive: number;
      readonly hardBelowIou: number;
    };

/**
 * What the adapted logits are held to: the row that a frozen class layer gives for the same features, or the range that
 * rows of the same class had in an earlier training, by class id.
 */
export type RangeReference = 'frozen-layer' | readonly Readonly<LogitRange>[];

export type LogitRangeConfig =
  | { readonly kind: 'off' }
  | { readonly kind: 'penalty'; readonly lambda: number; readonly reference: RangeReference }
  | { readonly kind: 'zs-norm'; readonly reference: RangeReference };

export interface LossWeights {
  readonly box: number;
  readonly classification: number;
  readonly boxDfl: number;
  readonly quality: number;
  readonly logitRange: number;
}

export interface CriterionConfig {
  readonly weights: LossWeights;
  readonly quality: QualityLossConfig;
  /** `targets`: sum over anchors / max(Σ targets, 1). `anchors`: mean over all anchors. */
  readonly qualityReduction: 'targets' | 'anchors';
  readonly classification: ClassLossConfig;
  readonly targets: TargetPolicy;
  readonly assigner: AssignerConfig;
  readonly logitRange: LogitRangeConfig;
  /** False leaves the box branch alone: no loss, no gradient. */
  readonly trainBox: boolean;
}

/** Labels of the published recipe: 0.95 / 0.05, and 0.8 where an object is met badly. */
export const SMOOTHED_LABELS: Extract<TargetPolicy, { kind: 'hard' }> = {
  kind: 'hard',
  positive: 0.95,
  negative: 0.05,
  hardPositive: 0.8,
  hardBelowIou: 0.5,
};

/**
 * Box terms weigh as in YOLOv8 (7.5 CIoU, 1.5 side distributions); the score's law weighs 1 as QFL does in GFL, because
 * its gradient per logit, p − target, is of the same size; classes weigh 0.5, learned on positives only, by
 * cross entropy: Brier weights on the gradient calibrated no better (samples/studies/brier-weights).
 */
export const CRITERION_DEFAULTS: CriterionConfig = {
  weights: { box: 7.5, classification: 0.5, boxDfl: 1.5, quality: 1, logitRange: 1 },
  quality: { kind: 'dfl', gamma: 0, negativeGamma: 0 },
  qualityReduction: 'targets',
  classification: { kind: 'ce', gamma: 2, beta: 2 },
  targets: { kind: 'task-aligned' },
  assigner: ASSIGNER_DEFAULTS,
  logitRange: { kind: 'off' },
  trainBox: true,
};

/**
 * The published recipe, for comparison: gamma 2 on every two-hot target, smoothed hard labels, mean over anchors, Brier
 * weights on the gradient of the classes, class loss 1.0 and score distribution 0.1. Log-softmax stands in for ln(p + 1e-8).
 */
export const PUBLISHED_CRITERION: CriterionConfig = {
  ...CRITERION_DEFAULTS,
  weights: { ...CRITERION_DEFAULTS.weights, classification: 1, quality: 0.1 },
  quality: { kind: 'dfl', gamma: 2, negativeGamma: 2 },
  qualityReduction: 'anchors',
  classification: { kind: 'bsceGra', gamma: 2, beta: 2 },
  targets: SMOOTHED_LABELS,
};

/** Lists for options and messages. */
export const QUALITY_LOSSES = ['dfl', ...SIGMOID_LOSSES] as const;
export const TARGET_POLICIES = ['task-aligned', 'iou', 'hard'] as const;
const RANGE_KINDS = ['off', 'penalty', 'zs-norm'] as const;

/** What a class loss is called where every class has a sigmoid of its own. */
const SIGMOID_KINDS: Readonly<Record<string, SigmoidLossName>> = {
  ce: 'bce',
  focal: 'focal',
  bsceGra: 'gra',
};

/** @throws ConfigError where the loss has no form for this law */
export function classLossKind(classLaw: HeadFacts['classLaw'], name: string): ClassLossConfig['kind'] {
  // A name of no softmax loss is refused with the whole configuration.
  if (classLaw === 'softmax') return name as SoftmaxLossName;
  const kind = SIGMOID_KINDS[name];
  if (kind !== undefined) return kind;
  throw new ConfigError(`class_loss=${name} has no form for class_law=sigmoid`, {
    hint: `write class_loss=${Object.keys(SIGMOID_KINDS).join('|')}, or leave class_law= away`,
  });
}

interface HeadFacts {
  readonly bins: number;
  readonly classCount: number;
  readonly classLaw: 'softmax' | 'sigmoid';
}

/** @throws ConfigError naming the key, what was found and what is allowed */
export function checkCriterionConfig(config: CriterionConfig, head: HeadFacts): void {
  for (const [name, weight] of Object.entries(config.weights)) expectFrom0(`weights.${name}`, weight);
  expectName('quality', config.quality.kind, QUALITY_LOSSES);
  expectName('qualityReduction', config.qualityReduction, ['targets', 'anchors']);
  expectName('targets', config.targets.kind, TARGET_POLICIES);
  expectName('logitRange', config.logitRange.kind, RANGE_KINDS);
  if (head.classCount > 1) {
    const known = head.classLaw === 'softmax' ? SOFTMAX_LOSSES : [...SIGMOID_LOSSES, 'anchorGra'];
    expectName(`classification (${head.classLaw} classes)`, config.classification.kind, known);
  }
  checkQuality(config.quality, head.bins);
  if (config.targets.kind === 'hard') checkLabels(config.targets);
  checkRange(config, head.classCount);
}

function checkQuality(quality: QualityLossConfig, bins: number): void {
  if (quality.kind === 'dfl') {
    expectFrom0('quality.gamma', quality.gamma);
    expectFrom0('quality.negativeGamma', quality.negativeGamma);
  } else if (bins !== 2) {
    throw new ConfigError(`quality loss '${quality.kind}' teaches a scalar, but the head has ${bins} bins`, {
      hint: "set bins=2, whose law is a sigmoid, or take quality loss 'dfl'",
    });
  }
}

function checkLabels({ positive, negative, hardPositive }: Extract<TargetPolicy, { kind: 'hard' }>): void {
  for (const [name, label] of Object.entries({ positive, negative, hardPositive })) {
    if (!(label >= 0 && label <= 1)) {
      throw new ConfigError(`targets.${name} is ${label}, expected a label in [0, 1]`, {
        hint: 'the published labels are 0.95, 0.05 and 0.8',
      });
    }
  }
}

function checkRange({ logitRange, classification }: CriterionConfig, classCount: number): void {
  if (logitRange.kind === 'off') return;
  if (classCount < 2) {
    throw new ConfigError(`logit range '${logitRange.kind}' needs class logits, but the head has one class`, {
      hint: "leave it 'off'",
    });
  }
  if (logitRange.kind === 'penalty') expectFrom0('logitRange.lambda', logitRange.lambda);
  else if (classification.logitNorm !== undefined) {
    throw new ConfigError("logit range 'zs-norm' and LogitNorm both rescale the class logits", {
      hint: 'choose one of them',
    });
  }
  const { reference } = logitRange;
  if (reference === 'frozen-layer') return;
  if (reference.length !== classCount) {
    throw new ConfigError(`logitRange.reference has ${reference.length} ranges for ${classCount} classes`, {
      hint: 'give one range per class, in the order of the class names',
    });
  }
  for (const [id, { least, greatest }] of reference.entries()) {
    if (Number.isFinite(greatest - least) && least <= greatest) continue;
    throw new ConfigError(`logitRange.reference of class ${id} is ${least} to ${greatest}`, {
      hint: 'expected two numbers that rise',
    });
  }
}

function expectFrom0(key: string, value: number): void {
  if (!(value >= 0 && Number.isFinite(value))) {
    throw new ConfigError(`${key} is ${value}, expected a number of 0 or more`, {
      hint: `set ${key} to 0 or more`,
    });
  }
}

function expectName(key: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  const guess = nearest(value, known);
  throw new ConfigError(`${key} is '${value}'; known: ${known.join(', ')}`, {
    hint: guess === undefined ? `take one of ${known.join(', ')}` : `did you mean '${guess}'?`,
  });
}
