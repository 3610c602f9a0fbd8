// Our own wire format: boxes, class probabilities, and the law of the quality that scales them.
// Score of class k is the law of quality * [class is k]: E_k = p_k E[Q], Var_k = p_k (Var[Q] + E[Q]²) - E_k².
import type { HeadOutputs } from '../candidates.ts';
import type { EdgeDetectLayout } from '../head-layout.ts';
import { bestOfRow } from './best-class.ts';
import type { HeadReader } from './head-reader.ts';
import { floatsOf } from './outputs.ts';
import { createQualityLaw, type QualityOutputs } from './quality-law.ts';

export function createEdgeDetectReader(layout: EdgeDetectLayout, boxVariance: boolean): HeadReader {
  const { anchorCount, classCount } = layout;
  const law = createQualityLaw(layout);
  const withBoxVariance = boxVariance && layout.boxVar !== undefined;
  return {
    scoreVariance: true,
    epistemic: layout.qualityEpistemic !== undefined,
    boxVariance: withBoxVariance,
    suppressed: false,
    ...(law && { scoreLaw: law.scoreLaw }),
    read(outputs, floor, into) {
      const boxes = floatsOf(outputs, layout.boxes, [1, anchorCount, 4]);
      const boxVar = withBoxVariance ? floatsOf(outputs, layout.boxVar!, [1, anchorCount, 4]) : undefined;
      const parts = readParts(layout, outputs);
      law?.bind(outputs, parts);
      let dropped = 0;
      for (let anchor = 0; anchor < anchorCount; anchor++) {
        const quality = parts.quality[2 * anchor]!;
        // p_k is at most 1, so no class of this location can exceed the quality.
        if (quality <= floor.lowest) continue;
        const classId = parts.classProbs ? bestOfRow(parts.classProbs, anchor * classCount, classCount) : 0;
        const probability = parts.classProbs ? parts.classProbs[anchor * classCount + classId]! : 1;
        const score = Math.fround(probability * quality);
        const variance = scoreVariance(parts, anchor, probability);
        if (classId < 0 || !Number.isFinite(score) || !Number.isFinite(variance)) {
          dropped++;
          continue;
        }
        if (!floor.passes(classId, score)) continue;
        const place = into.place(anchor, classId, score);
        const first = 4 * anchor;
        if (!into.keepCorners(boxes[first]!, boxes[first + 1]!, boxes[first + 2]!, boxes[first + 3]!)) {
          dropped++;
          continue;
        }
        into.scoreVariances![place] = variance;
        if (parts.epistemic) {
          into.scoreVariancesEpistemic![place] = epistemicVariance(parts.epistemic[anchor]!, probability);
        }
        if (boxVar) into.boxVariances!.set(boxVar.subarray(first, first + 4), 4 * place);
        if (!into.keepIfVarianceFinite()) dropped++;
      }
      return dropped;
    },
  };
}

function readParts(layout: EdgeDetectLayout, outputs: HeadOutputs): QualityOutputs {
  const { anchorCount, classCount, classProbs, qualityEpistemic } = layout;
  return {
    quality: floatsOf(outputs, layout.quality, [1, anchorCount, 2]),
    ...(classProbs && { classProbs: floatsOf(outputs, classProbs, [1, anchorCount, classCount]) }),
    ...(qualityEpistemic && { epistemic: floatsOf(outputs, qualityEpistemic, [1, anchorCount, 1]) }),
  };
}

/** The epistemic part adds to the variance of the quality (law of total variance). */
function scoreVariance({ quality, epistemic }: QualityOutputs, anchor: number, probability: number): number {
  const mean = quality[2 * anchor]!;
  const variance = quality[2 * anchor + 1]! + (epistemic ? epistemic[anchor]! : 0);
  const expectation = probability * mean;
  return Math.max(0, probability * (variance + mean * mean) - expectation * expectation);
}

/**
 * Part of the above that the passes disagree on: the variance of p_k E_t[Q] over passes t. The wire holds p_k averaged
 * over the passes, so p_k counts as common to all of them: p_k² Var_t(E_t[Q]). Exact at one class, where p = 1; with
 * several, what the passes disagree on about the class is not in it.
 */
function epistemicVariance(qualityEpistemic: number, probability: number): number {
  // float16 rounding can leave a spike a little below 0.
  return Math.max(0, probability * probability * qualityEpistemic);
}
