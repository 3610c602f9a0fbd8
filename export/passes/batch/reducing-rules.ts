// A free batch through sums, products and choices along other axes.
import { attributeInts, copyMessage } from '#onnx';
import {
  type BatchNode,
  type BatchRule,
  behindFront,
  type Place,
  withAttribute,
  wrapAxis,
} from './batch-node.ts';
import { expectOnePicture } from './elementwise-rules.ts';
import { alongAxis } from './rearranging-rules.ts';

const REDUCTIONS = [
  'ReduceMean',
  'ReduceSum',
  'ReduceMax',
  'ReduceMin',
  'ReduceL2',
  'ReduceL1',
  'ReduceProd',
];

export const reducingRules: Readonly<Record<string, BatchRule>> = {
  ...Object.fromEntries(REDUCTIONS.map((name) => [name, reduced])),
  Softmax: normalised,
  LogSoftmax: normalised,
  Hardmax: normalised,
  LayerNormalization: layerNormalised,
  ArgMax: chosen,
  ArgMin: chosen,
  TopK: best,
  MatMul: multiplied,
  Gemm: multipliedAndAdded,
};

function reduced(node: BatchNode): readonly Place[] {
  const rank = node.shape(0).length;
  const axes = node.list('axes', 1);
  const place = node.place(0) ?? 0;
  if (axes === undefined || axes.length === 0) throw node.refuse('it works on all pictures at once');
  if (place === 'front') {
    const moved = axes.map(behindFront);
    if (attributeInts(node.node, 'axes')) {
      node.keep({ attribute: withAttribute(node.node, 'axes', moved.map(BigInt)) });
    } else {
      node.keep({ input: [node.name(0), node.writer.ints(`${node.node.output[0] ?? ''}.axes`, moved)] });
    }
    return ['front'];
  }
  const wrapped = axes.map((axis) => wrapAxis(axis, rank));
  if (wrapped.includes(place)) throw node.refuse('it works on all pictures at once');
  node.keep();
  return [node.int('keepdims', 1) === 1 ? place : place - wrapped.filter((axis) => axis < place).length];
}

/** Before opset 13 everything from the axis on was one list, and what lay before it was the batch. */
function normalised(node: BatchNode): readonly Place[] {
  if (node.opset >= 13) return [alongAxis(node, -1)];
  const place = node.place(0) ?? 0;
  const axis = node.int('axis', 1);
  if (place !== 'front' && wrapAxis(axis, node.shape(0).length) <= place)
    throw node.refuse('it works on all pictures at once');
  node.keep(
    place === 'front' ? { attribute: withAttribute(node.node, 'axis', BigInt(behindFront(axis))) } : {},
  );
  return [place];
}

function layerNormalised(node: BatchNode): readonly Place[] {
  const axis = node.int('axis', -1);
  const place = node.place(0) ?? 0;
  if (place !== 'front' && wrapAxis(axis, node.shape(0).length) <= place)
    throw node.refuse('it works on all pictures at once');
  node.keep({
    attribute: withAttribute(node.node, 'axis', BigInt(place === 'front' ? behindFront(axis) : axis)),
  });
  return node.node.output.map(() => place);
}

function chosen(node: BatchNode): readonly Place[] {
  const axis = wrapAxis(node.int('axis', 0), node.shape(0).length);
  const place = alongAxis(node, 0);
  const isGone = node.int('keepdims', 1) === 0 && typeof place === 'number' && axis < place;
  return [isGone ? Number(place) - 1 : place];
}

function best(node: BatchNode): readonly Place[] {
  node.expectFixed([1], 'count');
  const place = alongAxis(node, -1);
  return [place, place];
}

function multiplied(node: BatchNode): readonly Place[] {
  const [left, right] = [node.place(0), node.place(1)];
  if (left === 'front' || right === 'front') return multipliedInFront(node);
  const [rankLeft, rankRight] = [node.shape(0).length, node.shape(1).length];
  const rank = node.outputShape().length;
  if (left !== undefined && right !== undefined) {
    const fromEnd = left - rankLeft;
    if (fromEnd > -3 || right - rankRight !== fromEnd)
      throw node.refuse('it multiplies the pictures with one another');
    node.keep();
    return [rank + fromEnd];
  }
  const isLeft = left !== undefined;
  const fromEnd = isLeft ? left - rankLeft : (right ?? 0) - rankRight;
  if (fromEnd === (isLeft ? -1 : -2)) throw node.refuse('it sums over the pictures');
  const isMatrixAxis = fromEnd >= -2;
  if (!isMatrixAxis) expectOnePicture(node, isLeft ? 1 : 0, fromEnd);
  if (rankLeft < 2 || rankRight < 2) throw node.refuse('one of its sides is a list');
  node.keep();
  return [rank + fromEnd];
}

/** Matrices in front of which the pictures lie: that is what batches are to the operator. */
function multipliedInFront(node: BatchNode): readonly Place[] {
  const rank = Math.max(node.shape(0).length, node.shape(1).length);
  const input = [0, 1].map((index) => {
    if (node.shape(index).length < 2) throw node.refuse('one of its sides is a list');
    return node.place(index) === undefined ? node.name(index) : node.inFront(index, rank);
  });
  node.keep({ input });
  return ['front'];
}

function multipliedAndAdded(node: BatchNode): readonly Place[] {
  node.expectFixed([2], 'addends');
  const places = [node.place(0), node.place(1)];
  if (places[0] === 0 && places[1] === undefined && node.int('transA', 0) === 0) {
    if (node.name(2) !== '') expectOnePicture(node, 2, -2);
    node.keep();
    return [0];
  }
  const factor = (name: string) => node.node.attribute.find((attribute) => attribute.name === name)?.f ?? 1;
  const isPlain =
    ['transA', 'transB'].every((name) => node.int(name, 0) === 0) &&
    ['alpha', 'beta'].every((name) => factor(name) === 1);
  if (!isPlain || places.every((place) => place !== 'front'))
    throw node.refuse('it multiplies matrices of which the batch is no row');
  // Gemm knows matrices only; MatMul knows batches of them.
  const input = [0, 1].map((index) =>
    node.place(index) === undefined ? node.name(index) : node.inFront(index),
  );
  if (node.name(2) === '') {
    node.keep({ opType: 'MatMul', input, attribute: [] });
    return ['front'];
  }
  const matrices = node.writer.add('MatMul', input, `${node.node.output[0] ?? ''}.product`);
  node.writer.nodes.push(
    copyMessage(node.node, { opType: 'Add', input: [matrices, node.name(2)], attribute: [] }),
  );
  return ['front'];
}
