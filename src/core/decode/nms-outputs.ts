// Four outputs of a suppression plugin inside the graph: how many, boxes in input px, scores, classes.
import type { HeadTensor } from '../candidates.ts';
import { ModelError } from '../errors.ts';
import type { NmsOutputsLayout } from '../head-layout.ts';
import { formatShape } from '../shapes.ts';
import { type HeadReader, PLAIN } from './head-reader.ts';
import { classIdOf, floatsOf, tensorOf } from './outputs.ts';

export function createNmsOutputsReader(layout: NmsOutputsLayout): HeadReader {
  return {
    ...PLAIN,
    suppressed: true,
    read(outputs, floor, into) {
      const scoreTensor = tensorOf(outputs, layout.scores);
      const rowCount = scoreTensor.data.length;
      const scores = floatsOf(outputs, layout.scores, scoreTensor.shape); // [1, K]
      const boxes = floatsOf(outputs, layout.boxes, [1, rowCount, 4]); // [1, K, 4]
      const classes = tensorOf(outputs, layout.classes); // [1, K]
      expectRows(classes, layout.classes, rowCount);
      const found = foundCount(tensorOf(outputs, layout.count), layout.count, rowCount);
      let dropped = 0;
      for (let row = 0; row < found; row++) {
        const score = scores[row]!;
        if (score <= floor.lowest) continue;
        const classValue = Number(classes.data[row]);
        if (!Number.isFinite(score) || !Number.isFinite(classValue)) {
          dropped++;
          continue;
        }
        const classId = classIdOf(classValue, layout.classCount, layout.classes);
        if (!floor.passes(classId, score)) continue;
        into.place(row, classId, score);
        const first = 4 * row;
        const kept = into.keepCorners(boxes[first]!, boxes[first + 1]!, boxes[first + 2]!, boxes[first + 3]!);
        if (!kept) dropped++;
      }
      return dropped;
    },
  };
}

function expectRows({ data, shape }: HeadTensor, name: string, rowCount: number): void {
  if (data.length === rowCount) return;
  throw new ModelError(`output '${name}' has shape ${formatShape(shape)}, expected [1, ${rowCount}]`, {
    hint: 'name the layout of this model with layout=',
  });
}

function foundCount({ data }: HeadTensor, name: string, rowCount: number): number {
  const count = Number(data[0] ?? Number.NaN);
  if (Number.isInteger(count) && count >= 0 && count <= rowCount) return count;
  throw new ModelError(`output '${name}' says ${count} detections, expected 0 to ${rowCount}`, {
    hint: 'name the layout of this model with layout=',
  });
}
