// A graph that stands in for a detector where no real model is at hand: the demo without data, and fault tests.
// It learns nothing and detects no objects: it measures one thing of its own input and reports that in YOLOv8 form.
import type { Size } from '#core';
import { ModelError } from '#core';
import { floats, graph, ints, model, node, valueInfo } from './builder.ts';
import type { ModelProto, NodeProto, TensorProto } from './proto/onnx_pb.ts';
import { ElementType } from './tensor.ts';

/** Score that the stand-in gives to what it found. */
export const STAND_IN_SCORE = 0.9;

/** A px counts as near-white when its darkest channel (0..1) is above this. */
const NEAR_WHITE = 0.9;

/**
 * A graph over `images[1, 3, H, W]` (RGB, 0..1) that gives `output0[1, 5, A]`: in its first anchor the bounding box of
 * all near-white px with score 0.9, zeros where there is none and in all other anchors. It has as many anchors as a
 * YOLOv8 of that input has, so it is recognised like one. One class, `white`.
 * @throws ModelError unless both sides are multiples of 32
 */
export function standInDetector({ width, height }: Size): ModelProto {
  if (width % 32 !== 0 || height % 32 !== 0 || width < 32 || height < 32) {
    throw new ModelError(`a stand-in of ${width}x${height} px cannot be made`, {
      hint: 'both sides must be multiples of 32, as 320x192',
    });
  }
  const anchors = (width * height * (1 + 4 + 16)) / 1024;
  return model(
    graph({
      name: 'stand_in',
      nodes: [...measureWhite(), ...reportFirstAnchor()],
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, height, width])],
      outputs: [valueInfo('output0', ElementType.FLOAT, [1, 5, anchors])],
      initializers: constants({ width, height }, anchors),
    }),
    {
      metadata: {
        description: 'stand-in of edge-detect: reports the bounding box of near-white px, detects no objects',
        license: 'Apache-2.0',
        task: 'detect',
        stride: '32',
        names: "{0: 'white'}",
      },
    },
  );
}

function constants({ width, height }: Size, anchors: number): TensorProto[] {
  const columns = Array.from({ length: width }, (_, x) => x);
  const rows = Array.from({ length: height }, (_, y) => y);
  const fromRight = columns.map((x) => width - x);
  const fromBottom = rows.map((y) => height - y);
  const toRight = columns.map((x) => x + 1);
  const toBottom = rows.map((y) => y + 1);
  return [
    floats('near_white', [], [NEAR_WHITE]),
    floats('from_right', [1, 1, 1, width], fromRight),
    floats('to_right', [1, 1, 1, width], toRight),
    floats('from_bottom', [1, 1, height, 1], fromBottom),
    floats('to_bottom', [1, 1, height, 1], toBottom),
    floats('width', [], [width]),
    floats('height', [], [height]),
    floats('half', [], [0.5]),
    floats('score', [], [STAND_IN_SCORE]),
    ints('one_row', [1, 1, 1]),
    floats('other_anchors', [1, 5, anchors - 1], new Float32Array(5 * (anchors - 1))),
  ];
}

/** `found` is 1 where any px is near-white, else 0; cx, cy, w, h are its bounding box in px. */
function measureWhite(): NodeProto[] {
  return [
    node('ReduceMin', ['images'], ['darkest'], { axes: [1n], keepdims: 1n }), // [1, 1, H, W]
    node('Greater', ['darkest', 'near_white'], ['is_white']),
    node('Cast', ['is_white'], ['white'], { to: BigInt(ElementType.FLOAT) }),
    node('ReduceMax', ['white'], ['found'], { axes: [2n, 3n], keepdims: 1n }), // [1, 1, 1, 1]
    ...side('x1', 'from_right', 'width'),
    ...farSide('x2', 'to_right'),
    ...side('y1', 'from_bottom', 'height'),
    ...farSide('y2', 'to_bottom'),
    ...centerAndSize('x1', 'x2', 'cx', 'w'),
    ...centerAndSize('y1', 'y2', 'cy', 'h'),
  ];
}

function reportFirstAnchor(): NodeProto[] {
  const box = ['cx', 'cy', 'w', 'h'];
  const values = [...box.map((name) => `${name}_or_zero`), 'confidence'];
  const inRows = values.map((name) => `${name}_row`);
  return [
    node('Mul', ['found', 'score'], ['confidence']),
    ...box.map((name) => node('Mul', [name, 'found'], [`${name}_or_zero`])),
    ...values.map((name) => node('Reshape', [name, 'one_row'], [`${name}_row`])),
    node('Concat', inRows, ['first_anchor'], { axis: 1n }), // [1, 5, 1]
    node('Concat', ['first_anchor', 'other_anchors'], ['output0'], { axis: 2n }), // [1, 5, A]
  ];
}

/** The near edge: length − max(white · (length − index)). */
function side(name: string, weights: string, length: string) {
  return [
    node('Mul', ['white', weights], [`${name}_weighted`]),
    node('ReduceMax', [`${name}_weighted`], [`${name}_reach`], { axes: [2n, 3n], keepdims: 1n }),
    node('Sub', [length, `${name}_reach`], [name]),
  ];
}

/** The far edge: max(white · (index + 1)). */
function farSide(name: string, weights: string) {
  return [
    node('Mul', ['white', weights], [`${name}_weighted`]),
    node('ReduceMax', [`${name}_weighted`], [name], { axes: [2n, 3n], keepdims: 1n }),
  ];
}

function centerAndSize(near: string, far: string, center: string, size: string) {
  return [
    node('Add', [near, far], [`${center}_twice`]),
    node('Mul', [`${center}_twice`, 'half'], [center]),
    node('Sub', [far, near], [size]),
  ];
}
