// The value of a tensor that does not depend on the picture, also behind the reshapes that quantisers leave in the graph.
import type { GraphView } from '../graph.ts';
import { attributeInts } from '../graph.ts';
import type { NodeProto } from '../proto/onnx_pb.ts';
import { type TensorData, tensorNumbers, tensorValues } from '../tensor.ts';

export interface ConstantValue {
  /** The initializer or Constant output that it comes from. */
  readonly root: string;
  readonly dims: readonly number[];
  readonly values: TensorData;
}

/** Looks through Identity, Reshape, Unsqueeze, Squeeze and Flatten; undefined where the tensor is computed otherwise. */
export function constantValue(view: GraphView, name: string): ConstantValue | undefined {
  const stored = view.constant(name);
  if (stored) return { root: name, dims: stored.dims.map(Number), values: tensorValues(stored) };
  const node = view.producer(name);
  if (node === undefined || node.domain !== '') return undefined;
  const data = node.input[0];
  if (data === undefined) return undefined;
  const source = constantValue(view, data);
  if (source === undefined) return undefined;
  const dims = dimsAfter(view, node, source.dims);
  return dims && { ...source, dims };
}

function dimsAfter(view: GraphView, node: NodeProto, dims: readonly number[]): readonly number[] | undefined {
  switch (node.opType) {
    case 'Identity':
      return dims;
    case 'Reshape': {
      const shape = listOf(view, node, 'shape');
      return shape && reshapedDims(dims, shape);
    }
    case 'Unsqueeze': {
      const axes = listOf(view, node, 'axes');
      return axes && unsqueezedDims(dims, axes);
    }
    case 'Squeeze': {
      const axes = listOf(view, node, 'axes')?.map((axis) => (axis < 0 ? axis + dims.length : axis));
      return dims.filter((dim, axis) => (axes ? !axes.includes(axis) : dim !== 1));
    }
    default:
      return undefined;
  }
}

/** A list that is an attribute in old opsets and the second input in newer ones. */
function listOf(view: GraphView, node: NodeProto, attribute: string): readonly number[] | undefined {
  const input = node.input[1];
  if (!input) return attributeInts(node, attribute);
  const stored = view.constant(input);
  return stored && tensorNumbers(stored);
}

function reshapedDims(dims: readonly number[], shape: readonly number[]): readonly number[] {
  const count = product(dims);
  const kept = shape.map((dim, axis) => (dim === 0 ? (dims[axis] ?? 1) : dim));
  const known = product(kept.filter((dim) => dim !== -1));
  return kept.map((dim) => (dim === -1 ? count / known : dim));
}

function unsqueezedDims(dims: readonly number[], axes: readonly number[]): readonly number[] {
  const rank = dims.length + axes.length;
  const added = new Set(axes.map((axis) => (axis < 0 ? axis + rank : axis)));
  let next = 0;
  return Array.from({ length: rank }, (_, axis) => (added.has(axis) ? 1 : (dims[next++] ?? 1)));
}

function product(dims: readonly number[]): number {
  return dims.reduce((count, dim) => count * dim, 1);
}
