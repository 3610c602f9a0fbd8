// Which class, given an object: the class loss on assigned anchors, weighted by their targets, and the logit range.
import { type LogitRange, logitRangeInto, ModelError } from '#core';
import type { AnchorGrid } from '../../assign/anchor-grid.ts';
import type { ClassLossConfig, CriterionConfig, LogitRangeConfig } from '../../criterion-config.ts';
import { addRangePenalty, withRangeNorm } from '../../logit-range.ts';
import { withLogitNorm } from '../logit-norm.ts';
import { anchorGraLoss, createSigmoidLoss, sigmoidRow } from '../sigmoid.ts';
import { createSoftmaxLoss } from '../softmax.ts';
import type { ClassLoss, FrozenFactors, LogitRow, Numbers } from '../types.ts';
import { type Batch, createPlaceFinder } from './batch.ts';

/** Sums before weights and normalisers. */
export interface ClassSums {
  /** Σ target · loss. */
  classification: number;
  /** Σ of the range penalty over rows and classes. */
  range: number;
  /** Σ u over the positives. */
  weight: number;
}

export interface ClassTerm {
  /**
   * @param scale of the class loss, before the target
   * @param reference class logits of the frozen layer by level, in the layout of the batch
   */
  evaluate(
    batch: Batch,
    scale: number,
    rangeWeight: number,
    reference: readonly Numbers[] | undefined,
  ): ClassSums;
}

/** @param classCount C of 2 or more */
export function createClassTerm(
  grid: AnchorGrid,
  classCount: number,
  classLaw: 'softmax' | 'sigmoid',
  { classification, logitRange }: CriterionConfig,
): ClassTerm {
  const range: LogitRange = { least: 0, greatest: 0 };
  const loss = rowLoss(classification, classCount, classLaw, logitRange, range);
  const frozen: FrozenFactors & { values: Float64Array } = {
    values: new Float64Array(0),
    offset: 0,
    held: false,
  };
  const placeOf = createPlaceFinder(grid);
  const target = new Float64Array(classCount);
  const empty = new Float32Array(0);
  const row: LogitRow = {
    logits: empty,
    offset: 0,
    stride: 0,
    target,
    gradient: empty,
    gradientOffset: 0,
    gradientStride: 0,
    scale: 0,
    frozen,
  };
  const held = { logits: empty as Numbers, offset: 0, stride: 0, classes: classCount };
  const penaltyRow = { logits: empty as Numbers, offset: 0, stride: 0, gradient: empty as Numbers, scale: 0 };
  const sums = { classification: 0, range: 0, weight: 0 };
  const lambda = logitRange.kind === 'penalty' ? logitRange.lambda : 0;
  const ofClass =
    logitRange.kind !== 'off' && logitRange.reference !== 'frozen-layer' ? logitRange.reference : undefined;
  const needsReference = logitRange.kind !== 'off' && !ofClass;
  return {
    evaluate(batch, scale, rangeWeight, reference) {
      const { positives, levels, gradients } = batch;
      if (needsReference && !reference) throw missingReference(logitRange.kind);
      if (frozen.values.length < positives.count * classCount) {
        frozen.values = new Float64Array(2 * positives.count * classCount);
      }
      frozen.held = batch.held;
      sums.classification = 0;
      sums.range = 0;
      sums.weight = 0;
      for (let index = 0; index < positives.count; index++) {
        const { level, map, cell, cells } = placeOf(positives.pictures[index]!, positives.anchors[index]!);
        const quality = positives.targets[index]!;
        row.logits = levels[level]!.classes!;
        row.gradient = gradients[level]!.classes!;
        row.offset = map * classCount * cells + cell;
        row.gradientOffset = row.offset;
        row.stride = cells;
        row.gradientStride = cells;
        row.scale = scale * quality;
        frozen.offset = index * classCount;
        if (reference && needsReference) {
          held.logits = reference[level]!;
          held.offset = row.offset;
          held.stride = cells;
          logitRangeInto(range, held);
        }
        const classId = batch.classIds[positives.objects[index]!]!;
        if (ofClass) {
          range.least = ofClass[classId]!.least;
          range.greatest = ofClass[classId]!.greatest;
        }
        target[classId] = 1;
        const { weight, value } = loss.rowInto(row);
        target[classId] = 0;
        sums.classification += quality * value;
        sums.weight += weight;
        if (lambda === 0) continue;
        penaltyRow.logits = row.logits;
        penaltyRow.gradient = row.gradient;
        penaltyRow.offset = row.offset;
        penaltyRow.stride = cells;
        penaltyRow.scale = (rangeWeight * lambda) / (positives.count * classCount);
        sums.range += addRangePenalty(penaltyRow, range, classCount);
      }
      return sums;
    },
  };
}

function rowLoss(
  { kind, gamma, beta, alpha, logitNorm }: ClassLossConfig,
  classCount: number,
  classLaw: 'softmax' | 'sigmoid',
  logitRange: LogitRangeConfig,
  range: Readonly<LogitRange>,
): ClassLoss {
  const plain =
    classLaw === 'softmax'
      ? createSoftmaxLoss(kind, classCount, { gamma, beta })
      : kind === 'anchorGra'
        ? anchorGraLoss(classCount, gamma, beta)
        : sigmoidRow(createSigmoidLoss(kind, { gamma, ...(alpha !== undefined && { alpha }) }), classCount);
  if (logitRange.kind === 'zs-norm') return withRangeNorm(plain, classCount, range);
  return logitNorm === undefined ? plain : withLogitNorm(plain, classCount, logitNorm);
}

function missingReference(kind: string): ModelError {
  return new ModelError(
    `logit range '${kind}' has no reference: the class layer before adaptation did not run`,
    {
      hint: 'new classes have no such layer: give a range per class, or train with logit range off',
    },
  );
}
