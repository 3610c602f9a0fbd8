// What an exported model may lose against its source, and whether it lost more.
import { ConfigError } from '#core';
import type { DetectionChanges } from './detection-changes.ts';
import type { LabelChanges } from './label-changes.ts';

/** How a model is written. */
export type Precision = 'float32' | 'float16' | 'int8';

/** Every floor is inclusive: exactly as much is still allowed. */
export interface GateFloors {
  /** Least share of boxes with a score of .25 or more that both models have, in [0, 1]. */
  readonly minFound: number;
  /** 99th percentile of the changes of box edges, px of the network's input. */
  readonly maxBoxPx: number;
  /** 99th percentile of the changes of the score. */
  readonly maxScore: number;
  /** 99th percentile of the changes of the score's standard deviation. */
  readonly maxScoreStd: number;
  /** AP (COCO, .5 to .95) that may be lost, in [0, 1]. With labels alone. */
  readonly maxApDrop: number;
  /** AP50 that a class with enough objects may lose: int8 can take one class to nothing. */
  readonly maxClassApDrop: number;
  /** LaECE0 that may be added. With labels alone. */
  readonly maxLaEceRise: number;
}

/**
 * What is usual at each precision: float32 differs by rounding alone; float16 has half pixels to .06 at 128; int8 moves
 * scores by several hundredths, so that AP and calibration decide there.
 */
export const GATE_FLOORS: Readonly<Record<Precision, GateFloors>> = {
  float32: {
    minFound: 0.999,
    maxBoxPx: 0.05,
    maxScore: 0.001,
    maxScoreStd: 0.001,
    maxApDrop: 0.002,
    maxClassApDrop: 0.01,
    maxLaEceRise: 0.002,
  },
  float16: {
    minFound: 0.99,
    maxBoxPx: 1,
    maxScore: 0.01,
    maxScoreStd: 0.01,
    maxApDrop: 0.002,
    maxClassApDrop: 0.02,
    maxLaEceRise: 0.005,
  },
  int8: {
    minFound: 0.85,
    maxBoxPx: 16,
    maxScore: 0.25,
    maxScoreStd: 0.1,
    maxApDrop: 0.01,
    maxClassApDrop: 0.05,
    maxLaEceRise: 0.01,
  },
};

/** What a head that was distilled may lose on top: it is another layer, not another rounding. */
export const DISTILLED_FLOORS: Partial<GateFloors> = {
  minFound: 0.97,
  // Boxes are the same; where two scores change their order, another box of a cluster is kept.
  maxBoxPx: 4,
  maxScore: 0.05,
  maxScoreStd: 0.06,
  maxApDrop: 0.003,
  maxClassApDrop: 0.02,
  maxLaEceRise: 0.01,
};

export interface FloorCheck {
  readonly floor: keyof GateFloors;
  /** In words, with its unit. */
  readonly what: string;
  readonly allowed: number;
  /** Null: could not be judged. */
  readonly found: number | null;
  readonly passed: boolean;
  /** Why it could not be judged, or which class decided. */
  readonly note?: string;
}

/** @throws ConfigError where a floor is not a number from 0 on */
export function checkFloors(
  floors: GateFloors,
  changes: DetectionChanges,
  labels: LabelChanges | undefined,
): readonly FloorCheck[] {
  for (const [name, value] of Object.entries(floors)) {
    if (value >= 0) continue;
    throw new ConfigError(`the floor ${name} is ${value}`, { hint: 'give a number of 0 or more' });
  }
  const { found, known, boxPx, score, scoreStd } = changes;
  const shared = found === null || known === null ? null : Math.min(found, known);
  // Of 20 boxes or more, one may be gone: it may have changed places with a neighbour in the suppression.
  const boxes = Math.max(changes.sourceBoxes, changes.artefactBoxes);
  const least = boxes < 20 ? floors.minFound : Math.min(floors.minFound, 1 - 1 / boxes);
  const noBoxes = 'no box with a score of .25 or more in these pictures';
  const noLabels = 'no labels: name a data set with data=';
  const most = (floor: keyof GateFloors, what: string, value: number | null | undefined, why: string) => ({
    floor,
    what,
    allowed: floors[floor],
    found: value ?? null,
    passed: value === null || value === undefined || value <= floors[floor],
    ...(value === null || value === undefined ? { note: why } : {}),
  });
  return [
    {
      floor: 'minFound',
      what: 'boxes that both models have',
      allowed: least,
      found: shared,
      // Shares of boxes are compared as counts: 22 of 23 is not below 22 of 23 for the sake of a rounded quotient.
      passed: shared === null || shared >= least - 1e-12,
      ...(shared === null ? { note: noBoxes } : {}),
    },
    most('maxBoxPx', 'box edges, px of the input, p99', boxPx?.p99, noBoxes),
    most('maxScore', 'score, p99', score?.p99, noBoxes),
    ...(scoreStd === null
      ? []
      : [most('maxScoreStd', 'standard deviation of the score, p99', scoreStd.p99, noBoxes)]),
    most('maxApDrop', 'AP lost', labels?.apDrop, noLabels),
    classCheck(floors.maxClassApDrop, labels, noLabels),
    most('maxLaEceRise', 'LaECE0 added', labels?.laEceRise, labels ? 'nothing to measure' : noLabels),
  ];
}

function classCheck(allowed: number, labels: LabelChanges | undefined, noLabels: string): FloorCheck {
  const worst = labels?.worstClass;
  return {
    floor: 'maxClassApDrop',
    what: 'AP50 lost by the class that loses most',
    allowed,
    found: worst?.ap50Drop ?? null,
    passed: worst === undefined || worst.ap50Drop <= allowed,
    note: worst
      ? `${worst.className}, ${worst.objects} objects`
      : labels
        ? `no class has ${labels.minObjects} objects`
        : noLabels,
  };
}
