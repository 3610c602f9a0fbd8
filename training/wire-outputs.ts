// Raw outputs of a training forward pass in the wire format of our models, so that validation decodes, thresholds and
// suppresses with the very code that `stream` runs.
import type { EdgeDetectLayout, HeadOutputs, HeadTensor } from '#core';
import { binMean, binVariance, softmaxInto } from '#core';
import type { HeadLevel, HeadSpec } from '#onnx';
import type { Tensors } from './engines/engine.ts';
import { createBoxCodec } from './losses/box-codec.ts';
import type { BoxPlace } from './losses/types.ts';

export interface WireReader {
  readonly layout: EdgeDetectLayout;
  /**
   * @param outputs raw outputs `[N, …]`
   * @param floor boxes of anchors with an expected quality up to here are left as they are
   * @returns wire outputs of picture n; memory of the reader
   */
  read(outputs: Tensors, picture: number, floor: number): HeadOutputs;
}

export function createWireReader(spec: HeadSpec): WireReader {
  const { bins, locations, levels } = spec;
  const classCount = spec.classNames.length;
  const anchorCount = levels.reduce((sum, { rows, columns }) => sum + rows * columns * locations, 0);
  const boxes = new Float32Array(4 * anchorCount);
  const quality = new Float32Array(2 * anchorCount);
  const law = new Float32Array(bins * anchorCount);
  const classProbs = new Float32Array(classCount * anchorCount);
  const readLevel = createLevelReader(spec, { boxes, quality, law, classProbs });
  const of = (data: Float32Array, channels: number): HeadTensor => ({
    shape: [1, anchorCount, channels],
    data,
  });
  const wire = new Map([
    ['boxes', of(boxes, 4)],
    ['quality', of(quality, 2)],
    ['quality_bins', of(law, bins)],
    ...(classCount > 1 ? ([['class_probs', of(classProbs, classCount)]] as const) : []),
  ]);
  return {
    layout: {
      kind: 'edge-detect',
      classCount,
      anchorCount,
      boxes: 'boxes',
      quality: 'quality',
      qualityBins: { output: 'quality_bins', bins },
      ...(classCount > 1 && { classProbs: 'class_probs' }),
    },
    read(outputs, picture, floor) {
      let first = 0;
      levels.forEach((level, index) => {
        for (let location = 0; location < locations; location++) {
          readLevel(outputs, { level, index, location, picture, first, floor });
          first += level.rows * level.columns;
        }
      });
      return wire;
    },
  };
}

interface WireArrays {
  readonly boxes: Float32Array;
  readonly quality: Float32Array;
  readonly law: Float32Array;
  readonly classProbs: Float32Array;
}

interface Block {
  readonly level: HeadLevel;
  readonly index: number;
  readonly location: number;
  readonly picture: number;
  /** First anchor of the block. */
  readonly first: number;
  readonly floor: number;
}

function createLevelReader(spec: HeadSpec, { boxes, quality, law, classProbs }: WireArrays) {
  const { bins, locations } = spec;
  const classCount = spec.classNames.length;
  const codec = createBoxCodec(spec.boxCode);
  const probabilities = new Float64Array(bins);
  return (outputs: Tensors, { level, index, location, picture, first, floor }: Block): void => {
    const cells = level.rows * level.columns;
    const map = picture * locations + location;
    const qualityLogits = outputs.get(level.quality)!.data;
    const boxRaw = outputs.get(level.box)!.data;
    const classLogits = level.classes === undefined ? undefined : outputs.get(level.classes)!.data;
    for (let cell = 0; cell < cells; cell++) {
      const anchor = first + cell;
      softmaxInto(probabilities, qualityLogits, map * bins * cells + cell, cells, bins);
      const mean = binMean(probabilities, 0, 1, bins);
      quality[2 * anchor] = mean / (bins - 1);
      quality[2 * anchor + 1] = binVariance(probabilities, 0, 1, bins, mean) / (bins - 1) ** 2;
      if (quality[2 * anchor]! <= floor) continue;
      law.set(probabilities, anchor * bins);
      const place: BoxPlace = {
        raw: boxRaw,
        offset: map * codec.channels * cells + cell,
        stride: cells,
        column: cell % level.columns,
        row: Math.floor(cell / level.columns),
        cellPx: level.stride,
        level: index,
        location,
      };
      codec.decodeInto(place, boxes, 4 * anchor);
      if (classLogits) readClasses(classLogits, map * classCount * cells + cell, cells, anchor * classCount);
    }
  };

  function readClasses(logits: Float32Array, offset: number, stride: number, target: number): void {
    const row = classProbs.subarray(target, target + classCount);
    if (spec.classLaw === 'softmax') {
      softmaxInto(row, logits, offset, stride, classCount);
      return;
    }
    for (let k = 0; k < classCount; k++) row[k] = 1 / (1 + Math.exp(-logits[offset + k * stride]!));
  }
}
