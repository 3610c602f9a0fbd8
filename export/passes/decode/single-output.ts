// Heads that give all locations in one output, and those whose boxes are corners already.
import { anchorCount, type HeadLayout, type Size } from '#core';
import { type DecodedRows, type DecodeWriter, perAnchor } from './rows.ts';
import { lawOfTap, sideMeans, sideVariances } from './sides.ts';

type LayoutOf<K extends HeadLayout['kind']> = Extract<HeadLayout, { kind: K }>;

/** cx cy w h in px, objectness, classes: score = objectness · class. */
export function decodeYoloV5(writer: DecodeWriter, layout: LayoutOf<'yolov5'>): DecodedRows {
  const { output, anchorCount: anchors, stride, classCount } = layout;
  const rows = writer.source(output, [anchors, stride]);
  return {
    boxes: writer.corners(writer.columns(rows, 'center', 0, 2), writer.columns(rows, 'size', 2, 4)),
    scores: productScores(writer, rows, classCount),
  };
}

/** Objectness in column 4 times the classes behind it. */
function productScores(writer: DecodeWriter, rows: string, classCount: number): string {
  const objectness = writer.columns(rows, 'objectness', 4, 5);
  const classes = writer.columns(rows, 'classes', 5, 5 + classCount);
  return writer.add('Mul', [classes, objectness], 'products');
}

/** Offsets in cells and logarithms of sizes: centre (offset + cell) · stride, size exp(·) · stride. */
export function decodeYolox(writer: DecodeWriter, layout: LayoutOf<'yolox'>): DecodedRows {
  const { output, levels, classCount } = layout;
  const rows = writer.source(output, [anchorCount(levels), 5 + classCount]);
  return {
    boxes: gridBoxes(
      writer,
      writer.columns(rows, 'offsets', 0, 2),
      writer.columns(rows, 'growth', 2, 4),
      levels,
    ),
    scores: productScores(writer, rows, classCount),
  };
}

/** Centre (offset + cell) · stride, size exp(growth) · stride. */
export function gridBoxes(
  writer: DecodeWriter,
  offsets: string,
  growth: string,
  levels: LayoutOf<'yolox'>['levels'],
): string {
  const cells = perAnchor(writer, 'cells', levels, ({ column, row }) => [column, row]);
  const strides = perAnchor(writer, 'strides', levels, ({ stride }) => [stride]);
  const moved = writer.add('Add', [offsets, cells], 'moved');
  const center = writer.add('Mul', [moved, strides], 'center');
  const size = writer.add('Mul', [writer.add('Exp', [growth], 'growth.exp'), strides], 'size');
  return writer.corners(center, size);
}

/** cx cy w h in px and classes, channel by channel or anchor by anchor; what follows the classes is cut off. */
export function decodeYoloV8(
  writer: DecodeWriter,
  layout: LayoutOf<'yolov8'>,
  boxVariance: boolean,
): DecodedRows {
  const { output, anchorCount: anchors, channels, classCount, transposed, boxDistribution } = layout;
  const values = writer.source(output, transposed ? [anchors, channels] : [channels, anchors]);
  const part = (label: string, first: number, end: number) => {
    if (transposed) return writer.columns(values, label, first, end);
    const planes = writer.slice(values, `${label}.planes`, 1, [first, end]);
    return writer.transpose(planes, label, [0, 2, 1]);
  };
  const boxes = writer.corners(part('center', 0, 2), part('size', 2, 4));
  const scores = part('classes', 4, 4 + classCount);
  if (!boxVariance || !boxDistribution) return { boxes, scores };
  const laws = lawOfTap(writer, boxDistribution);
  return { boxes, scores, boxVariance: sideVariances(writer, laws, sideMeans(writer, laws)) };
}

/** Corners, as parts of the input or in px; a background class is cut off. */
export function decodeCorners(
  writer: DecodeWriter,
  layout: LayoutOf<'corners'>,
  { width, height }: Size,
  boxVariance: boolean,
): DecodedRows {
  const { anchorCount: anchors, classCount, normalized, background, boxVar } = layout;
  const first = background ? 1 : 0;
  const corners = writer.source(layout.boxes, [anchors, 4]);
  const scores = writer.source(layout.scores, [anchors, classCount + first]);
  const scale = [width, height, width, height];
  return {
    boxes: normalized
      ? writer.add('Mul', [corners, writer.floats('input_size', [1, 1, 4], scale)], 'corners')
      : corners,
    scores: background ? writer.columns(scores, 'classes', 1, 1 + classCount) : scores,
    ...(boxVariance && boxVar ? { boxVariance: writer.source(boxVar, [anchors, 4]) } : {}),
  };
}

/** Our own head without the law of its quality: score = class probability · E[quality]. */
export function decodeOwn(
  writer: DecodeWriter,
  layout: LayoutOf<'edge-detect'>,
  boxVariance: boolean,
): DecodedRows {
  const { anchorCount: anchors, classCount, classProbs, boxVar } = layout;
  const quality = writer.columns(writer.source(layout.quality, [anchors, 2]), 'quality', 0, 1);
  return {
    boxes: writer.source(layout.boxes, [anchors, 4]),
    scores: classProbs
      ? writer.add('Mul', [writer.source(classProbs, [anchors, classCount]), quality], 'products')
      : quality,
    ...(boxVariance && boxVar ? { boxVariance: writer.source(boxVar, [anchors, 4]) } : {}),
  };
}
