// What of a graph makes one engine another: the types of its numbers and the shapes of its inputs.
import { deserialize, ElementType, graphOf, normalizeInputs, shapeOf } from '#onnx';

export interface GraphFacts {
  readonly precision: 'float32' | 'float16' | 'int8';
  /** `images 1x3x640x640` */
  readonly shapes: string;
  readonly hasOpenAxes: boolean;
}

/** @param model bytes of an ONNX file */
export function describeGraph(model: Uint8Array): GraphFacts {
  const { input, initializer, node } = graphOf(normalizeInputs(deserialize(model)));
  const axes = input.map((info) => ({ name: info.name, shape: shapeOf(info) ?? [] }));
  const isQuantised = node.some(({ opType }) => opType === 'DequantizeLinear');
  const isHalf = initializer.some(({ dataType }) => dataType === ElementType.FLOAT16);
  return {
    precision: isQuantised ? 'int8' : isHalf ? 'float16' : 'float32',
    shapes: axes.map(({ name, shape }) => `${name} ${shape.join('x')}`).join(', '),
    hasOpenAxes: axes.some(({ shape }) => shape.some((axis) => typeof axis !== 'number' || axis <= 0)),
  };
}
