// One decoder per model: the layout says which reader, the reader fills the candidates.
import type { HeadLayout } from '../head-layout.ts';
import { CandidateBuffer } from './candidate-buffer.ts';
import { createCornersReader } from './corners.ts';
import type { Decoder, DecoderOptions } from './decoder.ts';
import { createEdgeDetectReader } from './edge-detect.ts';
import { createEndToEndReader } from './end-to-end.ts';
import { createFastestDetReader } from './fastestdet.ts';
import { prepareFloor } from './floor.ts';
import { createGflReader } from './gfl.ts';
import type { HeadReader } from './head-reader.ts';
import { createNmsOutputsReader } from './nms-outputs.ts';
import { createRawDflReader } from './raw-dfl.ts';
import { createYoloV5Reader } from './yolov5.ts';
import { createYoloV8Reader } from './yolov8.ts';
import { createYoloxReader } from './yolox.ts';
import { createYunetReader } from './yunet.ts';

/** @throws ModelError where the layout contradicts itself */
export function createDecoder(layout: HeadLayout, options: DecoderOptions): Decoder {
  const reader = createReader(layout, options);
  const buffer = new CandidateBuffer(reader);
  let nonFinite = 0;
  return {
    layout,
    scoreVariance: reader.scoreVariance,
    epistemic: reader.epistemic,
    boxVariance: reader.boxVariance,
    suppressed: reader.suppressed,
    ...(reader.scoreLaw && { scoreLaw: reader.scoreLaw }),
    get nonFinite() {
      return nonFinite;
    },
    decode(outputs, floor) {
      buffer.count = 0;
      nonFinite = reader.read(outputs, prepareFloor(floor), buffer);
      return buffer;
    },
  };
}

function createReader(layout: HeadLayout, { input, boxVariance }: DecoderOptions): HeadReader {
  switch (layout.kind) {
    case 'yolov5':
      return createYoloV5Reader(layout);
    case 'yolov8':
      return createYoloV8Reader(layout, boxVariance);
    case 'end-to-end':
      return createEndToEndReader(layout, boxVariance);
    case 'nms-outputs':
      return createNmsOutputsReader(layout);
    case 'yolox':
      return createYoloxReader(layout);
    case 'gfl':
      return createGflReader(layout, boxVariance);
    case 'raw-dfl':
      return createRawDflReader(layout, boxVariance);
    case 'fastestdet':
      return createFastestDetReader(layout, input);
    case 'corners':
      return createCornersReader(layout, input, boxVariance);
    case 'yunet':
      return createYunetReader(layout);
    case 'edge-detect':
      return createEdgeDetectReader(layout, boxVariance);
    default:
      return layout satisfies never;
  }
}
