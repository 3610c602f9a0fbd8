// Which family a detector belongs to, and with it how its pictures must be prepared. What is a guess is said to be one.
import type { HeadLayout, PreprocessContract } from '#core';
import type { Family, KnownFamily } from './contracts.ts';
import { CONTRACTS, describeContract } from './contracts.ts';
import type { GraphView } from './graph.ts';
import { viewGraph } from './graph.ts';
import { ownFormat } from './head-finder/own-format.ts';
import { tailOf } from './head-finder/tail.ts';
import type { ModelMetadata } from './metadata.ts';
import { readMetadata } from './metadata.ts';
import type { ModelProto } from './proto/onnx_pb.ts';
import type { PictureInput } from './shapes.ts';
import { elementCount, isExternal, tensorNumbers } from './tensor.ts';

export interface PreprocessGuess {
  readonly contract: PreprocessContract;
  readonly family: Family;
  /** What was taken for granted, in sentences. */
  readonly assumed: readonly string[];
}

/**
 * @param input the picture input, for its element type: uint8 inputs are normalised inside the graph
 */
export function guessPreprocess(model: ModelProto, layout: HeadLayout, input: PictureInput): PreprocessGuess {
  const metadata = readMetadata(model);
  const stated = ownFormat(metadata)?.preprocess;
  if (stated) return { contract: stated, family: 'edge-detect', assumed: [] };
  const view = viewGraph(model);
  const family = familyOf(view, layout, metadata);
  const convention = CONTRACTS[family];
  const inside = input.dtype === 'uint8' ? 'its input is uint8' : normalisationInside(view, input.name);
  const contract: PreprocessContract = inside
    ? { ...convention, mean: [0, 0, 0], std: [1, 1, 1] }
    : convention;
  const source =
    family === 'unknown'
      ? 'no known family: the convention of Ultralytics is tried'
      : `the convention of ${family}`;
  return {
    contract,
    family,
    assumed: [
      `preprocessing: ${describeContract(contract)} (${source}; preprocess= overrides)`,
      ...(inside ? [`values go in as 0..255, since ${inside}`] : []),
      ...(family === 'yunet'
        ? ['padding: YuNet is run at the full picture by its authors, without padding']
        : []),
    ],
  };
}

function familyOf(view: GraphView, layout: HeadLayout, metadata: ModelMetadata): KnownFamily {
  switch (layout.kind) {
    case 'yolov8':
    case 'raw-dfl':
      return 'ultralytics';
    case 'end-to-end':
    case 'nms-outputs':
      return metadata.author !== undefined || metadata.stride !== undefined ? 'ultralytics' : 'unknown';
    case 'yolov5':
      return decodedFamily(view, layout.output, metadata);
    case 'yolox':
    case 'fastestdet':
    case 'yunet':
      return layout.kind;
    case 'gfl':
      // NanoDet has three levels, or joined outputs; PicoDet has four levels apart.
      return layout.levels.length >= 4 && layout.levels[0]?.scores !== layout.levels[0]?.distances
        ? 'picodet'
        : 'nanodet';
    case 'corners':
      if (layout.background && layout.normalized && layout.classCount === 1) return 'ultraface';
      return layout.normalized ? 'ssd' : 'unknown';
    case 'edge-detect':
      return 'unknown';
    default:
      return layout satisfies never;
  }
}

/** Objectness heads that decode inside the graph: YOLOv5 and v7 (squares), YOLOX (exponential), YOLOv6 (distances). */
function decodedFamily(view: GraphView, output: string, metadata: ModelMetadata): KnownFamily {
  const { operators } = tailOf(view, output);
  if (metadata.stride !== undefined || operators.has('Pow')) return 'yolov5';
  if (operators.has('Exp')) return 'yolox';
  return operators.has('Sub') ? 'yolov6' : 'yolov5';
}

const BEFORE_NORMALISATION = new Set([
  'Cast',
  'Transpose',
  'Identity',
  'Reshape',
  'QuantizeLinear',
  'DequantizeLinear',
]);

/** Division by about 255 or subtraction of a mean before the first convolution. */
function normalisationInside(view: GraphView, inputName: string): string | undefined {
  let name = inputName;
  for (let step = 0; step < 8; step++) {
    const readers = view.consumers(name);
    const [reader] = readers;
    if (!reader || readers.length > 1) return undefined;
    const operand = reader.input.find((other) => other !== name);
    const constant = operand === undefined ? undefined : view.constant(operand);
    const values =
      constant && !isExternal(constant) && elementCount(constant) <= 16 ? tensorNumbers(constant) : [];
    const least = Math.min(...values.map(Math.abs));
    const most = Math.max(...values.map(Math.abs));
    if (values.length > 0) {
      if (reader.opType === 'Div' && least >= 50) return `the graph divides by ${most} itself`;
      if (reader.opType === 'Mul' && most <= 1 / 50 && most > 0)
        return `the graph multiplies by ${most} itself`;
      if (reader.opType === 'Sub' && most > 50) return `the graph subtracts a mean of ${most} itself`;
    }
    const goesOn = BEFORE_NORMALISATION.has(reader.opType) || (values.length > 0 && reader.opType === 'Sub');
    if (!goesOn) return undefined;
    name = reader.output[0] ?? '';
  }
  return undefined;
}
