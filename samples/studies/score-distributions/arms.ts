// The heads that are compared: what differs from the default head of a training, and under which name it stands in a table.
import { SMOOTHED_LABELS, type TargetPolicy } from 'edge-detect/training';
import { armsNamed, type ClassedArm } from '../common/measure-arms.ts';

export interface StudyArm extends ClassedArm {
  readonly bins: number;
}

const BINS = 10;

/** As `train` makes it: 10 bins, quality targets, no focal factor, weight 1. */
export const DEFAULT_ARM: StudyArm = {
  name: 'default',
  text: 'as train does: 10 bins, quality targets, γ 0',
  classes: 'one',
  bins: BINS,
  request: { bins: BINS },
};

function binsArm(bins: number): StudyArm {
  return { name: `bins ${bins}`, text: `${bins} bins`, classes: 'one', bins, request: { bins } };
}

/** Labels as they are: an object is 1, background 0, however well the box lies. */
const PLAIN_LABELS: Extract<TargetPolicy, { kind: 'hard' }> = {
  ...SMOOTHED_LABELS,
  positive: 1,
  hardPositive: 1,
  negative: 0,
};

function labelArm(name: string, text: string, gamma: number, targets?: TargetPolicy): StudyArm {
  return {
    name,
    text,
    classes: 'one',
    bins: BINS,
    request: {
      bins: BINS,
      criterion: {
        ...(targets && { targets }),
        ...(gamma > 0 && { quality: { kind: 'dfl', gamma, negativeGamma: gamma } }),
      },
    },
  };
}

/** With one class AdamW divides any weight out again: it acts only beside another loss. */
function weightArm(weight: number): StudyArm {
  return {
    name: `weight ${weight}`,
    text: `loss of the law weighs ${weight} beside the classes' 0.5`,
    classes: 'all',
    bins: BINS,
    // The class loss of the note, under which the weight was proposed.
    request: { bins: BINS, weights: { quality: weight }, classLoss: 'bsceGra' },
  };
}

/** Rows of a table by the arm that fills them; the first is what the others are compared with. */
export interface ArmTable {
  readonly table: 'bins' | 'labels' | 'weights';
  readonly rows: readonly { readonly row: string; readonly arm: StudyArm }[];
}

/** The published labels: their head is asked for thresholds, too. */
export const PUBLISHED_ARM = labelArm(
  'smoothed γ 2',
  'labels .95 / .05, .8 below IoU .5; γ 2',
  2,
  SMOOTHED_LABELS,
);

export const BINS_TABLE: ArmTable = {
  table: 'bins',
  rows: [
    { row: '10 bins', arm: DEFAULT_ARM },
    ...[5, 20, 50].map((bins) => ({ row: `${bins} bins`, arm: binsArm(bins) })),
  ],
};

export const LABELS_TABLE: ArmTable = {
  table: 'labels',
  rows: [
    { row: 'quality, γ 0', arm: DEFAULT_ARM },
    { row: 'quality, γ 2', arm: labelArm('quality γ 2', 'quality targets, γ 2', 2) },
    { row: 'smoothed, γ 0', arm: labelArm('smoothed γ 0', 'labels .95 / .05 / .8, γ 0', 0, SMOOTHED_LABELS) },
    { row: 'smoothed, γ 2', arm: PUBLISHED_ARM },
    { row: 'hard, γ 0', arm: labelArm('hard γ 0', 'labels 1 / 0, γ 0', 0, PLAIN_LABELS) },
    { row: 'hard, γ 2', arm: labelArm('hard γ 2', 'labels 1 / 0, γ 2', 2, PLAIN_LABELS) },
  ],
};

export const WEIGHTS_TABLE: ArmTable = {
  table: 'weights',
  rows: [1, 0.1, 0.25, 1.5].map((weight) => ({ row: `weight ${weight}`, arm: weightArm(weight) })),
};

export const ARM_TABLES: readonly ArmTable[] = [BINS_TABLE, LABELS_TABLE, WEIGHTS_TABLE];

/** Dropout over whole channels, and passes in the file, as `train` writes them. */
export const DROPOUT_ARM: StudyArm = {
  name: 'dropout',
  text: '10 bins, quality targets, dropout .1, 8 passes in the file',
  classes: 'one',
  bins: BINS,
  request: { bins: BINS, dropout: 0.1, monteCarloPasses: 8 },
};

/** Every arm once: one training serves all tables that show it. */
const ALL_ARMS: readonly StudyArm[] = [
  ...new Set([...ARM_TABLES.flatMap(({ rows }) => rows.map(({ arm }) => arm)), DROPOUT_ARM]),
];

/** @param names by comma; empty: all @throws ConfigError naming one that is not known */
export function chooseArms(names: string): readonly StudyArm[] {
  return armsNamed(ALL_ARMS, names);
}
