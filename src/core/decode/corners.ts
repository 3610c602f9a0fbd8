// Corners and class scores in two outputs, one row per prior (SSD, UltraFace, YOLO-NAS, exports that decode in the graph).
import type { CornersLayout } from '../head-layout.ts';
import type { Size } from '../shapes.ts';
import { BestClassScan } from './best-class.ts';
import { type HeadReader, PLAIN } from './head-reader.ts';
import { floatsOf } from './outputs.ts';

export function createCornersReader(layout: CornersLayout, input: Size, boxVariance: boolean): HeadReader {
  const { anchorCount, classCount, normalized, background } = layout;
  const boxVarName = boxVariance ? layout.boxVar : undefined;
  const scan = new BestClassScan(anchorCount);
  const skipped = background ? 1 : 0;
  const step = classCount + skipped;
  const scaleX = normalized ? input.width : 1;
  const scaleY = normalized ? input.height : 1;
  return {
    ...PLAIN,
    boxVariance: boxVarName !== undefined,
    read(outputs, floor, into) {
      const boxes = floatsOf(outputs, layout.boxes, [1, anchorCount, 4]);
      const scores = floatsOf(outputs, layout.scores, [1, anchorCount, step]);
      const variances = boxVarName && floatsOf(outputs, boxVarName, [1, anchorCount, 4]);
      scan.scanRows(scores, { offset: skipped, step, classCount, count: anchorCount }, floor.lowest);
      let dropped = scan.nonFinite;
      for (let index = 0; index < scan.count; index++) {
        const anchor = scan.survivors[index]!;
        const classId = scan.bestClass[anchor]!;
        if (!floor.passes(classId, scan.best[anchor]!)) continue;
        const place = into.place(anchor, classId, scan.best[anchor]!);
        const first = 4 * anchor;
        const kept = into.keepCorners(
          boxes[first]! * scaleX,
          boxes[first + 1]! * scaleY,
          boxes[first + 2]! * scaleX,
          boxes[first + 3]! * scaleY,
        );
        if (kept && variances) into.boxVariances!.set(variances.subarray(first, first + 4), 4 * place);
        if (!kept || !into.keepIfVarianceFinite()) dropped++;
      }
      return dropped;
    },
  };
}
