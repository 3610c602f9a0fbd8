// FastestDet: one map of objectness, offsets, sizes and class softmax; score = class^0.4 * objectness^0.6.
// Objectness and classes are probabilities; offsets (tanh) and sizes (sigmoid) are left raw by the graph.
import type { FastestDetLayout } from '../head-layout.ts';
import type { Size } from '../shapes.ts';
import { BestClassScan } from './best-class.ts';
import { sigmoid } from './floor.ts';
import { type HeadReader, PLAIN } from './head-reader.ts';
import { floatsOf } from './outputs.ts';

export function createFastestDetReader(layout: FastestDetLayout, input: Size): HeadReader {
  const { output, classCount } = layout;
  const { columns, rows } = layout.level;
  const cells = columns * rows;
  const scan = new BestClassScan(cells);
  return {
    ...PLAIN,
    read(outputs, floor, into) {
      const map = floatsOf(outputs, output, [1, 5 + classCount, rows, columns]);
      // The class alone rules nothing out cheaply: score > f needs class > f^2.5 (objectness is at most 1).
      const classFloor = Math.max(0, floor.lowest) ** 2.5 * (1 - 1e-5);
      scan.scanPlanes(map, { offset: 5 * cells, step: cells, classCount, count: cells }, classFloor);
      let dropped = scan.nonFinite;
      for (let index = 0; index < scan.count; index++) {
        const cell = scan.survivors[index]!;
        const classId = scan.bestClass[cell]!;
        const score = Math.fround(scan.best[cell]! ** 0.4 * map[cell]! ** 0.6);
        if (!Number.isFinite(score)) {
          dropped++;
          continue;
        }
        if (!floor.passes(classId, score)) continue;
        into.place(cell, classId, score);
        const column = cell % columns;
        const row = (cell - column) / columns;
        const kept = into.keepCenter(
          ((column + Math.tanh(map[cells + cell]!)) / columns) * input.width,
          ((row + Math.tanh(map[2 * cells + cell]!)) / rows) * input.height,
          sigmoid(map[3 * cells + cell]!) * input.width,
          sigmoid(map[4 * cells + cell]!) * input.height,
        );
        if (!kept) dropped++;
      }
      return dropped;
    },
  };
}
