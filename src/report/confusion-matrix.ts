// Which class is taken for which, what is missed and what is found where nothing is.
import type { TopLevelSpec } from 'vega-lite';
import { DataError } from '#core';
import { chartLabels } from './labels.ts';
import { nameAxis } from './panel-spec.ts';
import { type Chart, renderSpec } from './render-chart.ts';
import { sheetOf } from './sheet.ts';
import { COLOURS } from './style.ts';

export interface ConfusionMatrix {
  readonly classNames: readonly string[];
  /**
   * [(C + 1) · (C + 1)] row by row: row = predicted, column = true. The last row holds objects that were missed, the
   * last column detections where nothing is.
   */
  readonly counts: ArrayLike<number>;
  /** Least score and overlap of a match. */
  readonly minScore?: number;
  readonly iou?: number;
}

interface Cell {
  readonly predicted: string;
  readonly truth: string;
  readonly share: number;
  readonly text: string;
  readonly strong: boolean;
}

/** Above this share of the darkest a cell is so full that its number must be light. */
const STRONG = 0.55;

/**
 * @param normalized each column as shares of its sum, as YOLO's `confusion_matrix_normalized.png` has it
 * @throws DataError where the counts do not fit the classes
 */
export async function confusionMatrixChart(
  matrix: ConfusionMatrix,
  { normalized = false } = {},
): Promise<Chart> {
  const { classNames, counts, minScore, iou } = matrix;
  const side = classNames.length + 1;
  if (counts.length !== side * side) {
    throw new DataError(
      `a confusion matrix of ${classNames.length} classes has ${side * side} cells with its background, found ${counts.length}`,
      { hint: 'give (classes + 1)² counts, row by row' },
    );
  }
  const labels = [...chartLabels(classNames, 16), 'background'];
  const cells = cellsOf(counts, labels, normalized);
  const title = `Confusion matrix${normalized ? ', shares of each true class' : ''}`;
  const at = [
    ...(minScore === undefined ? [] : [`score from ${minScore}`]),
    ...(iou === undefined ? [] : [`IoU from ${iou}`]),
  ];
  const svg = await renderSpec(specOf(cells, labels, sizeOfCell(side)));
  const diagonal = classNames.reduce((sum, _, place) => sum + (counts[place * side + place] ?? 0), 0);
  const total = Array.from(counts).reduce((sum, count) => sum + count, 0);
  return sheetOf([svg], {
    title,
    ...(at.length > 0 ? { note: at.join(', ') } : {}),
    columns: 1,
    description: `${title}: ${classNames.length} classes and background; ${diagonal} of ${total} entries lie on the diagonal.`,
  });
}

/** Empty cells are left out: of 80 classes nearly all are. */
function cellsOf(counts: ArrayLike<number>, labels: readonly string[], normalized: boolean): readonly Cell[] {
  const side = labels.length;
  const columnSums = labels.map((_, column) =>
    labels.reduce((sum, __, row) => sum + (counts[row * side + column] ?? 0), 0),
  );
  const values = Array.from(counts, (count, place) =>
    normalized ? count / Math.max(1, columnSums[place % side] ?? 0) : count,
  );
  const greatest = normalized ? 1 : Math.max(1, ...values);
  return values.flatMap((value, place) => {
    if (!(value > 0)) return [];
    // Counts differ by thousands: the root lets small confusions be seen.
    const share = normalized ? value : Math.sqrt(value / greatest);
    return [
      {
        predicted: labels[Math.floor(place / side)] ?? '',
        truth: labels[place % side] ?? '',
        share: Math.max(0.04, share),
        text: normalized ? shortShare(value) : shortCount(value),
        strong: share > STRONG,
      },
    ];
  });
}

/** `.07`; nothing for what rounds to none. */
function shortShare(share: number): string {
  return share < 0.005 ? '' : share.toFixed(2).replace(/^0/, '');
}

function shortCount(count: number): string {
  return count < 10_000 ? `${count}` : `${Math.round(count / 1000)}k`;
}

/** Px; a number fits from `NUMBERS_FROM` on. */
function sizeOfCell(side: number): number {
  if (side <= 14) return Math.max(NUMBERS_FROM, Math.min(52, Math.floor(230 / side)));
  return side <= 32 ? 18 : 13;
}
const NUMBERS_FROM = 28;

function specOf(cells: readonly Cell[], labels: readonly string[], cell: number): TopLevelSpec {
  const axis = { ...nameAxis(labels), domain: false, ticks: false };
  const small = cell < 18 ? { labelFontSize: 9 } : {};
  const scale = { domain: labels, paddingInner: 0.04, paddingOuter: 0 };
  const encoding = {
    x: {
      field: 'truth',
      type: 'nominal',
      title: 'true',
      scale,
      axis: { ...axis, ...small, labelAngle: -90 },
    },
    y: { field: 'predicted', type: 'nominal', title: 'predicted', scale, axis: { ...axis, ...small } },
  };
  const numbers = {
    mark: { type: 'text', fontSize: 10, aria: false },
    encoding: {
      ...encoding,
      text: { field: 'text' },
      color: {
        field: 'strong',
        type: 'nominal',
        scale: { domain: [true, false], range: [COLOURS.surface, COLOURS.text] },
        legend: null,
      },
    },
  };
  return {
    width: { step: cell },
    height: { step: cell },
    data: { values: cells },
    layer: [
      {
        data: { values: labels.flatMap((truth) => labels.map((predicted) => ({ truth, predicted }))) },
        transform: [{ filter: 'datum.truth === datum.predicted' }],
        mark: { type: 'rect', color: COLOURS.grid, aria: false },
        encoding,
      },
      {
        mark: { type: 'rect', color: COLOURS.main, aria: false },
        encoding: {
          ...encoding,
          fillOpacity: {
            field: 'share',
            type: 'quantitative',
            scale: { domain: [0, 1], range: [0, 1] },
            legend: null,
          },
        },
      },
      ...(cell >= NUMBERS_FROM ? [numbers] : []),
    ],
  } as unknown as TopLevelSpec;
}
