// Heads that give their outputs level by level, or as feature maps.
import { anchorCount, type HeadLayout, type Level, type Size } from '#core';
import { type DecodedRows, type DecodeWriter, perAnchor } from './rows.ts';
import { boxesFromMeans, lawOfLogits, sideMeans, sideVariances } from './sides.ts';
import { gridBoxes } from './single-output.ts';

type LayoutOf<K extends HeadLayout['kind']> = Extract<HeadLayout, { kind: K }>;

const CELL_CENTRE = 0.5;

/** NanoDet, PicoDet: rows of classes and of side distributions, per level or joined. */
export function decodeGfl(writer: DecodeWriter, layout: LayoutOf<'gfl'>, boxVariance: boolean): DecodedRows {
  const { scores, sides } = gflRows(writer, layout);
  return sideBoxes(writer, { ...layout, scores, sides, boxVariance });
}

function gflRows(writer: DecodeWriter, { levels, classCount, bins }: LayoutOf<'gfl'>) {
  const [first] = levels;
  const joined = levels.every(({ scores, distances }) => scores === first?.scores && distances === scores);
  if (joined && first) {
    const end = classCount + 4 * bins;
    const rows = writer.source(first.scores, [anchorCount(levels), end]);
    return {
      scores: writer.columns(rows, 'classes', 0, classCount),
      sides: writer.columns(rows, 'sides', classCount, end),
    };
  }
  const all = (label: string, of: 'scores' | 'distances', width: number) =>
    writer.join(
      levels.map((level) => writer.source(level[of], [level.columns * level.rows, width])),
      label,
      1,
    );
  return { scores: all('classes', 'scores', classCount), sides: all('sides', 'distances', 4 * bins) };
}

/** Feature maps before any decoding. */
export function decodeRawDfl(
  writer: DecodeWriter,
  layout: LayoutOf<'raw-dfl'>,
  boxVariance: boolean,
): DecodedRows {
  const { levels, classCount, bins } = layout;
  const planes = levels.map((level) => {
    const { scores, distances, firstScoreChannel, columns, rows } = level;
    const channels = firstScoreChannel + classCount;
    const map = writer.source(scores, [channels, columns * rows]);
    if (scores === distances) {
      return {
        scores: writer.slice(map, 'level.classes', 1, [firstScoreChannel, channels]),
        sides: writer.slice(map, 'level.sides', 1, [0, 4 * bins]),
      };
    }
    return { scores: map, sides: writer.source(distances, [4 * bins, columns * rows]) };
  });
  const rows = (label: 'scores' | 'sides') => {
    const joined = writer.join(
      planes.map((level) => level[label]),
      `${label}.planes`,
      2,
    );
    return writer.transpose(joined, label, [0, 2, 1]);
  };
  const parts = { scores: rows('scores'), sides: rows('sides') };
  return sideBoxes(writer, { ...layout, ...parts, cellOffset: CELL_CENTRE, boxVariance });
}

interface SideRows extends Pick<LayoutOf<'gfl'>, 'bins' | 'cellOffset' | 'scoresAre'> {
  readonly levels: readonly Level[];
  /** `[N, A, C]` */
  readonly scores: string;
  /** `[N, A, 4 · bins]` of logits. */
  readonly sides: string;
  readonly boxVariance: boolean;
}

function sideBoxes(writer: DecodeWriter, rows: SideRows): DecodedRows {
  const { levels, bins, cellOffset, scoresAre } = rows;
  const logits = writer.reshape(rows.sides, 'logits', [0, anchorCount(levels), 4, bins]);
  const laws = { law: lawOfLogits(writer, logits), bins, levels };
  const means = sideMeans(writer, laws);
  return {
    boxes: boxesFromMeans(writer, means, levels, cellOffset),
    scores: scoresAre === 'logits' ? writer.add('Sigmoid', [rows.scores], 'probabilities') : rows.scores,
    ...(rows.boxVariance ? { boxVariance: sideVariances(writer, laws, means) } : {}),
  };
}

/** One map: objectness, offsets before tanh, sizes before sigmoid, classes; score = class^.4 · objectness^.6. */
export function decodeFastestDet(
  writer: DecodeWriter,
  layout: LayoutOf<'fastestdet'>,
  { width, height }: Size,
): DecodedRows {
  const { output, classCount, level } = layout;
  const map = writer.source(output, [5 + classCount, level.columns * level.rows]);
  const rows = writer.transpose(map, 'rows', [0, 2, 1]);
  const power = (label: string, [first, end]: readonly [number, number], exponent: number) =>
    writer.add(
      'Pow',
      [writer.columns(rows, label, first, end), writer.floats(`${label}.exponent`, [], [exponent])],
      `${label}.power`,
    );
  const objectness = power('objectness', [0, 1], 0.6);
  const classes = power('classes', [5, 5 + classCount], 0.4);
  const cells = perAnchor(writer, 'cells', [level], ({ column, row }) => [column, row]);
  const cell = writer.floats('cell_size', [1, 1, 2], [width / level.columns, height / level.rows]);
  const input = writer.floats('input_size', [1, 1, 2], [width, height]);
  const offset = writer.add('Tanh', [writer.columns(rows, 'offset', 1, 3)], 'offset.tanh');
  const part = writer.add('Sigmoid', [writer.columns(rows, 'part', 3, 5)], 'part.sigmoid');
  const center = writer.add('Mul', [writer.add('Add', [offset, cells], 'moved'), cell], 'center');
  return {
    boxes: writer.corners(center, writer.add('Mul', [part, input], 'size')),
    scores: writer.add('Mul', [classes, objectness], 'products'),
  };
}

/** YuNet: score = √(class · objectness), boxes as in YOLOX. */
export function decodeYunet(writer: DecodeWriter, { levels }: LayoutOf<'yunet'>): DecodedRows {
  const all = (of: 'cls' | 'obj' | 'bbox', width: number) =>
    writer.join(
      levels.map((level) => writer.source(level[of], [level.columns * level.rows, width])),
      of,
      1,
    );
  const product = writer.add('Mul', [all('cls', 1), all('obj', 1)], 'product');
  const above = writer.add('Max', [product, writer.floats('least', [], [0])], 'product.above');
  const within = writer.add('Min', [above, writer.floats('most', [], [1])], 'product.within');
  const boxes = all('bbox', 4);
  return {
    boxes: gridBoxes(
      writer,
      writer.columns(boxes, 'offsets', 0, 2),
      writer.columns(boxes, 'growth', 2, 4),
      levels,
    ),
    scores: writer.add('Sqrt', [within], 'score'),
  };
}
