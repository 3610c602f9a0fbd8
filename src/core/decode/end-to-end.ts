// Rows of x1 y1 x2 y2, score, class: heads that choose their own boxes (YOLOv10, 26) and the DeepStream form.
import type { EndToEndLayout } from '../head-layout.ts';
import { type HeadReader, PLAIN } from './head-reader.ts';
import { classIdOf, floatsOf } from './outputs.ts';

export function createEndToEndReader(layout: EndToEndLayout): HeadReader {
  const { output, rowCount, stride, classCount, suppressed } = layout;
  return {
    ...PLAIN,
    suppressed,
    read(outputs, floor, into) {
      const data = floatsOf(outputs, output, [1, rowCount, stride]); // [1, K, 6 (+ extra)]
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
        into.place(row, classId, score);
        const kept = into.keepCorners(data[first]!, data[first + 1]!, data[first + 2]!, data[first + 3]!);
        if (!kept) dropped++;
      }
      return dropped;
    },
  };
}
