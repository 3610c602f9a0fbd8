// Everything that the recognisers of the head kinds may look at, gathered once.
import type { HeadKind, HeadLayout, Level, Size } from '#core';
import { levelsFor, levelsWithCount } from '#core';
import type { GraphView } from '../graph.ts';
import { graphOf, viewGraph } from '../graph.ts';
import type { ModelMetadata } from '../metadata.ts';
import { readMetadata } from '../metadata.ts';
import type { ModelProto } from '../proto/onnx_pb.ts';
import type { Tail } from './tail.ts';
import { tailOf } from './tail.ts';
import type { FindHeadOptions, MeasuredShapes, TapPlan } from './types.ts';

export interface HeadOutput {
  readonly name: string;
  /** As measured. */
  readonly shape: readonly number[];
  /** Without the batch axis. */
  readonly dims: readonly number[];
  readonly elementType: number | undefined;
}

export interface HeadFacts {
  readonly view: GraphView;
  readonly metadata: ModelMetadata;
  readonly input: Size;
  readonly outputs: readonly HeadOutput[];
  /** Outputs with rows of values: `[A, values]` or `[values, A]`. */
  readonly rows: readonly HeadOutput[];
  /** Feature maps `[channels, H, W]`. */
  readonly maps: readonly HeadOutput[];
  /** Channels of the mask prototypes of a segmentation model, 0 where there are none. */
  readonly maskChannels: number;
  /** Number of classes, where somebody says it. */
  readonly classCount: number | undefined;
  /** The kind that the user forces: shapes must still fit, but structure needs no evidence. */
  readonly forced: HeadKind | undefined;
  readonly taps: TapPlan;
  /** All measured shapes, taps included. */
  readonly measured: MeasuredShapes;
  tail(outputName: string): Tail;
}

/** A layout that fits, and why. */
export interface Proposal {
  readonly layout: HeadLayout;
  readonly evidence: readonly string[];
}

export type Recogniser = (facts: HeadFacts) => readonly Proposal[];

export function gatherFacts(
  model: ModelProto,
  shapes: MeasuredShapes,
  taps: TapPlan,
  options: FindHeadOptions,
): HeadFacts {
  const view = viewGraph(model);
  const metadata = readMetadata(model);
  const declared = graphOf(model).output.map((info) => info.name);
  const outputs = declared.flatMap((name) => {
    const shape = shapes.get(name);
    return shape ? [{ name, shape, dims: withoutBatch(shape), elementType: view.elementType(name) }] : [];
  });
  const rows = outputs.filter(({ dims }) => dims.length === 2);
  const maps = outputs.filter(({ dims }) => dims.length === 3);
  const [onlyMap] = maps;
  const tails = new Map<string, Tail>();
  return {
    view,
    metadata,
    input: options.input,
    outputs,
    rows,
    maps,
    maskChannels: rows.length === 1 && maps.length === 1 ? (onlyMap?.dims[0] ?? 0) : 0,
    classCount: options.classCount ?? metadata.names?.length,
    forced: options.layout,
    taps,
    measured: shapes,
    tail(name) {
      const known = tails.get(name) ?? tailOf(view, name);
      tails.set(name, known);
      return known;
    },
  };
}

/** Rows may come without a batch axis (`[25200, 85]`); everything else has one. */
function withoutBatch(shape: readonly number[]): readonly number[] {
  return shape.length === 2 && (shape[0] ?? 0) > 1 ? shape : shape.slice(1);
}

/** Levels with one location per cell that give this many locations, the most usual set first. */
export function cellLevels(facts: HeadFacts, count: number): readonly Level[] | undefined {
  return levelsWithCount(facts.input, count)[0];
}

const STRIDES = [8, 16, 32, 64, 4, 128];

/** The single level that has this many cells. */
export function levelOfCount(facts: HeadFacts, cells: number): Level | undefined {
  return levelsFor(facts.input, STRIDES).find(({ columns, rows }) => columns * rows === cells);
}

/** The single level whose map has this size. */
export function levelOfMap(facts: HeadFacts, rows: number, columns: number): Level | undefined {
  return levelsFor(facts.input, STRIDES).find((level) => level.columns === columns && level.rows === rows);
}

/** Whether the tail turns grid offsets into px: an exponential, a grid of cell positions, or one computed on the fly. */
export function decodesGrid(facts: HeadFacts, outputName: string): boolean | undefined {
  const { operators, reachesConvolution, constants } = facts.tail(outputName);
  const hasGrid = constants.some(
    ({ operator, dims }) =>
      (operator === 'Add' || operator === 'Sub') &&
      dims.filter((dim) => dim > 1).length >= 2 &&
      dims.reduce((a, b) => a * b, 1) >= 8,
  );
  if (operators.has('Exp') || operators.has('Range') || hasGrid) return true;
  return reachesConvolution ? false : undefined;
}

export function describeOutput({ name, shape }: HeadOutput): string {
  return `${name} [${shape.join(', ')}]`;
}
