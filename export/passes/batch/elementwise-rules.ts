// A free batch through what works element by element, or on every picture by itself.
import type { BatchNode, BatchRule, Place } from './batch-node.ts';

/** All inputs of these broadcast against each other. */
const ELEMENTWISE = [
  ...['Relu', 'LeakyRelu', 'HardSwish', 'HardSigmoid', 'Sigmoid', 'Tanh', 'Softplus', 'Softsign', 'Mish'],
  ...['Identity', 'Dropout', 'Clip', 'Exp', 'Log', 'Sqrt', 'Neg', 'Abs', 'Erf', 'Elu', 'Floor', 'Ceil'],
  ...['Reciprocal', 'Cast', 'Not', 'Round', 'Sign', 'Gelu', 'Swish', 'PRelu', 'Where', 'Mod', 'Mean'],
  ...['Add', 'Sub', 'Mul', 'Div', 'Pow', 'Max', 'Min', 'Sum', 'Equal', 'Less', 'Greater', 'And', 'Or'],
  ...['LessOrEqual', 'GreaterOrEqual'],
];

/** The first axis of their first input is the batch, by definition; all else is weights. */
const PICTURE_BY_PICTURE = [
  ...['Conv', 'ConvTranspose', 'MaxPool', 'AveragePool', 'GlobalAveragePool', 'GlobalMaxPool', 'LpPool'],
  ...['BatchNormalization', 'InstanceNormalization', 'GroupNormalization', 'LRN'],
  ...['DepthToSpace', 'SpaceToDepth', 'ConvInteger', 'QLinearConv'],
];

export const elementwiseRules: Readonly<Record<string, BatchRule>> = {
  ...Object.fromEntries(ELEMENTWISE.map((name) => [name, broadcast])),
  ...Object.fromEntries(PICTURE_BY_PICTURE.map((name) => [name, pictureByPicture])),
  QuantizeLinear: scaled,
  DequantizeLinear: scaled,
  DynamicQuantizeLinear(node) {
    throw node.refuse('it takes one scale from all pictures, so that each would change the others');
  },
  Resize: resized,
  Upsample: resized,
};

function outputsAt(node: BatchNode, place: Place): readonly Place[] {
  return node.node.output.map(() => place);
}

function broadcast(node: BatchNode): readonly Place[] {
  const indices = node.node.input.flatMap((name, index) => (name === '' ? [] : [index]));
  const readers = indices.filter((index) => node.place(index) !== undefined);
  if (indices.length === 1) {
    node.keep();
    return outputsAt(node, node.place(0) ?? 0);
  }
  const rank = Math.max(...indices.map((index) => node.shape(index).length));
  const fromEnd = (index: number) => Number(node.place(index)) - node.shape(index).length;
  const first = readers[0] ?? 0;
  const agree = readers.every((index) => node.place(index) !== 'front' && fromEnd(index) === fromEnd(first));
  if (!agree) {
    const input = node.node.input.map((name, index) =>
      readers.includes(index) ? node.inFront(index, rank) : name,
    );
    node.keep({ input });
    return outputsAt(node, 'front');
  }
  const place = fromEnd(first);
  for (const index of indices) if (!readers.includes(index)) expectOnePicture(node, index, place);
  node.keep();
  return outputsAt(node, rank + place);
}

/** A constant has no batch of its own. */
export function expectOnePicture(node: BatchNode, index: number, fromEnd: number): void {
  const shape = node.shape(index);
  const along = shape[shape.length + fromEnd] ?? 1;
  if (along === 1) return;
  throw node.refuse(
    `its constant ${node.name(index)} has ${along} rows along the batch, as passes of Monte Carlo dropout have`,
  );
}

function pictureByPicture(node: BatchNode): readonly Place[] {
  node.expectFixed(
    node.node.input.map((_, index) => index).filter((index) => index > 0),
    'weights',
  );
  node.keep({ input: [node.onFirstAxis(0), ...node.node.input.slice(1)] });
  return outputsAt(node, 0);
}

function scaled(node: BatchNode): readonly Place[] {
  node.expectFixed([1, 2], 'scale and zero point');
  const place = node.place(0) ?? 0;
  const isPerAxis = node.shape(1).some((size) => size > 1);
  const rank = node.shape(0).length;
  const axis = node.int('axis', 1);
  if (isPerAxis && (place === 'front' || (axis < 0 ? axis + rank : axis) === place))
    throw node.refuse('its scales lie along the batch');
  node.keep();
  return outputsAt(node, place);
}

/** Sizes name the batch, scales only multiply it: so sizes become scales. */
function resized(node: BatchNode): readonly Place[] {
  node.expectFixed([1, 2, 3], 'sizes');
  const picture = node.onFirstAxis(0);
  if (node.node.opType === 'Resize' && node.name(3) !== '') {
    node.keep({ input: [picture, node.name(1), scalesOf(node)] });
    return [0];
  }
  const index = node.node.opType === 'Upsample' || node.opset < 11 ? 1 : 2;
  if (node.shape(0)[0] !== node.outputShape()[0])
    throw node.refuse(`its scales (${node.name(index)}) enlarge the batch`);
  node.keep({ input: [picture, ...node.node.input.slice(1)] });
  return [0];
}

function scalesOf(node: BatchNode): string {
  const [from, to] = [node.shape(0), node.outputShape()];
  const scales = from.map((size, axis) => Math.fround((to[axis] ?? 0) / size));
  from.forEach((size, axis) => {
    if (Math.floor(Math.fround(size * (scales[axis] ?? 0))) !== to[axis])
      throw node.refuse(`${size} to ${to[axis]} cannot be said by a scale`);
  });
  return node.writer.floats(`${node.node.output[0] ?? ''}.scales`, [scales.length], scales);
}
