// The law of one class's score at one location, made on request from the law of the quality.
import type { HeadOutputs } from '../candidates.ts';
import type { ScoreDistribution, ScoreMixture } from '../detection.ts';
import { binTailMass } from '../distribution.ts';
import type { EdgeDetectLayout } from '../head-layout.ts';
import { mixtureTailMass } from '../mixture.ts';
import type { ScoreLaw } from './decoder.ts';
import { floatsOf } from './outputs.ts';

export interface QualityOutputs {
  /** [1, A, 2] */
  readonly quality: Float32Array;
  /** [1, A, C]; absent at one class. */
  readonly classProbs?: Float32Array;
  /** [1, A, 1] */
  readonly epistemic?: Float32Array;
}

export interface QualityLaw {
  readonly scoreLaw: ScoreLaw;
  /** Points the law at the outputs of the latest run. */
  bind(outputs: HeadOutputs, parts: QualityOutputs): void;
}

/** Undefined where the model exports moments only. Bins win where a model has both. */
export function createQualityLaw(layout: EdgeDetectLayout): QualityLaw | undefined {
  if (layout.qualityBins) return binLaw(layout, layout.qualityBins);
  if (layout.qualityMixture) return mixtureLaw(layout, layout.qualityMixture);
  return undefined;
}

function binLaw(layout: EdgeDetectLayout, { output, bins }: { output: string; bins: number }): QualityLaw {
  let law: Float32Array = new Float32Array(0);
  let parts: QualityOutputs | undefined;
  return {
    bind(outputs, bound) {
      law = floatsOf(outputs, output, [1, layout.anchorCount, bins]);
      parts = bound;
    },
    scoreLaw: {
      form: 'bins',
      mixture: () => undefined,
      distribution(anchor, classId): ScoreDistribution {
        const probability = classProbability(layout, parts, anchor, classId);
        const probabilities = law.slice(anchor * bins, (anchor + 1) * bins);
        for (let bin = 0; bin < bins; bin++) probabilities[bin] = probability * probabilities[bin]!;
        // "It is not this class" is a score of 0.
        probabilities[0] = probabilities[0]! + 1 - probability;
        return { probabilities };
      },
      tailMass(anchor, classId, base) {
        if (base <= 0) return 1;
        const probability = classProbability(layout, parts, anchor, classId);
        return probability * binTailMass(law, anchor * bins, 1, bins, base);
      },
    },
  };
}

function mixtureLaw(layout: EdgeDetectLayout, output: string): QualityLaw {
  let law: Float32Array = new Float32Array(0);
  let parts: QualityOutputs | undefined;
  const qualityAt = (anchor: number): ScoreMixture => ({
    weight: law[5 * anchor]!,
    means: [law[5 * anchor + 1]!, law[5 * anchor + 2]!],
    variances: [law[5 * anchor + 3]!, law[5 * anchor + 4]!],
  });
  return {
    bind(outputs, bound) {
      law = floatsOf(outputs, output, [1, layout.anchorCount, 5]);
      parts = bound;
    },
    scoreLaw: {
      form: 'mixture',
      distribution: () => undefined,
      mixture(anchor, classId) {
        return withAtomAtZero(qualityAt(anchor), classProbability(layout, parts, anchor, classId));
      },
      tailMass(anchor, classId, base) {
        if (base <= 0) return 1;
        return classProbability(layout, parts, anchor, classId) * mixtureTailMass(qualityAt(anchor), base);
      },
    },
  };
}

/**
 * "It is not this class" adds an atom at 0 as a third part; joined with the lower part by its moments, the
 * expectation and variance of the whole stay exact.
 */
function withAtomAtZero({ weight, means, variances }: ScoreMixture, probability: number): ScoreMixture {
  const [low, high] = means[0] <= means[1] ? ([0, 1] as const) : ([1, 0] as const);
  const lowWeight = probability * (low === 0 ? weight : 1 - weight);
  const joined = lowWeight + 1 - probability;
  const share = joined > 0 ? lowWeight / joined : 0;
  const mean = share * means[low];
  const square = share * (variances[low] + means[low] ** 2);
  return {
    weight: joined,
    means: [mean, means[high]],
    variances: [Math.max(0, square - mean * mean), variances[high]],
  };
}

function classProbability(
  { classCount }: EdgeDetectLayout,
  parts: QualityOutputs | undefined,
  anchor: number,
  classId: number,
): number {
  if (parts === undefined) throw new RangeError('the law of a score is read before the first decode');
  return parts.classProbs ? parts.classProbs[anchor * classCount + classId]! : 1;
}
