// How nodes of opsets 18 to 22 are written in opset 17: what each operator's newer versions changed, after the changelog
// of the ONNX operators.
import type { ModelError } from '#core';
import {
  type AttributeProto,
  type AttributeValue,
  copyMessage,
  node as makeNode,
  type NodeProto,
} from '#onnx';

/** What a rule may ask and say of the node that it is for. */
export interface LoweringContext {
  /** Values of a constant input; undefined where it is computed. */
  integers(name: string): readonly number[] | undefined;
  /** Shape of a tensor, where it can be told. */
  shape(name: string): readonly number[] | undefined;
  /** Adds a constant list. @returns its name */
  addIntegers(label: string, values: readonly number[]): string;
  /** A name that no tensor has. */
  freeName(label: string): string;
  refuse(why: string): ModelError;
}

type LoweringRule = (node: NodeProto, context: LoweringContext) => readonly NodeProto[];

/** Operators whose versions after 17 only take further element types, or nothing at all. */
export const UNCHANGED: ReadonlySet<string> = new Set(
  [
    'Abs Acos Add And ArgMax ArgMin Asin Atan BatchNormalization Cast CastLike Ceil Clip Concat Constant ConstantOfShape',
    'Conv ConvInteger ConvTranspose Cos CumSum DepthToSpace Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp',
    'Expand Flatten Floor GRU Gather GatherElements GatherND Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual',
    'HardSigmoid HardSwish Identity InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual',
    'Log LogSoftmax LpNormalization MatMul MatMulInteger Max MaxPool Mean Min Mod Mul Neg NonMaxSuppression NonZero Not OneHot',
    'Or PRelu Pow QLinearConv QLinearMatMul Range Reciprocal ReduceSum Relu Reshape RoiAlign Round Selu Shape Sigmoid Sign Sin',
    'Size Slice Softmax Softplus Softsign SpaceToDepth Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile TopK Transpose',
    'Trilu Unsqueeze Where Xor Hardmax',
  ].flatMap((line) => line.split(' ')),
);

/** Attributes that came after 17, with the value at which they change nothing. Any value: undefined. */
const NEW_ATTRIBUTES: Readonly<Record<string, Readonly<Record<string, number | string | undefined>>>> = {
  // Only of conversions to float8, which no type of IR 8 is.
  Cast: { saturate: undefined },
  CastLike: { saturate: undefined },
  QuantizeLinear: { saturate: undefined, block_size: 0, output_dtype: 0, precision: 0 },
  DequantizeLinear: { block_size: 0, output_dtype: 0 },
  AveragePool: { dilations: 1 },
  ScatterElements: {},
  ScatterND: {},
  Resize: { antialias: 0, keep_aspect_ratio_policy: 'stretch' },
};

export const LOWERINGS: Readonly<Record<string, LoweringRule>> = {
  ...Object.fromEntries(
    ['Max', 'Min', 'Mean', 'Prod', 'L1', 'L2', 'LogSum', 'LogSumExp', 'SumSquare'].map((kind) => [
      `Reduce${kind}`,
      reduction,
    ]),
  ),
  ...Object.fromEntries(
    ['Cast', 'CastLike', 'QuantizeLinear', 'DequantizeLinear', 'AveragePool'].map((name) => [
      name,
      withoutNew,
    ]),
  ),
  Resize: resize,
  Split: split,
  Pad: pad,
  ScatterElements: scatter,
  ScatterND: scatter,
  GridSample: gridSample,
  Mish: mish,
};

function attributeOf(node: NodeProto, name: string): AttributeProto | undefined {
  return node.attribute.find((attribute) => attribute.name === name);
}

function textOf(attribute: AttributeProto | undefined): string | undefined {
  return attribute && new TextDecoder().decode(attribute.s);
}

function withoutAttributes(node: NodeProto, names: readonly string[]): NodeProto {
  return copyMessage(node, { attribute: node.attribute.filter(({ name }) => !names.includes(name)) });
}

function withAttribute(node: NodeProto, name: string, value: AttributeValue): NodeProto {
  const made = makeNode('', [], [], { [name]: value }).attribute;
  return copyMessage(node, { attribute: [...withoutAttributes(node, [name]).attribute, ...made] });
}

/** Drops attributes that say nothing. */
function withoutNew(node: NodeProto, { refuse }: LoweringContext): readonly NodeProto[] {
  const neutral = NEW_ATTRIBUTES[node.opType] ?? {};
  for (const [name, value] of Object.entries(neutral)) {
    const attribute = attributeOf(node, name);
    if (attribute === undefined || value === undefined) continue;
    const found =
      attribute.ints.length > 0 ? attribute.ints.map(Number) : [textOf(attribute) || Number(attribute.i)];
    if (found.some((item) => item !== value)) throw refuse(`its ${name} is ${found.join(', ')}`);
  }
  return [withoutAttributes(node, Object.keys(neutral))];
}

/** Reductions that give a single value back as it is; a norm gives its size. */
const SAME_OVER_ONE = new Set(['ReduceMax', 'ReduceMin', 'ReduceMean', 'ReduceProd', 'ReduceLogSumExp']);

/** Axes were an attribute, and all axes where they are left out. */
function reduction(node: NodeProto, context: LoweringContext): readonly NodeProto[] {
  const idle = Number(attributeOf(node, 'noop_with_empty_axes')?.i ?? 0n) === 1;
  const plain = withoutAttributes(node, ['noop_with_empty_axes']);
  const [data = '', axesName = ''] = node.input;
  const axes = axesName === '' ? [] : context.integers(axesName);
  if (axes === undefined) throw context.refuse(`its axes ${axesName} are computed while it runs`);
  if (axes.length === 0 && idle) {
    if (!SAME_OVER_ONE.has(node.opType)) throw context.refuse('it reduces over no axes');
    return [copyMessage(makeNode('Identity', [data], node.output), { name: node.name })];
  }
  const bare = copyMessage(plain, { input: [data] });
  return [axes.length === 0 ? bare : withAttribute(bare, 'axes', axes.map(BigInt))];
}

function resize(node: NodeProto, context: LoweringContext): readonly NodeProto[] {
  if (attributeOf(node, 'axes')) throw context.refuse('it resizes chosen axes only');
  const mode = textOf(attributeOf(node, 'coordinate_transformation_mode'));
  if (mode === 'half_pixel_symmetric') throw context.refuse(`its coordinates are ${mode}`);
  return withoutNew(node, context);
}

/** Without sizes a Split makes equal parts; with `num_outputs` the last one may be smaller. */
function split(node: NodeProto, context: LoweringContext): readonly NodeProto[] {
  if (!attributeOf(node, 'num_outputs')) return [node];
  const plain = withoutAttributes(node, ['num_outputs']);
  const shape = context.shape(node.input[0] ?? '');
  if (!shape) throw context.refuse('the size of what it splits cannot be told');
  const axis = Number(attributeOf(node, 'axis')?.i ?? 0n);
  const total = shape[axis < 0 ? axis + shape.length : axis] ?? 0;
  const count = node.output.length;
  if (total % count === 0) return [plain];
  const part = Math.ceil(total / count);
  const sizes = node.output.map((_, index) => Math.min(part, total - index * part));
  const name = context.addIntegers(`${node.output[0]}_sizes`, sizes);
  return [copyMessage(plain, { input: [node.input[0] ?? '', name] })];
}

function pad(node: NodeProto, { refuse }: LoweringContext): readonly NodeProto[] {
  if (node.input[3]) throw refuse('it pads chosen axes only');
  const mode = textOf(attributeOf(node, 'mode'));
  if (mode === 'wrap') throw refuse(`its mode is ${mode}`);
  return [node];
}

function scatter(node: NodeProto, { refuse }: LoweringContext): readonly NodeProto[] {
  const reduced = textOf(attributeOf(node, 'reduction')) ?? 'none';
  if (reduced === 'max' || reduced === 'min') throw refuse(`its reduction is ${reduced}`);
  return [node];
}

const OLD_MODES: Readonly<Record<string, string>> = { linear: 'bilinear', cubic: 'bicubic' };

function gridSample(node: NodeProto, { refuse, shape }: LoweringContext): readonly NodeProto[] {
  const rank = shape(node.input[0] ?? '')?.length;
  if (rank !== undefined && rank !== 4) throw refuse(`it samples a tensor of ${rank} axes`);
  const mode = textOf(attributeOf(node, 'mode'));
  const old = mode === undefined ? undefined : OLD_MODES[mode];
  return [old === undefined ? node : withAttribute(node, 'mode', old)];
}

/** x tanh(ln(1 + eˣ)) (Misra, 2019), an operator of its own since opset 18. */
function mish(node: NodeProto, { freeName }: LoweringContext): readonly NodeProto[] {
  const [data = ''] = node.input;
  const [output = ''] = node.output;
  const [soft, gate] = [freeName(`${output}_softplus`), freeName(`${output}_gate`)];
  return [
    makeNode('Softplus', [data], [soft]),
    makeNode('Tanh', [soft], [gate]),
    copyMessage(makeNode('Mul', [data, gate], [output]), { name: node.name }),
  ];
}
