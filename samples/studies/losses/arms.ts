// The heads that are compared: one per loss, all classes of the data, everything else as `train` has it.
import type { ClassedArm } from '../common/measure-arms.ts';
import type { Arm } from '../common/train-arm.ts';

function arm(name: string, text: string, request: Arm['request'] = {}): ClassedArm {
  return { name, text, classes: 'all', request };
}

/** A scalar score is a law of two bins, whose expectation is a sigmoid: the same head, 8 channels narrower. */
function scalarArm(
  name: string,
  text: string,
  kind: 'bce' | 'qfl' | 'focal' | 'gra',
  classLoss: 'ce' | 'focal' | 'focalGra',
): ClassedArm {
  return arm(name, text, { bins: 2, classLoss, criterion: { quality: { kind, gamma: 2 } } });
}

/** The defaults of `train`. */
export const DEFAULT = 'DFL + CE';
export const BRIER = 'DFL + BS-GRA';
export const PUBLISHED = 'published';
export const SCALARS = ['BCE', 'QFL', 'focal', 'FL-GRA'] as const;

export const ARMS: readonly ClassedArm[] = [
  arm(DEFAULT, 'score: DFL over 10 bins; classes: cross entropy (the default)'),
  arm(BRIER, 'classes: Brier weights on the gradient of cross entropy, β 2, γ 2', { classLoss: 'bsceGra' }),
  scalarArm(SCALARS[0], 'score: binary cross entropy; classes: cross entropy', 'bce', 'ce'),
  scalarArm(SCALARS[1], 'score: quality focal loss, γ 2; classes: cross entropy', 'qfl', 'ce'),
  scalarArm(SCALARS[2], 'score: focal loss, γ 2; classes: focal loss, γ 2', 'focal', 'focal'),
  scalarArm(SCALARS[3], 'score: per-logit GRA, γ 2; classes: FL-GRA, γ 2', 'gra', 'focalGra'),
  arm(
    PUBLISHED,
    'preset=published: labels .95 / .05 / .8, γ 2, mean over anchors, BS-GRA, weights 1 (classes) and .1 (score)',
    { preset: 'published' },
  ),
];
