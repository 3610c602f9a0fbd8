// YOLOv8, 9, 11, 12: cx cy w h and class probabilities, channel by channel or turned; box variances from a tap.
import { createAnchorTable } from '../anchors.ts';
import { ModelError } from '../errors.ts';
import type { BoxDistributionTap, YoloV8Layout } from '../head-layout.ts';
import { BestClassScan } from './best-class.ts';
import { DflSides, type SideSteps } from './dfl-sides.ts';
import { type HeadReader, PLAIN } from './head-reader.ts';
import { floatsOf } from './outputs.ts';

export function createYoloV8Reader(layout: YoloV8Layout, boxVariance: boolean): HeadReader {
  const { output, anchorCount, channels, classCount, transposed, boxDistribution } = layout;
  const shape = transposed ? [1, anchorCount, channels] : [1, channels, anchorCount];
  const boxStep = transposed ? 1 : anchorCount;
  const scan = new BestClassScan(anchorCount);
  const tap = boxVariance && boxDistribution ? createTapReader(boxDistribution, anchorCount) : undefined;
  const classShape = {
    offset: 4 * boxStep,
    step: transposed ? channels : anchorCount,
    classCount,
    count: anchorCount,
  };
  return {
    ...PLAIN,
    boxVariance: tap !== undefined,
    read(outputs, floor, into) {
      const data = floatsOf(outputs, output, shape);
      const sides = tap && floatsOf(outputs, tap.output, tap.shape);
      if (transposed) scan.scanRows(data, classShape, floor.lowest);
      else scan.scanPlanes(data, classShape, floor.lowest);
      let dropped = scan.nonFinite;
      for (let index = 0; index < scan.count; index++) {
        const anchor = scan.survivors[index]!;
        const classId = scan.bestClass[anchor]!;
        if (!floor.passes(classId, scan.best[anchor]!)) continue;
        const place = into.place(anchor, classId, scan.best[anchor]!);
        const first = transposed ? anchor * channels : anchor;
        const kept = into.keepCenter(
          data[first]!,
          data[first + boxStep]!,
          data[first + 2 * boxStep]!,
          data[first + 3 * boxStep]!,
        );
        if (kept && sides !== undefined) tap?.writeInto(into.boxVariances!, 4 * place, sides, anchor);
        if (!kept || !into.keepIfVarianceFinite()) dropped++;
      }
      return dropped;
    },
  };
}

interface TapReader {
  readonly output: string;
  readonly shape: readonly number[];
  writeInto(target: Float32Array, first: number, data: Float32Array, anchor: number): void;
}

function createTapReader(tap: BoxDistributionTap, anchorCount: number): TapReader {
  const anchors = createAnchorTable(tap.levels);
  if (anchors.count !== anchorCount) {
    throw new ModelError(
      `the levels of box distribution '${tap.output}' have ${anchors.count} locations, the boxes ${anchorCount}`,
      { hint: 'run without box variances (box_var=false), or name the layout with layout=' },
    );
  }
  const { shape, anchorStep, steps } = memoryOrder(tap, anchorCount);
  const sides = new DflSides(tap.bins, tap.values);
  return {
    output: tap.output,
    shape,
    writeInto(target, first, data, anchor) {
      sides.read(data, anchor * anchorStep, steps);
      sides.writeVariancesInto(target, first, anchors.strides[anchor]!);
    },
  };
}

interface MemoryOrder {
  readonly shape: readonly number[];
  readonly anchorStep: number;
  readonly steps: SideSteps;
}

function memoryOrder({ order, bins }: BoxDistributionTap, count: number): MemoryOrder {
  switch (order) {
    case 'bins-sides-anchors':
      return { shape: [1, bins, 4, count], anchorStep: 1, steps: { bin: 4 * count, side: count } };
    case 'sides-bins-anchors':
      return { shape: [1, 4, bins, count], anchorStep: 1, steps: { side: bins * count, bin: count } };
    case 'anchors-sides-bins':
      return { shape: [1, count, 4, bins], anchorStep: 4 * bins, steps: { side: bins, bin: 1 } };
    case 'sides-anchors-bins':
      return { shape: [1, 4, count, bins], anchorStep: bins, steps: { side: count * bins, bin: 1 } };
    default:
      return order satisfies never;
  }
}
