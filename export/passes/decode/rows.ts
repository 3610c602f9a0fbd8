// What the decoders of all heads write with and hand over: rows of anchors, corners from centres, cells from anchors.
import { createAnchorTable, type Level } from '#core';
import { ElementType, type GraphView, type ModelProto, viewGraph } from '#onnx';
import { GraphWriter } from '../graph-writer.ts';

/** Names of tensors in the graph. */
export interface DecodedRows {
  /** `[N, A, 4]`: x1 y1 x2 y2 in input px. */
  readonly boxes: string;
  /** `[N, A, C]` in [0, 1]. */
  readonly scores: string;
  /** `[N, A, 4]` in px², sides left, top, right, bottom. */
  readonly boxVariance?: string;
}

/** Reads outputs of a network as float32 rows. */
export class DecodeWriter extends GraphWriter {
  readonly #view: GraphView;
  readonly #nameOf: (name: string) => string;
  readonly #read = new Map<string, string>();

  /** @param nameOf the name in `model` of a tensor that the layout names */
  constructor(model: ModelProto, nameOf: (name: string) => string) {
    super(model, 'decode.');
    this.#view = viewGraph(model);
    this.#nameOf = nameOf;
  }

  /**
   * A tensor of the network as float32 `[N, ...dims]`, whatever its type and rank are: decoding in half precision
   * loses px.
   */
  source(layoutName: string, dims: readonly number[]): string {
    const name = this.#nameOf(layoutName);
    const key = `${name} ${dims.join()}`;
    const known = this.#read.get(key);
    if (known !== undefined) return known;
    const label = `source${this.#read.size}`;
    const isFloat = this.#view.elementType(name) === ElementType.FLOAT;
    const wide = isFloat ? name : this.toFloat32(name, `${label}.float`);
    const hasRank = this.#view.shape(name)?.length === dims.length + 1;
    const shaped = hasRank ? wide : this.reshape(wide, label, [-1, ...dims]);
    this.#read.set(key, shaped);
    return shaped;
  }

  /** Columns `first` to before `end` of rows `[N, A, values]`. */
  columns(rows: string, label: string, first: number, end: number): string {
    return this.slice(rows, label, 2, [first, end]);
  }

  /** Corners from centres and sizes, both `[N, A, 2]`. */
  corners(center: string, size: string): string {
    const half = this.add('Mul', [size, this.floats('half', [], [0.5])], 'half_size');
    const near = this.add('Sub', [center, half], 'near');
    const far = this.add('Add', [near, size], 'far');
    return this.join([near, far], 'corners', 2);
  }
}

/** One value, or several, for every anchor, levels one after the other: `[1, A, n]`. */
export function perAnchor(
  writer: GraphWriter,
  label: string,
  levels: readonly Level[],
  values: (cell: { readonly column: number; readonly row: number; readonly stride: number }) => number[],
): string {
  const { count, columns, rows, strides } = createAnchorTable(levels);
  const all = Array.from({ length: count }, (_, anchor) =>
    values({ column: columns[anchor] ?? 0, row: rows[anchor] ?? 0, stride: strides[anchor] ?? 0 }),
  );
  return writer.floats(label, [1, count, all[0]?.length ?? 0], all.flat());
}
