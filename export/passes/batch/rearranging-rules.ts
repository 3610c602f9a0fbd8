// A free batch through what only moves elements: reshapes, transposes, cuts and joins.
import { attributeInts, sliceParts } from '#onnx';
import {
  type BatchNode,
  type BatchRule,
  behindFront,
  type Place,
  withAttribute,
  wrapAxis,
} from './batch-node.ts';

export const rearrangingRules: Readonly<Record<string, BatchRule>> = {
  Reshape: reshaped,
  Flatten: reshaped,
  Squeeze: reshaped,
  Unsqueeze: reshaped,
  Transpose: transposed,
  Concat: joined,
  Split: split,
  Slice: sliced,
  Gather: gathered,
  GatherElements: gatheredElements,
  GatherND: gatheredRows,
  Expand: expanded,
  Tile: tiled,
  Pad: padded,
};

const product = (sizes: readonly number[]) => sizes.reduce((count, size) => count * size, 1);

/**
 * Elements keep their order, so the batch is the axis of its size with as many elements before it. Where one picture's
 * shape has no such axis, the pictures come in front of it.
 */
function reshaped(node: BatchNode): readonly Place[] {
  node.expectFixed([1], 'shape');
  const [place, from, to] = [node.place(0), node.shape(0), node.outputShape()];
  const before = typeof place === 'number' ? product(from.slice(0, place)) : 1;
  const axis = to.findIndex(
    (size, candidate) => size === node.batch && product(to.slice(0, candidate)) === before,
  );
  const isFound = axis >= 0;
  if (!isFound && (node.batch !== 1 || before !== 1))
    throw node.refuse(`[${from.join(', ')}] to [${to.join(', ')}] merges the batch with another axis`);
  const shape = isFound ? to.map((size, at) => (at === axis ? -1 : size)) : [-1, ...to];
  const name = node.writer.ints(`${node.node.output[0] ?? ''}.shape`, shape);
  node.keep({ opType: 'Reshape', input: [node.name(0), name], attribute: [] });
  return [isFound ? axis : 'front'];
}

function transposed(node: BatchNode): readonly Place[] {
  const rank = node.shape(0).length;
  const order =
    attributeInts(node.node, 'perm') ?? Array.from({ length: rank }, (_, axis) => rank - 1 - axis);
  const place = node.place(0);
  if (typeof place === 'number') {
    node.keep();
    return [order.indexOf(place)];
  }
  const perm = [0n, ...order.map((axis) => BigInt(axis + 1))];
  node.keep({ attribute: withAttribute(node.node, 'perm', perm) });
  return ['front'];
}

function joined(node: BatchNode): readonly Place[] {
  const indices = node.node.input.map((_, index) => index);
  const fixed = indices.find((index) => node.place(index) === undefined);
  if (fixed !== undefined) throw node.refuse(`it joins a constant (${node.name(fixed)}) to every picture`);
  const axis = node.int('axis', 0);
  const places = new Set(indices.map((index) => node.place(index)));
  const [place = 0] = places;
  if (places.size === 1 && typeof place === 'number') {
    expectOtherAxis(node, axis, place);
    node.keep();
    return [place];
  }
  node.keep({
    input: indices.map((index) => node.inFront(index)),
    attribute: withAttribute(node.node, 'axis', BigInt(behindFront(axis))),
  });
  return ['front'];
}

function expectOtherAxis(node: BatchNode, axis: number, place: number): void {
  if (wrapAxis(axis, node.shape(0).length) === place) throw node.refuse('it works along the batch');
}

/** For operators with one `axis` that keep the rank: that axis must not be the batch. */
export function alongAxis(node: BatchNode, fallback: number): Place {
  const axis = node.int('axis', fallback);
  const place = node.place(0) ?? 0;
  if (place === 'front') {
    node.keep({ attribute: withAttribute(node.node, 'axis', BigInt(behindFront(axis))) });
  } else {
    expectOtherAxis(node, axis, place);
    node.keep();
  }
  return place;
}

function split(node: BatchNode): readonly Place[] {
  const place = alongAxis(node, 0);
  return node.node.output.map(() => place);
}

function sliced(node: BatchNode): readonly Place[] {
  node.expectFixed([1, 2, 3, 4], 'bounds');
  const place = node.place(0);
  if (typeof place !== 'number') throw node.refuse('the batch lies in front of its axes');
  const [axes, steps] = [node.list('axes', 3), node.list('steps', 4)];
  const bounds = { starts: node.list('starts', 1) ?? [], ends: node.list('ends', 2) ?? [], axes, steps };
  const cut = sliceParts(node.shape(0), bounds).findIndex(({ axis }) => axis === place);
  const isWhole = cut < 0 || (bounds.starts[cut] === 0 && (bounds.ends[cut] ?? 0) >= 2 ** 31 - 1);
  if (!isWhole) throw node.refuse('it takes single pictures out of the batch');
  node.keep();
  return [place];
}

function gathered(node: BatchNode): readonly Place[] {
  if (node.place(1) !== undefined)
    throw node.refuse(
      'the rows to take are those of one picture (best rows can be kept once the batch is free)',
    );
  const rank = node.shape(0).length;
  const axis = wrapAxis(node.int('axis', 0), rank);
  const [place, picked] = [node.place(0), node.shape(1).length];
  if (place === 'front') {
    node.keep({ attribute: withAttribute(node.node, 'axis', BigInt(axis + 1)) });
    return ['front'];
  }
  if (place === axis) return firstPicture(node, picked);
  node.keep();
  return [place === undefined || place < axis ? (place ?? 0) : place - 1 + picked];
}

/** `x[0]` of one picture is the picture: of many, it is all of them. */
function firstPicture(node: BatchNode, rankOfIndices: number): readonly Place[] {
  const isFirst = node.batch === 1 && node.place(0) === 0 && node.integers(1)?.join() === '0';
  if (!isFirst || rankOfIndices > 1) throw node.refuse('it takes single pictures out of the batch');
  node.keep({ opType: 'Identity', input: [node.name(0)], attribute: [] });
  return [rankOfIndices === 0 ? 'front' : 0];
}

function gatheredElements(node: BatchNode): readonly Place[] {
  if (node.place(0) !== 0 || node.place(1) !== 0)
    throw node.refuse('values and places are not one list per picture');
  expectOtherAxis(node, node.int('axis', 0), 0);
  node.keep();
  return [0];
}

function gatheredRows(node: BatchNode): readonly Place[] {
  if (node.int('batch_dims', 0) < 1 || node.place(0) !== 0 || node.place(1) !== 0)
    throw node.refuse('it addresses rows of all pictures at once');
  node.keep();
  return [0];
}

function expanded(node: BatchNode): readonly Place[] {
  node.expectFixed([1], 'shape');
  const [place, from, to] = [node.place(0), node.shape(0), node.integers(1)];
  if (typeof place !== 'number' || to === undefined) throw node.refuse('its shape is not known');
  const fromEnd = place - from.length;
  const asked = to[to.length + fromEnd] ?? 1;
  if (asked !== node.batch && asked !== 1)
    throw node.refuse(`it makes ${asked} out of every picture, as passes of Monte Carlo dropout do`);
  const shape = to.map((size, axis) => (axis - to.length === fromEnd ? 1 : size));
  const name = node.writer.ints(`${node.node.output[0] ?? ''}.shape`, shape);
  node.keep({ input: [node.name(0), name] });
  return [Math.max(from.length, to.length) + fromEnd];
}

function tiled(node: BatchNode): readonly Place[] {
  node.expectFixed([1], 'repeats');
  const place = node.place(0);
  if (typeof place !== 'number' || node.integers(1)?.[place] !== 1)
    throw node.refuse('it repeats the pictures, as passes of Monte Carlo dropout do');
  node.keep();
  return [place];
}

function padded(node: BatchNode): readonly Place[] {
  node.expectFixed([1, 2, 3], 'padding');
  const place = node.place(0);
  const input = place === 'front' ? node.onFirstAxis(0) : node.name(0);
  const axis = place === 'front' ? 0 : (place ?? 0);
  if (node.outputShape()[axis] !== node.shape(0)[axis]) throw node.refuse('it pads the batch');
  node.keep({ input: [input, ...node.node.input.slice(1)] });
  return [axis];
}
