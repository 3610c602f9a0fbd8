// YOLOv5, v7 and decoded YOLOX: rows of cx cy w h, objectness, class probabilities.
import type { YoloV5Layout } from '../head-layout.ts';
import { bestOfRow } from './best-class.ts';
import { type HeadReader, PLAIN } from './head-reader.ts';
import { floatsOf } from './outputs.ts';

export function createYoloV5Reader(layout: YoloV5Layout): HeadReader {
  const { output, anchorCount, classCount, stride } = layout;
  return {
    ...PLAIN,
    read(outputs, floor, into) {
      const data = floatsOf(outputs, output, [1, anchorCount, stride]); // [1, A, 5 + C (+ extra)]
      let dropped = 0;
      for (let anchor = 0; anchor < anchorCount; anchor++) {
        const first = anchor * stride;
        const objectness = data[first + 4]!;
        // A class probability is at most 1, so the product cannot exceed the objectness.
        if (objectness <= floor.lowest) continue;
        const classId = bestOfRow(data, first + 5, classCount);
        const score = classId < 0 ? Number.NaN : objectness * data[first + 5 + classId]!;
        if (!Number.isFinite(score)) {
          dropped++;
          continue;
        }
        if (!floor.passes(classId, Math.fround(score))) continue;
        into.place(anchor, classId, score);
        const kept = into.keepCenter(data[first]!, data[first + 1]!, data[first + 2]!, data[first + 3]!);
        if (!kept) dropped++;
      }
      return dropped;
    },
  };
}
