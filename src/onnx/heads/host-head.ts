// What is kept of a host's head: the ends of its towers, its box layer, and how its box values are read.
import type { Level, Size } from '#core';
import { ModelError } from '#core';
import type { GraphView } from '../graph.ts';
import { viewGraph } from '../graph.ts';
import { findDistribution } from '../head-finder/plan-taps.ts';
import { readMetadata } from '../metadata.ts';
import type { ModelProto } from '../proto/onnx_pb.ts';
import { tensorNumbers } from '../tensor.ts';
import type { CutTable } from './cuts.ts';
import { findCuts } from './cuts.ts';
import { featureShapes } from './feature-shapes.ts';
import { findAnchors } from './host-anchors.ts';
import type { LayerValues, Prediction, PredictionLevel } from './predictions.ts';
import { lastConvolutions, layerRows, layerValues, predictionLevels, usesOf } from './predictions.ts';
import type { BoxCode, HeadSpec } from './types.ts';

export interface HostLevel extends Level {
  /** Maps at the ends of the towers; one and the same where the host has a single tower. */
  readonly classTower: string;
  readonly boxTower: string;
  /** The host's box layer on `boxTower`, location-major. */
  readonly box: LayerValues;
}

export interface HostHead {
  /** `yolox`, `nanodet`, `yolov5`, `dfl` (YOLOv8, 9, 10, 11, 12), `distance` (YOLO26). */
  readonly family: string;
  readonly boxCode: BoxCode;
  readonly locations: number;
  readonly levels: readonly HostLevel[];
  /** Static shapes of the host's feature maps by name, `[N, C, H, W]`. */
  readonly shapes: ReadonlyMap<string, readonly number[]>;
  readonly cuts: CutTable;
  /** What a head of ours had learnt: its widths, and the values of its layers. */
  readonly learnt?: {
    readonly bins: number;
    readonly adapter: number;
    readonly dropout: number;
    readonly classLaw: HeadSpec['classLaw'];
    readonly values: ReadonlyMap<string, Float32Array>;
  };
}

/** What a recogniser of a family says of one level. */
interface LevelReading {
  readonly family: string;
  readonly boxCode: BoxCode;
  readonly locations: number;
  readonly level: HostLevel;
}

const WORKING =
  'heads that can be taken over: YOLOX, NanoDet (levels apart), YOLOv5, YOLOv8/9/10/11/12, YOLO26, and models of edge-detect';

/**
 * @param host float32, with a static picture input
 * @param picture name of the picture input
 * @throws ModelError naming what was found where the head is none of the known ones
 */
export function findHostHead(host: ModelProto, picture: string, input: Size): HostHead {
  refuseOtherTasks(host);
  const view = viewGraph(host);
  refuseQuantised(view);
  const convolutions = lastConvolutions(view);
  const shapes = featureShapes(
    host,
    { name: picture, ...input },
    convolutions.flatMap(({ output }) => output),
  );
  const levels = predictionLevels(convolutions, shapes, input);
  const taps = findDistribution(host);
  const readings = levels.map((level) => readLevel(view, level, taps.boxDistribution?.bins));
  const [first] = readings;
  if (
    !first ||
    readings.some(({ family, boxCode }) => family !== first.family || boxCode.kind !== first.boxCode.kind)
  ) {
    throw unknownHead(levels);
  }
  return {
    family: first.family,
    boxCode:
      first.boxCode.kind === 'anchors'
        ? { kind: 'anchors', sizes: findAnchors(view, levels) }
        : first.boxCode,
    locations: first.locations,
    levels: readings.map(({ level }) => level),
    shapes,
    cuts: findCuts(
      view,
      readings.map(({ level }) => level),
    ),
  };
}

function readLevel(view: GraphView, level: PredictionLevel, bins: number | undefined): LevelReading {
  const readers = [readSingle, readPair, readTriple];
  const reading = readers[level.predictions.length - 1]?.(view, level, bins);
  if (!reading) throw unknownHead([level]);
  return reading;
}

/** One layer per level: NanoDet splits it into classes and sides, YOLOv5 into anchors. */
function readSingle(view: GraphView, level: PredictionLevel): LevelReading | undefined {
  const [only] = level.predictions;
  if (!only) return undefined;
  const tower = { classTower: only.tower, boxTower: only.tower };
  const values = layerValues(view, only.node);
  const parts = splitParts(view, only);
  if (parts) {
    const box = layerRows(values, parts.first, parts.channels);
    const boxCode: BoxCode = { kind: 'dfl', bins: parts.channels / 4 };
    return { family: 'nanodet', boxCode, locations: 1, level: { ...cellsOf(level), ...tower, box } };
  }
  const locations = anchorsPerCell(view, only);
  if (locations === undefined) return undefined;
  const perAnchor = only.channels / locations;
  const rows = Array.from({ length: locations }, (_, anchor) => layerRows(values, anchor * perAnchor, 4));
  const box = {
    dims: values.dims.with(0, 4 * locations),
    weight: concatenated(rows.map(({ weight }) => weight)),
    bias: concatenated(rows.map(({ bias }) => bias)),
  };
  // The sizes of the anchors are constants of the whole graph, read once for all levels.
  const boxCode: BoxCode = { kind: 'anchors', sizes: [] };
  return { family: 'yolov5', boxCode, locations, level: { ...cellsOf(level), ...tower, box } };
}

/** Channels of the box part where a layer is split in two along its channels and only the other goes through Sigmoid. */
function splitParts(view: GraphView, { output, channels }: Prediction) {
  const readers = view.consumers(output);
  const [split] = readers;
  if (readers.length !== 1 || split?.opType !== 'Split' || split.output.length !== 2) return undefined;
  const [first = '', second = ''] = split.output;
  if (!usesOf(view, first).has('Sigmoid') || usesOf(view, second).has('Sigmoid')) return undefined;
  // NanoDet-Plus joins the parts again to one output, and its cells have their centres at their corners.
  if (view.graph.output.length < 4) return undefined;
  const sizes = view.constant(split.input[1] ?? '');
  const stated = sizes
    ? tensorNumbers(sizes)
    : split.attribute.find(({ name }) => name === 'split')?.ints.map(Number);
  const classes = stated?.[0];
  if (classes === undefined || (channels - classes) % 4 !== 0) return undefined;
  return { first: classes, channels: channels - classes };
}

/** YOLOv5 turns `[1, a · (5 + C), H, W]` into `[1, a, 5 + C, H, W]` and squares twice the Sigmoid of the sizes. */
function anchorsPerCell(view: GraphView, { output, channels }: Prediction): number | undefined {
  const [reshape] = view.consumers(output);
  if (reshape?.opType !== 'Reshape') return undefined;
  const target = view.constant(reshape.input[1] ?? '');
  const [, anchors = 0, values = 0] = target ? tensorNumbers(target) : [];
  const whole = target?.dims[0] === 5n && anchors > 0 && channels % anchors === 0 && channels / anchors >= 6;
  return whole && (values === channels / anchors || values === -1) ? anchors : undefined;
}

/** Box and classes apart: sides with a distribution (YOLOv8 and its heirs) or plain distances (YOLO26). */
function readPair(view: GraphView, level: PredictionLevel, bins = 1): LevelReading | undefined {
  const boxes = level.predictions.filter(({ channels }) => channels === 4 * bins);
  const plain = boxes.filter(({ output }) => !usesOf(view, output).has('Sigmoid'));
  const box = boxes.length === 1 ? boxes[0] : (plain[0] ?? boxes[0]);
  const classes = level.predictions.find((prediction) => prediction !== box);
  if (!box || !classes || usesOf(view, box.output).has('Exp')) return undefined;
  const boxCode: BoxCode = bins > 1 ? { kind: 'dfl', bins } : { kind: 'distance' };
  return {
    family: boxCode.kind,
    boxCode,
    locations: 1,
    level: {
      ...cellsOf(level),
      classTower: classes.tower,
      boxTower: box.tower,
      box: layerValues(view, box.node),
    },
  };
}

/** Box, objectness and classes apart, the first two on one tower: YOLOX. */
function readTriple(view: GraphView, level: PredictionLevel): LevelReading | undefined {
  const box = level.predictions.find(
    ({ channels, output }) => channels === 4 && !usesOf(view, output).has('Sigmoid'),
  );
  const others = level.predictions.filter((prediction) => prediction !== box);
  const objectness = others.find(({ tower, channels }) => tower === box?.tower && channels === 1);
  const classes = others.find((prediction) => prediction !== objectness);
  if (!box || !objectness || !classes || classes.tower === box.tower) return undefined;
  return {
    family: 'yolox',
    boxCode: { kind: 'yolox' },
    locations: 1,
    level: {
      ...cellsOf(level),
      classTower: classes.tower,
      boxTower: box.tower,
      box: layerValues(view, box.node),
    },
  };
}

function cellsOf({ stride, columns, rows }: Level): Level {
  return { stride, columns, rows };
}

function concatenated(parts: readonly Float32Array[]): Float32Array {
  return Float32Array.from(parts.flatMap((part) => Array.from(part)));
}

const OTHER_TASKS = new Set(['segment', 'pose', 'obb', 'classify']);

function refuseOtherTasks(host: ModelProto): void {
  const { task } = readMetadata(host);
  if (task === undefined || !OTHER_TASKS.has(task)) return;
  throw new ModelError(`the model was made for the task ${task}; a head for boxes cannot be put on it`, {
    hint: 'give the detector of the same family (task detect)',
  });
}

function refuseQuantised(view: GraphView): void {
  const quantised = view.graph.node.find(({ opType }) => /Integer$|^QLinear|QuantizeLinear$/.test(opType));
  if (!quantised) return;
  throw new ModelError(
    `the model is quantised (node ${quantised.name}, ${quantised.opType}): it has no gradient`,
    {
      hint: 'dequantise it first',
    },
  );
}

function unknownHead(levels: readonly PredictionLevel[]): ModelError {
  const found = levels.map(({ stride, predictions }) => {
    const channels = predictions.map((prediction) => prediction.channels);
    return `${channels.join(' + ')} channels at stride ${stride}`;
  });
  return new ModelError(
    found.length === 0
      ? 'the graph ends in no convolutions: there is no head to take over'
      : `the last convolutions of the graph are those of no known head: ${found.join(', ')}`,
    { hint: WORKING },
  );
}
