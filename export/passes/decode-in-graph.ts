// Puts the decoding of a detector into its graph: boxes in input px and class scores come out, whatever the head is.
import { type HeadLayout, ModelError, type Size } from '#core';
import {
  type Axis,
  ElementType,
  graphOf,
  type ModelProto,
  pictureInput,
  prune,
  shapeOf,
  type ValueInfoProto,
  valueInfo,
  withGraph,
} from '#onnx';
import { decodeFastestDet, decodeGfl, decodeRawDfl, decodeYunet } from './decode/per-level.ts';
import { type DecodedRows, DecodeWriter } from './decode/rows.ts';
import { decodeCorners, decodeOwn, decodeYoloV5, decodeYoloV8, decodeYolox } from './decode/single-output.ts';
import { freeTensorNames } from './rename-tensors.ts';

export interface DecodeOptions {
  /** As `findHead` found it in this model, its tap of the box distribution included. */
  readonly layout: HeadLayout;
  /** Size of the network's input in px. */
  readonly input: Size;
  /** Whether the variance of the box sides is an output too. */
  readonly boxVariance: boolean;
}

export interface DecodedModel {
  readonly model: ModelProto;
  /** Names of its outputs. */
  readonly outputs: readonly string[];
  /** Whether they are the decoded wire format; false where the head's own rows were passed on. */
  readonly decoded: boolean;
  /** What the user should know, in sentences. */
  readonly notes: readonly string[];
}

/** Names of the decoded wire format. */
export const DECODED_OUTPUTS = { boxes: 'boxes', scores: 'scores', boxVariance: 'box_var' } as const;

/**
 * Outputs `boxes[N, A, 4]` (x1 y1 x2 y2 in input px), `scores[N, A, C]` (probabilities) and, where asked for,
 * `box_var[N, A, 4]` (px²), as the decoders of src/core compute them; every other output goes. Anchors keep their
 * order. Decoding is float32 and uses operators that opsets from 9 on write alike. End-to-end rows are corners, score
 * and class already and are passed on.
 * @throws ModelError for suppression inside the graph, and where the variance of boxes is asked for and the head has none
 */
export function decodeInGraph(model: ModelProto, options: DecodeOptions): DecodedModel {
  const { layout, boxVariance } = options;
  if (boxVariance && !hasBoxVariance(layout)) {
    throw new ModelError(
      `a ${layout.kind} head has no distribution over its box sides to take variances from`,
      {
        hint: 'export without the variance of boxes (uncertainty=none), or train an edge-detect head',
      },
    );
  }
  if (layout.kind === 'end-to-end') return passOn(model, layout);
  const { model: freed, nameOf } = freeTensorNames(model, Object.values(DECODED_OUTPUTS));
  const writer = new DecodeWriter(freed, nameOf);
  const rows = writeDecoder(writer, options);
  const output = nameOutputs(writer, rows, {
    batch: batchOf(model),
    anchors: anchorsOf(layout),
    classCount: layout.classCount,
  });
  return {
    model: prune(withTail(freed, writer, output)),
    outputs: output.map(({ name }) => name),
    decoded: true,
    notes: layout.kind === 'edge-detect' ? [LAW_LEFT_OUT] : [],
  };
}

function nameOutputs(
  writer: DecodeWriter,
  rows: DecodedRows,
  {
    batch,
    anchors,
    classCount,
  }: { readonly batch: Axis; readonly anchors: number; readonly classCount: number },
): ValueInfoProto[] {
  const columns = { boxes: 4, scores: classCount, boxVariance: 4 };
  return (['boxes', 'scores', 'boxVariance'] as const).flatMap((part) => {
    const from = rows[part];
    if (from === undefined) return [];
    writer.name(from, DECODED_OUTPUTS[part]);
    return [valueInfo(DECODED_OUTPUTS[part], ElementType.FLOAT, [batch, anchors, columns[part]])];
  });
}

function withTail(model: ModelProto, writer: DecodeWriter, output: ValueInfoProto[]): ModelProto {
  const graph = graphOf(model);
  return withGraph(model, {
    node: [...graph.node, ...writer.nodes],
    initializer: [...graph.initializer, ...writer.initializers],
    output,
  });
}

const LAW_LEFT_OUT = 'scores are single numbers: the law of the quality and its variance are left out';

function hasBoxVariance(layout: HeadLayout): boolean {
  switch (layout.kind) {
    case 'yolov8':
      return layout.boxDistribution !== undefined;
    case 'gfl':
    case 'raw-dfl':
      return true;
    case 'corners':
    case 'edge-detect':
      return layout.boxVar !== undefined;
    default:
      return false;
  }
}

function writeDecoder(writer: DecodeWriter, { layout, input, boxVariance }: DecodeOptions): DecodedRows {
  switch (layout.kind) {
    case 'yolov5':
      return decodeYoloV5(writer, layout);
    case 'yolov8':
      return decodeYoloV8(writer, layout, boxVariance);
    case 'yolox':
      return decodeYolox(writer, layout);
    case 'gfl':
      return decodeGfl(writer, layout, boxVariance);
    case 'raw-dfl':
      return decodeRawDfl(writer, layout, boxVariance);
    case 'fastestdet':
      return decodeFastestDet(writer, layout, input);
    case 'corners':
      return decodeCorners(writer, layout, input, boxVariance);
    case 'yunet':
      return decodeYunet(writer, layout);
    case 'edge-detect':
      return decodeOwn(writer, layout, boxVariance);
    case 'nms-outputs':
    case 'end-to-end':
      throw suppressesItself(layout.kind);
    default:
      return layout satisfies never;
  }
}

function suppressesItself(kind: HeadLayout['kind']): ModelError {
  return new ModelError(
    `a ${kind} head suppresses its boxes inside the graph: its outputs are decoded, and there are no scores of all anchors`,
    { hint: 'export without decode, or export the detector again without NMS (nms=False)' },
  );
}

function anchorsOf(layout: HeadLayout): number {
  if ('anchorCount' in layout) return layout.anchorCount;
  const levels = 'levels' in layout ? layout.levels : 'level' in layout ? [layout.level] : [];
  return levels.reduce((sum, { columns, rows }) => sum + columns * rows, 0);
}

function batchOf(model: ModelProto): Axis {
  const { name } = pictureInput(model);
  return shapeOf(graphOf(model).input.find((info) => info.name === name))?.[0] ?? null;
}

/** Columns behind the class (masks, keypoints) are cut off, so that one output is left. */
function passOn(model: ModelProto, layout: Extract<HeadLayout, { kind: 'end-to-end' }>): DecodedModel {
  const { output, rowCount, stride, suppressed } = layout;
  const notes = [
    `the head gives rows of corners, score and class by itself: they are passed on as they are${suppressed ? '' : ', still to be suppressed'}`,
  ];
  const result = { outputs: [output], decoded: false, notes };
  if (stride === 6) return { model: prune(withOnlyOutput(model, output)), ...result };
  const { model: freed, nameOf } = freeTensorNames(model, [output]);
  const writer = new DecodeWriter(freed, nameOf);
  writer.name(writer.columns(writer.source(output, [rowCount, stride]), 'rows', 0, 6), output);
  const info = valueInfo(output, ElementType.FLOAT, [batchOf(model), rowCount, 6]);
  return { model: prune(withTail(freed, writer, [info])), ...result };
}

function withOnlyOutput(model: ModelProto, output: string): ModelProto {
  return withGraph(model, { output: graphOf(model).output.filter(({ name }) => name === output) });
}
