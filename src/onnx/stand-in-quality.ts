// A graph that speaks our own wire format without having been trained: where no trained head is at hand it shows what
// a law of the score is good for. It knows one thing, how bright a place is, and is the less sure the dimmer it is.
import type { Size } from '#core';
import { ModelError } from '#core';
import { floats, graph, ints, model, node, valueInfo } from './builder.ts';
import type { ModelProto } from './proto/onnx_pb.ts';
import { ElementType } from './tensor.ts';

const STRIDE = 32;
const BINS = 10;
/** Half the side of every box, px: neighbours overlap, so that suppression has work. */
const HALF_SIDE = 64;
/** Spread of the law in score²: `SHARP + BLUR * m (1 - m)` at mean brightness m. */
const SHARP = 0.002;
const BLUR = 0.16;

/**
 * A graph over `images[1, 3, H, W]` (RGB, 0..1) with one location per 32 px. Its quality is a law over ten bins around
 * the mean brightness m of the location: narrow where m is near 0 or 1, wide between. One class, `light`.
 * @throws ModelError unless both sides are multiples of 32
 */
export function standInQualityDetector({ width, height }: Size): ModelProto {
  if (width % STRIDE !== 0 || height % STRIDE !== 0 || width < 64 || height < 64) {
    throw new ModelError(`a stand-in of ${width}x${height} px cannot be made`, {
      hint: 'both sides must be multiples of 32 and at least 64, as 320x192',
    });
  }
  const locations = (width / STRIDE) * (height / STRIDE);
  const anchors = Array.from({ length: BINS }, (_, bin) => bin / (BINS - 1));
  return model(
    graph({
      name: 'stand_in_quality',
      nodes: qualityNodes(),
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, height, width])],
      outputs: [
        valueInfo('boxes', ElementType.FLOAT, [1, locations, 4]),
        valueInfo('quality', ElementType.FLOAT, [1, locations, 2]),
        valueInfo('quality_bins', ElementType.FLOAT, [1, locations, BINS]),
      ],
      initializers: [
        floats('location_boxes', [1, locations, 4], locationBoxes({ width, height })),
        floats('anchors', [1, 1, BINS], anchors),
        floats('anchor_column', [BINS, 1], anchors),
        floats('one', [], [1]),
        floats('sharp', [], [SHARP]),
        floats('blur', [], [BLUR]),
        floats('minus_half', [], [-0.5]),
        ints('location_rows', [1, locations, 1]),
        ints('last_axis', [-1]),
      ],
    }),
    { metadata: metadata() },
  );
}

function qualityNodes() {
  return [
    node('ReduceMean', ['images'], ['grey'], { axes: [1n], keepdims: 1n }), // [1, 1, H, W]
    node('AveragePool', ['grey'], ['pooled'], {
      kernel_shape: [64n, 64n],
      strides: [32n, 32n],
      pads: [16n, 16n, 16n, 16n],
    }),
    node('Reshape', ['pooled', 'location_rows'], ['m']), // [1, A, 1]
    node('Sub', ['one', 'm'], ['rest']),
    node('Mul', ['m', 'rest'], ['dimness']),
    node('Mul', ['dimness', 'blur'], ['blurred']),
    node('Add', ['blurred', 'sharp'], ['spread']),
    node('Sub', ['anchors', 'm'], ['distance']), // [1, A, bins]
    node('Mul', ['distance', 'distance'], ['squared']),
    node('Div', ['squared', 'spread'], ['relative']),
    node('Mul', ['relative', 'minus_half'], ['logits']),
    node('Softmax', ['logits'], ['quality_bins'], { axis: -1n }),
    node('MatMul', ['quality_bins', 'anchor_column'], ['expectation']), // [1, A, 1]
    node('Sub', ['anchors', 'expectation'], ['deviation']),
    node('Mul', ['deviation', 'deviation'], ['deviation_squared']),
    node('Mul', ['deviation_squared', 'quality_bins'], ['weighted']),
    node('ReduceSum', ['weighted', 'last_axis'], ['variance'], { keepdims: 1n }),
    node('Concat', ['expectation', 'variance'], ['quality'], { axis: -1n }),
    node('Identity', ['location_boxes'], ['boxes']),
  ];
}

/** x1 y1 x2 y2 in input px around the centre of every cell, cut at the edges. */
function locationBoxes({ width, height }: Size): Float32Array {
  const columns = width / STRIDE;
  const boxes = new Float32Array(columns * (height / STRIDE) * 4);
  for (let location = 0; location < boxes.length / 4; location++) {
    const x = ((location % columns) + 0.5) * STRIDE;
    const y = (Math.floor(location / columns) + 0.5) * STRIDE;
    const corners = [x - HALF_SIDE, y - HALF_SIDE, x + HALF_SIDE, y + HALF_SIDE];
    boxes.set(
      corners.map((value, side) => Math.max(0, Math.min(side % 2 === 0 ? width : height, value))),
      location * 4,
    );
  }
  return boxes;
}

function metadata(): Record<string, string> {
  return {
    description:
      'stand-in of edge-detect: brightness with a law of the score, detects no objects, was not trained',
    license: 'Apache-2.0',
    names: "{0: 'light'}",
    edge_detect: JSON.stringify({
      version: 1,
      head: { bins: BINS },
      classes: ['light'],
      preprocess: {
        fit: { mode: 'letterbox', align: 'center', enlarge: true },
        channels: 'rgb',
        mean: [0, 0, 0],
        std: [255, 255, 255],
        pad: 0,
      },
    }),
  };
}
