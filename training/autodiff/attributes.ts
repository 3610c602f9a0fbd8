// Attributes of a node as the builder takes them.
import type { AttributeValue, NodeProto } from '#onnx';
import { attributeInts, spatialPads } from '#onnx';

const decoder = new TextDecoder();

/** All attributes, for a copy of the node. */
export function attributesOf(node: NodeProto): Record<string, AttributeValue> {
  const entries = node.attribute.map((attribute): [string, AttributeValue] => {
    if (attribute.ints.length > 0) return [attribute.name, attribute.ints];
    if (attribute.floats.length > 0) return [attribute.name, attribute.floats];
    if (attribute.s.length > 0) return [attribute.name, decoder.decode(attribute.s)];
    if (attribute.t !== undefined) return [attribute.name, attribute.t];
    return [attribute.name, attribute.f === 0 && !isFloat(attribute.type) ? attribute.i : attribute.f];
  });
  return Object.fromEntries(entries);
}

/** AttributeProto.FLOAT */
function isFloat(type: number): boolean {
  return type === 1;
}

export function attributeNumber(node: NodeProto, name: string): number | undefined {
  return node.attribute.find((attribute) => attribute.name === name)?.f;
}

export function attributeText(node: NodeProto, name: string): string | undefined {
  const found = node.attribute.find((attribute) => attribute.name === name);
  return found === undefined ? undefined : decoder.decode(found.s);
}

/** Geometry of a convolution or a pooling window, every default filled in. */
export interface WindowGeometry {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly begin: readonly number[];
  readonly end: readonly number[];
}

/** @param sizes spatial sizes of the input */
export function windowGeometry(
  node: NodeProto,
  sizes: readonly number[],
  kernel: readonly number[],
): WindowGeometry {
  const strides = attributeInts(node, 'strides') ?? sizes.map(() => 1);
  const dilations = attributeInts(node, 'dilations') ?? sizes.map(() => 1);
  const read = {
    text: (name: string, fallback: string) => attributeText(node, name) ?? fallback,
    ints: (name: string) => attributeInts(node, name),
  };
  return { kernel, strides, dilations, ...spatialPads(read, sizes, kernel, strides, dilations) };
}
