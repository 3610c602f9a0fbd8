// Heads that give all locations in one output: YOLOv5, YOLOv8, YOLOX, joined GFL, end-to-end.
import type { Level } from '#core';
import { anchorCount, levelsWithCount } from '#core';
import { classesAmong, describeExtra } from './class-count.ts';
import { distributionTap } from './distribution-tap.ts';
import type { HeadFacts, HeadOutput, Proposal, Recogniser } from './facts.ts';
import { cellLevels, decodesGrid } from './facts.ts';
import { computedBy, featureParts } from './tail.ts';

/** The row output; further rank-4 and rank-5 outputs (masks, maps before decoding) are not read. */
function onlyRows({ rows }: HeadFacts): HeadOutput | undefined {
  return rows.length === 1 ? rows[0] : undefined;
}

/** `[1, 4 + C, A]` or `[1, A, 4 + C]` with one location per cell. */
export const recogniseYoloV8: Recogniser = (facts) => {
  const output = onlyRows(facts);
  if (!output) return [];
  const [first = 0, second = 0] = output.dims;
  return [
    ...yoloV8(facts, output, { channels: first, anchors: second, transposed: false }),
    ...yoloV8(facts, output, { channels: second, anchors: first, transposed: true }),
  ];
};

interface RowShape {
  readonly channels: number;
  readonly anchors: number;
  readonly transposed: boolean;
}

function yoloV8(
  facts: HeadFacts,
  output: HeadOutput,
  { channels, anchors, transposed }: RowShape,
): Proposal[] {
  const levels = cellLevels(facts, anchors);
  const classCount = levels && plainClasses(facts, output, channels - 4, transposed);
  if (!levels || classCount === undefined) return [];
  if (facts.forced !== 'yolov8' && !looksLikeYoloV8(facts, output, transposed)) return [];
  const extra = channels - 4 - classCount;
  const tap = distributionTap(facts, levels);
  return [
    {
      layout: {
        kind: 'yolov8',
        output: output.name,
        classCount,
        anchorCount: anchors,
        channels,
        transposed,
        ...(tap ? { boxDistribution: tap } : {}),
      },
      evidence: [
        `${anchors} anchors are one per cell at ${describeLevels(levels)}`,
        `${channels} values per anchor: box 4 and ${classCount} classes${describeExtra(facts, extra)}`,
        ...(transposed ? ['anchors come first: transposed'] : []),
      ],
    },
  ];
}

/** Box and classes are joined from two tensors; a third would be the objectness, an Exp a decoded YOLOX. */
function looksLikeYoloV8(facts: HeadFacts, output: HeadOutput, transposed: boolean): boolean {
  const tail = facts.tail(output.name);
  if (tail.operators.has('Exp') || selectsClass(facts, output)) return false;
  if (decodesGrid(facts, output.name) === false) return false;
  const parts = featureParts(facts.view, output.name, transposed ? 'last' : 'second');
  if (!parts || parts.length === 2) return true;
  return parts.length !== 3 || facts.maskChannels > 0 || facts.metadata.task === 'pose';
}

/** Classes of a box-and-classes row; where no names say how many, a nested join in the graph may. */
function plainClasses(facts: HeadFacts, output: HeadOutput, values: number, transposed: boolean) {
  const declared = facts.classCount;
  if (declared !== undefined || facts.maskChannels > 0) return classesAmong(facts, values);
  const parts = featureParts(facts.view, output.name, transposed ? 'last' : 'second');
  const inner = parts?.[0] === undefined ? undefined : facts.view.producer(parts[0]);
  // Pose and segmentation heads join [join of box and classes, keypoints].
  if (inner?.opType === 'Concat' && computedBy(facts.view, inner.input.at(-1) ?? '') === 'Sigmoid') {
    const width = facts.view.shape(inner.output[0] ?? '')?.[transposed ? 2 : 1];
    return typeof width === 'number' && width > 4 ? width - 4 : undefined;
  }
  return classesAmong(facts, values);
}

/** `[1, A, 5 + C]` in input px: three anchors per cell, or one per cell where the graph decodes the grid itself. */
export const recogniseYoloV5: Recogniser = (facts) => {
  const output = onlyRows(facts);
  if (!output) return [];
  const [anchors = 0, stride = 0] = output.dims;
  const classCount = classesAmong(facts, stride - 5);
  if (classCount === undefined || (facts.forced !== 'yolov5' && selectsClass(facts, output))) return [];
  const triple = anchors % 3 === 0 ? levelsWithCount(facts.input, anchors / 3)[0] : undefined;
  const single = cellLevels(facts, anchors);
  if (!triple && !(single && isDecodedGrid(facts, output))) return [];
  const levels = triple ?? single ?? [];
  return [
    {
      layout: { kind: 'yolov5', output: output.name, classCount, anchorCount: anchors, stride },
      evidence: [
        `${anchors} anchors are ${triple ? 'three' : 'one'} per cell at ${describeLevels(levels)}`,
        `${stride} values per anchor: box 4, objectness and ${classCount} classes${describeExtra(facts, stride - 5 - classCount)}`,
        ...(triple ? [] : ['the graph adds the grid itself: boxes are in px']),
      ],
    },
  ];
};

function isDecodedGrid(facts: HeadFacts, output: HeadOutput): boolean {
  if (facts.forced === 'yolov5') return true;
  if (decodesGrid(facts, output.name) !== true) return false;
  const parts = featureParts(facts.view, output.name, 'last');
  return facts.tail(output.name).operators.has('Exp') || !parts || parts.length === 3;
}

/** `[1, A, 5 + C]` of grid offsets, one location per cell, nothing decoded. */
export const recogniseYolox: Recogniser = (facts) => {
  const output = onlyRows(facts);
  if (!output) return [];
  const [anchors = 0, stride = 0] = output.dims;
  const levels = cellLevels(facts, anchors);
  const classCount = classesAmong(facts, stride - 5);
  if (!levels || classCount === undefined || stride - 5 !== classCount) return [];
  if (facts.forced !== 'yolox') {
    if (decodesGrid(facts, output.name) === true || selectsClass(facts, output)) return [];
    if (featureParts(facts.view, output.name, 'last')?.length === 2) return [];
  }
  return [
    {
      layout: { kind: 'yolox', output: output.name, classCount, levels },
      evidence: [
        `${anchors} anchors are one per cell at ${describeLevels(levels)}`,
        `${stride} values per anchor: box 4, objectness and ${classCount} classes`,
        'nothing in the graph adds the grid: boxes are raw offsets',
      ],
    },
  ];
};

/** NanoDet-Plus: `[1, A, C + 4 * bins]`. */
export const recogniseJoinedGfl: Recogniser = (facts) => {
  const output = onlyRows(facts);
  if (!output) return [];
  const [anchors = 0, values = 0] = output.dims;
  const levels = cellLevels(facts, anchors);
  const forced = facts.forced === 'gfl';
  if (!levels || (!forced && decodesGrid(facts, output.name) === true)) return [];
  const parts = featureParts(facts.view, output.name, 'last');
  const [scores, distances] = parts ?? [];
  const scoresFirst = scores !== undefined && computedBy(facts.view, scores) === 'Sigmoid';
  const shown = parts?.length === 2 && scoresFirst && computedBy(facts.view, distances ?? '') !== 'Sigmoid';
  if (!forced && !shown) return [];
  // NanoDet-Plus has 8 bins; other counts need to be said by the number of classes.
  const classCount = facts.classCount ?? values - 32;
  const bins = (values - classCount) / 4;
  if (classCount < 1 || !Number.isInteger(bins) || bins < 4) return [];
  let firstRow = 0;
  const gflLevels = levels.map((level) => {
    const entry = { ...level, scores: output.name, distances: output.name, firstRow };
    firstRow += level.columns * level.rows;
    return entry;
  });
  return [
    {
      layout: {
        kind: 'gfl',
        classCount,
        bins,
        levels: gflLevels,
        cellOffset: 0,
        scoresAre: scoresFirst ? 'probabilities' : 'logits',
      },
      evidence: [
        `${anchors} anchors are one per cell at ${describeLevels(levels)}`,
        `${values} values per anchor: ${classCount} classes, then 4 sides of ${bins} bins`,
      ],
    },
  ];
};

/** `[1, K, 6]`: corners, score, class. */
export const recogniseEndToEnd: Recogniser = (facts) => {
  const output = onlyRows(facts);
  if (!output) return [];
  const [rows = 0, stride = 0] = output.dims;
  const extra = stride - 6;
  if (extra < 0) return [];
  const perAnchor = isAnchorCount(facts, rows);
  const forced = facts.forced === 'end-to-end';
  const { endToEnd } = facts.metadata;
  const suppressed =
    !perAnchor || endToEnd === true || facts.tail(output.name).operators.has('NonMaxSuppression');
  if (!forced && !suppressed && !selectsClass(facts, output)) return [];
  if (!forced && extra > 0 && !explainsLongRow(facts, output, extra)) return [];
  return [
    {
      layout: {
        kind: 'end-to-end',
        output: output.name,
        classCount: facts.classCount ?? 0,
        rowCount: rows,
        stride,
        suppressed,
      },
      evidence: [
        suppressed
          ? `${rows} rows are no anchor count of this input: the graph has chosen them`
          : `${rows} rows are one per anchor, each with its best class: suppression is still to do`,
        `${stride} values per row: corners 4, score, class${describeExtra(facts, extra)}`,
      ],
    },
  ];
};

/** A longer row needs a reason: masks, keypoints, or a model that says it suppresses by itself. */
function explainsLongRow(facts: HeadFacts, { dims }: HeadOutput, extra: number): boolean {
  const { endToEnd, task, keypointShape } = facts.metadata;
  if (facts.maskChannels === extra || endToEnd === true) return true;
  // `[1, 56, A]` of a pose model is turned: its second axis counts the anchors.
  if (isAnchorCount(facts, dims[1] ?? 0)) return false;
  if (keypointShape) return extra === keypointShape.reduce((product, count) => product * count, 1);
  return task === 'pose';
}

/** DeepStream exports take the best class of every anchor inside the graph. */
function selectsClass(facts: HeadFacts, { name, dims }: HeadOutput): boolean {
  if ((dims[1] ?? 0) < 6) return false;
  const { operators } = facts.tail(name);
  return ['ArgMax', 'TopK', 'NonMaxSuppression'].some((operator) => operators.has(operator));
}

function isAnchorCount(facts: HeadFacts, count: number): boolean {
  const thirds = count % 3 === 0 ? levelsWithCount(facts.input, count / 3) : [];
  return levelsWithCount(facts.input, count).length > 0 || thirds.length > 0;
}

function describeLevels(levels: readonly Level[]): string {
  return `strides ${levels.map(({ stride }) => stride).join(', ')} (${anchorCount(levels)} cells)`;
}
