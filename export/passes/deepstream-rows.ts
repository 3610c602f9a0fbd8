// What DeepStream's parsers read: one row per box with its best class, and beside it how sure each number is.
import { ModelError } from '#core';
import {
  type Axis,
  ElementType,
  elementTypeOf,
  graphOf,
  type ModelProto,
  opsetVersion,
  prune,
  shapeOf,
  type ValueInfoProto,
  valueInfo,
  withGraph,
} from '#onnx';
import { GraphWriter } from './graph-writer.ts';
import { freeTensorNames } from './rename-tensors.ts';

/** The parsers read the first output: the rows come first. */
export const DEEPSTREAM_OUTPUTS = { rows: 'output', uncertainty: 'uncertainty' } as const;

export interface DeepstreamRowsOptions {
  /** Whether the second output is written: `auto` where the model knows any variance. */
  readonly uncertainty: boolean | 'auto';
}

export interface DeepstreamRows {
  readonly model: ModelProto;
  /** Rows per picture. */
  readonly rows: number;
  /** Whether the rows are what a network has already suppressed, and must not be clustered again. */
  readonly endToEnd: boolean;
  /** What the columns of `uncertainty` know; the others are NaN. Empty where there is no such output. */
  readonly known: readonly ('score' | 'box')[];
  /** What the user should know, in sentences. */
  readonly notes: readonly string[];
}

/** From here on ReduceMax has its axes as an input. */
const AXES_AS_INPUT = 18;

/**
 * Outputs `output[B, N, 6]`: x1 y1 x2 y2 in input px, score, class; and `uncertainty[B, N, 5]`: variance of the score,
 * variances of the sides left, top, right, bottom in px². Both float32. Columns that the model knows nothing of are NaN,
 * which no comparison takes for certainty; where it knows none, there is no such output.
 * Score and its variance are those of the runtime: p E[Q] and p (Var[Q] + E[Q]²) − (p E[Q])², p that of the best class.
 * @throws ModelError where the outputs are neither boxes with scores, nor ours, nor rows of six, and where
 * `uncertainty: true` is asked of a model that knows no variance
 */
export function withDeepstreamRows(
  model: ModelProto,
  { uncertainty }: DeepstreamRowsOptions,
): DeepstreamRows {
  const outputs = graphOf(model).output;
  const { model: freed, nameOf } = freeTensorNames(model, [
    ...Object.values(DEEPSTREAM_OUTPUTS),
    ...outputs.map(({ name }) => name),
  ]);
  const writer = new GraphWriter(freed, 'deepstream.');
  const read = (name: string) => {
    const info = outputs.find((output) => output.name === name);
    if (info === undefined) return undefined;
    return elementTypeOf(info) === ElementType.FLOAT
      ? nameOf(name)
      : writer.toFloat32(nameOf(name), `${name}.float`);
  };
  const parts = writeParts(writer, read, opsetVersion(model)) ?? endToEndRows(outputs, read);
  const [batch = null, rows] = shapeOf(outputs.find(({ name }) => name === parts.countedIn)) ?? [];
  if (typeof rows !== 'number') throw notRows(outputs);
  writer.name(parts.rows, DEEPSTREAM_OUTPUTS.rows);
  const known = (['score', 'box'] as const).filter((part) => parts[part] !== undefined);
  const isWritten = known.length > 0 && uncertainty !== false;
  if (known.length === 0 && uncertainty === true) {
    throw new ModelError('the model knows neither the variance of its scores nor that of its boxes', {
      hint: 'export without the second output, or train an edge-detect head',
    });
  }
  if (isWritten) writer.name(uncertaintyColumns(writer, parts), DEEPSTREAM_OUTPUTS.uncertainty);
  const graph = graphOf(freed);
  const declared = (name: string, columns: Axis) =>
    valueInfo(name, ElementType.FLOAT, [batch, rows, columns]);
  const changed = withGraph(freed, {
    node: [...graph.node, ...writer.nodes],
    initializer: [...graph.initializer, ...writer.initializers],
    output: [
      declared(DEEPSTREAM_OUTPUTS.rows, 6),
      ...(isWritten ? [declared(DEEPSTREAM_OUTPUTS.uncertainty, 5)] : []),
    ],
  });
  return {
    model: prune(changed),
    rows,
    endToEnd: parts.endToEnd,
    known: isWritten ? known : [],
    notes: notesOf(isWritten ? known : [], parts),
  };
}

/** Names of tensors. */
interface RowParts {
  /** `[B, N, 6]` */
  readonly rows: string;
  /** `[B, N, 1]`, of the score. */
  readonly score?: string;
  /** `[B, N, 4]`, of the sides. */
  readonly box?: string;
  /** The output whose second axis counts the rows. */
  readonly countedIn: string;
  readonly boxes: string;
  readonly endToEnd: boolean;
}

function writeParts(
  writer: GraphWriter,
  read: (name: string) => string | undefined,
  opset: number,
): RowParts | undefined {
  const [boxes, scores, quality, probabilities] = ['boxes', 'scores', 'quality', 'class_probs'].map(read);
  if (boxes === undefined || (scores === undefined && quality === undefined)) return undefined;
  const expectation = quality && writer.slice(quality, 'expectation', 2, [0, 1]);
  const perClass = scores ?? probabilities ?? expectation ?? '';
  const best = greatest(writer, perClass, opset);
  const chosen = writer.add('ArgMax', [perClass], 'class', { axis: 2n, keepdims: 1n });
  const classId = writer.toFloat32(chosen, 'class_id');
  const isProduct = scores === undefined && probabilities !== undefined;
  const score = isProduct ? writer.add('Mul', [best, expectation ?? ''], 'score') : best;
  const box = read('box_var');
  return {
    rows: writer.join([boxes, score, classId], 'rows', 2),
    ...(quality === undefined || scores !== undefined
      ? {}
      : {
          score: scoreVariance(
            writer,
            { quality, epistemic: read('quality_epistemic') },
            { expectation: expectation ?? '', score, ...(isProduct && { best }) },
          ),
        }),
    ...(box === undefined ? {} : { box }),
    countedIn: 'boxes',
    boxes,
    endToEnd: false,
  };
}

function greatest(writer: GraphWriter, perClass: string, opset: number): string {
  if (opset < AXES_AS_INPUT) return writer.add('ReduceMax', [perClass], 'best', { axes: [2n], keepdims: 1n });
  return writer.add('ReduceMax', [perClass, writer.ints('class_axis', [2])], 'best', { keepdims: 1n });
}

function scoreVariance(
  writer: GraphWriter,
  { quality, epistemic }: { readonly quality: string; readonly epistemic: string | undefined },
  {
    expectation,
    score,
    best,
  }: { readonly expectation: string; readonly score: string; readonly best?: string },
): string {
  const inner = writer.slice(quality, 'law_variance', 2, [1, 2]);
  const variance = epistemic === undefined ? inner : writer.add('Add', [inner, epistemic], 'variance');
  if (best === undefined) return atLeastZero(writer, variance);
  const second = writer.add('Mul', [expectation, expectation], 'expectation.squared');
  const moment = writer.add('Add', [variance, second], 'second_moment');
  const share = writer.add('Mul', [best, moment], 'second_moment.share');
  const squared = writer.add('Mul', [score, score], 'score.squared');
  return atLeastZero(writer, writer.add('Sub', [share, squared], 'score.spread'));
}

/** Rounding can leave a little less than nothing. */
function atLeastZero(writer: GraphWriter, variance: string): string {
  return writer.add('Max', [variance, writer.floats('least', [], [0])], 'score.variance');
}

function uncertaintyColumns(writer: GraphWriter, { score, box, rows, boxes }: RowParts): string {
  const unknown = (from: string, label: string) =>
    writer.add('Mul', [from, writer.floats(`${label}.nan`, [], [Number.NaN])], label);
  return writer.join(
    [
      score ?? unknown(writer.slice(rows, 'score_column', 2, [4, 5]), 'score.unknown'),
      box ?? unknown(boxes, 'box.unknown'),
    ],
    'columns',
    2,
  );
}

/** Rows that a network chose itself are corners, score and class already. */
function endToEndRows(
  outputs: readonly ValueInfoProto[],
  read: (name: string) => string | undefined,
): RowParts {
  const [only] = outputs;
  const shape = shapeOf(only);
  if (outputs.length !== 1 || only === undefined || shape?.length !== 3 || shape[2] !== 6)
    throw notRows(outputs);
  const rows = read(only.name) ?? '';
  return { rows, boxes: rows, countedIn: only.name, endToEnd: true };
}

function notRows(outputs: readonly ValueInfoProto[]): ModelError {
  const found = outputs.map((info) => `${info.name} [${(shapeOf(info) ?? ['?']).join(', ')}]`).join(', ');
  return new ModelError(`these outputs cannot become rows for DeepStream: ${found}`, {
    hint: 'expected boxes [N, A, 4] with scores [N, A, C] or quality [N, A, 2]: decode in the graph first',
  });
}

function notesOf(known: readonly ('score' | 'box')[], { score, box }: RowParts): readonly string[] {
  const [only] = known;
  if (score === undefined && box === undefined)
    return ['the model knows no variances: there is no output `uncertainty`'];
  if (known.length !== 1) return [];
  return only === 'score'
    ? ['the model knows no variance of its boxes: columns 1 to 4 of `uncertainty` are NaN']
    : ['the model knows no variance of its scores: column 0 of `uncertainty` is NaN'];
}
