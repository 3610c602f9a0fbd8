// YOLOX without decoding in the graph: offsets in cells, logarithms of sizes, objectness, class probabilities.
import { createAnchorTable } from '../anchors.ts';
import type { YoloxLayout } from '../head-layout.ts';
import { bestOfRow } from './best-class.ts';
import { type HeadReader, PLAIN } from './head-reader.ts';
import { floatsOf } from './outputs.ts';

export function createYoloxReader(layout: YoloxLayout): HeadReader {
  const { output, classCount } = layout;
  const anchors = createAnchorTable(layout.levels);
  const step = 5 + classCount;
  return {
    ...PLAIN,
    read(outputs, floor, into) {
      const data = floatsOf(outputs, output, [1, anchors.count, step]); // [1, A, 5 + C]
      let dropped = 0;
      for (let anchor = 0; anchor < anchors.count; anchor++) {
        const first = anchor * step;
        const objectness = data[first + 4]!;
        if (objectness <= floor.lowest) continue;
        const classId = bestOfRow(data, first + 5, classCount);
        const score = classId < 0 ? Number.NaN : objectness * data[first + 5 + classId]!;
        if (!Number.isFinite(score)) {
          dropped++;
          continue;
        }
        if (!floor.passes(classId, Math.fround(score))) continue;
        into.place(anchor, classId, score);
        const stride = anchors.strides[anchor]!;
        const kept = into.keepCenter(
          (data[first]! + anchors.columns[anchor]!) * stride,
          (data[first + 1]! + anchors.rows[anchor]!) * stride,
          Math.exp(data[first + 2]!) * stride,
          Math.exp(data[first + 3]!) * stride,
        );
        if (!kept) dropped++;
      }
      return dropped;
    },
  };
}
