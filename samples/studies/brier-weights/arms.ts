// The heads that are compared: which weight, on what, with which exponents, optimiser and depth.
import { createSoftmaxLoss, type SoftmaxLossName } from 'edge-detect/training';
import type { HeadRecipe } from './head.ts';

export type Form = 'loss' | 'gradient' | 'loss, same step' | 'gradient, same step';
export type Optimizer = HeadRecipe['optimizer'];

export interface Arm {
  /** Table of the arm within its set. */
  readonly group: 'main' | 'grid' | 'linear';
  readonly optimizer: Optimizer;
  readonly weight: string;
  readonly form: Form;
  readonly recipe: (classCount: number) => Omit<HeadRecipe, 'epochs' | 'batch' | 'seed'>;
}

export const WEIGHT_NAMES = ['focal', 'dual focal', 'Brier'] as const;
export type Weight = (typeof WEIGHT_NAMES)[number];

export const CROSS_ENTROPY = 'cross entropy';

export const OPTIMIZERS: readonly Optimizer[] = ['sgd', 'adamw'];

const LOSSES: Readonly<
  Record<Weight, { readonly loss: SoftmaxLossName; readonly gradient: SoftmaxLossName }>
> = {
  focal: { loss: 'focal', gradient: 'focalGra' },
  'dual focal': { loss: 'dualFocal', gradient: 'dualGra' },
  Brier: { loss: 'bsce', gradient: 'bsceGra' },
};

interface Choice {
  readonly group: Arm['group'];
  readonly optimizer: Optimizer;
  readonly hidden: number;
  readonly gamma?: number;
  readonly beta?: number;
}

function armOf(
  name: SoftmaxLossName,
  { weight, form }: Pick<Arm, 'weight' | 'form'>,
  { group, optimizer, hidden, gamma = 2, beta = 2 }: Choice,
): Arm {
  return {
    group,
    optimizer,
    weight,
    form,
    recipe: (classCount) => ({
      loss: createSoftmaxLoss(name, classCount, { gamma, beta }),
      optimizer,
      hidden,
      normalise: form.endsWith('same step'),
    }),
  };
}

/** Cross entropy, and each weight on the loss and on the gradient, with the standard exponents. */
function standardArms(choice: Choice): readonly Arm[] {
  const forms = ['loss', 'gradient'] as const;
  return [
    armOf('ce', { weight: CROSS_ENTROPY, form: 'loss' }, choice),
    ...WEIGHT_NAMES.flatMap((weight) =>
      forms.map((form) => armOf(LOSSES[weight][form], { weight, form }, choice)),
    ),
  ];
}

/**
 * γ = β = 2. SGD takes smaller steps where weights are small, AdamW does not: the arms with the same step divide every
 * gradient by the mean weight of its batch, so that what is left is the weighting.
 */
export function mainArms(hidden: number): readonly Arm[] {
  return OPTIMIZERS.flatMap((optimizer) => {
    const choice = { group: 'main', optimizer, hidden } as const;
    const sameStep = WEIGHT_NAMES.flatMap((weight) => [
      armOf(LOSSES[weight].loss, { weight, form: 'loss, same step' }, choice),
      armOf(LOSSES[weight].gradient, { weight, form: 'gradient, same step' }, choice),
    ]);
    return [
      ...standardArms(choice),
      ...(optimizer === 'sgd' ? sameStep : []),
      armOf('brier', { weight: 'Brier score itself', form: 'loss' }, choice),
    ];
  });
}

/** Exponents other than the standard ones; β belongs to Brier weights alone. */
const EXPONENTS: Readonly<Record<Weight, readonly (readonly [gamma: number, beta: number])[]>> = {
  focal: [
    [1, 2],
    [4, 2],
  ],
  'dual focal': [
    [1, 2],
    [4, 2],
  ],
  Brier: [
    [1, 1],
    [2, 1],
    [4, 1],
    [1, 2],
    [4, 2],
  ],
};

export function gridArms(hidden: number): readonly Arm[] {
  return OPTIMIZERS.flatMap((optimizer) =>
    WEIGHT_NAMES.flatMap((weight) =>
      EXPONENTS[weight].flatMap(([gamma, beta]) =>
        (['loss', 'gradient'] as const).map((form) => {
          const name = weight === 'Brier' ? `${weight}, γ ${gamma} β ${beta}` : `${weight}, γ ${gamma}`;
          return armOf(
            LOSSES[weight][form],
            { weight: name, form },
            { group: 'grid', optimizer, hidden, gamma, beta },
          );
        }),
      ),
    ),
  );
}

/** The same without a hidden layer: too small to learn its training objects by heart. */
export function plainArms(): readonly Arm[] {
  return OPTIMIZERS.flatMap((optimizer) => standardArms({ group: 'linear', optimizer, hidden: 0 }));
}
