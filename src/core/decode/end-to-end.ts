// Rows of x1 y1 x2 y2, score, class: heads that choose their own boxes (YOLOv10, 26) and the DeepStream form.
import type { EndToEndLayout } from '../head-layout.ts';
import { type HeadReader, PLAIN } from './head-reader.ts';
import { classIdOf, floatsOf } from './outputs.ts';

/** Columns of the second output: the variance of the score, then of the sides. */
const UNCERTAINTY_COLUMNS = 5;

export function createEndToEndReader(layout: EndToEndLayout, boxVariance: boolean): HeadReader {
  const { output, rowCount, stride, classCount, suppressed, uncertainty } = layout;
  const knows = {
    scoreVariance: uncertainty?.score === true,
    boxVariance: uncertainty?.box === true && boxVariance,
  };
  return {
    ...PLAIN,
    ...knows,
    suppressed,
    read(outputs, floor, into) {
      const data = floatsOf(outputs, output, [1, rowCount, stride]); // [1, K, 6 (+ extra)]
      const variances =
        uncertainty && floatsOf(outputs, uncertainty.output, [1, rowCount, UNCERTAINTY_COLUMNS]);
      let dropped = 0;
      for (let row = 0; row < rowCount; row++) {
        const first = row * stride;
        const score = data[first + 4]!;
        if (score <= floor.lowest) continue;
        const classValue = data[first + 5]!;
        if (!Number.isFinite(score) || !Number.isFinite(classValue)) {
          dropped++;
          continue;
        }
        const classId = classIdOf(classValue, classCount, output);
        if (!floor.passes(classId, score)) continue;
        const place = into.place(row, classId, score);
        const kept = into.keepCorners(data[first]!, data[first + 1]!, data[first + 2]!, data[first + 3]!);
        if (kept && variances) {
          const from = UNCERTAINTY_COLUMNS * row;
          if (knows.scoreVariance) into.scoreVariances![place] = variances[from]!;
          if (knows.boxVariance)
            into.boxVariances!.set(variances.subarray(from + 1, from + UNCERTAINTY_COLUMNS), 4 * place);
        }
        if (!kept || !into.keepIfVarianceFinite()) dropped++;
      }
      return dropped;
    },
  };
}
