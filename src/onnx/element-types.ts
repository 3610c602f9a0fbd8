// Element types of the tensors inside a graph: files seldom say them, and a description without one is not valid.
import { viewGraph } from './graph.ts';
import type { ModelProto, NodeProto } from './proto/onnx_pb.ts';
import { ElementType } from './tensor.ts';

/** Operators whose outputs all have the type of their first input. */
const AS_FIRST = new Set(
  [
    'Abs Add And AveragePool BatchNormalization Ceil Clip Concat Conv ConvTranspose Cos DepthToSpace Div Dropout Elu Erf',
    'Exp Expand Flatten Floor Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool HardSigmoid',
    'HardSwish Identity InstanceNormalization LayerNormalization LeakyRelu Log LogSoftmax MatMul Max MaxPool Mean Min',
    'Mish Mod Mul Neg Not Or PRelu Pad Pow Range Reciprocal ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd',
    'ReduceSum Relu Reshape Resize Round ScatterElements ScatterND Sigmoid Sign Sin Slice Softmax Softplus Softsign',
    'SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh Tile TopK Transpose Unsqueeze Upsample',
  ].flatMap((line) => line.split(' ')),
);

/** Operators whose outputs have types of their own. */
const OWN: Readonly<Record<string, readonly number[]>> = {
  Shape: [ElementType.INT64],
  Size: [ElementType.INT64],
  NonZero: [ElementType.INT64],
  ArgMax: [ElementType.INT64],
  ArgMin: [ElementType.INT64],
  NonMaxSuppression: [ElementType.INT64],
  Equal: [ElementType.BOOL],
  Greater: [ElementType.BOOL],
  GreaterOrEqual: [ElementType.BOOL],
  Less: [ElementType.BOOL],
  LessOrEqual: [ElementType.BOOL],
  IsNaN: [ElementType.BOOL],
  IsInf: [ElementType.BOOL],
  ConvInteger: [ElementType.INT32],
  MatMulInteger: [ElementType.INT32],
  DynamicQuantizeLinear: [ElementType.UINT8, ElementType.FLOAT, ElementType.UINT8],
};

/** Operators whose output has the type of another input than the first. */
const AS_OTHER: Readonly<Record<string, number>> = { Where: 1, CastLike: 1, DequantizeLinear: 1 };

/** Second outputs that are places, whatever the values are. */
const INDICES_SECOND = new Set(['TopK', 'MaxPool']);

/** Second outputs of these (masks, statistics) are not looked at. */
const FIRST_ONLY = new Set(['Dropout', 'BatchNormalization', 'LayerNormalization']);

/** @returns element types by tensor name, declared or following from the operators; undefined where neither tells */
export function inferElementTypes(model: ModelProto): (name: string) => number | undefined {
  const view = viewGraph(model);
  const known = new Map<string, number>();
  const typeOf = (name: string) => known.get(name) ?? (view.elementType(name) || undefined);
  for (const node of view.graph.node) {
    for (const [place, name] of node.output.entries()) {
      const type = typeOf(name) ?? typeOfOutput(node, place, typeOf);
      if (name !== '' && type !== undefined) known.set(name, type);
    }
  }
  return typeOf;
}

function typeOfOutput(
  node: NodeProto,
  place: number,
  typeOf: (name: string) => number | undefined,
): number | undefined {
  const { opType, domain, input } = node;
  if (domain !== '' && domain !== 'ai.onnx') return undefined;
  const attribute = (name: string) => node.attribute.find((candidate) => candidate.name === name);
  if (opType === 'Cast') return Number(attribute('to')?.i ?? 0n) || undefined;
  if (opType === 'ConstantOfShape') return attribute('value')?.t?.dataType ?? ElementType.FLOAT;
  if (opType === 'QuantizeLinear') {
    const stated = Number(attribute('output_dtype')?.i ?? 0n);
    return stated || (input[2] ? typeOf(input[2]) : ElementType.UINT8);
  }
  const own = OWN[opType];
  if (own) return own[place];
  if (place > 0 && INDICES_SECOND.has(opType)) return ElementType.INT64;
  if (place > 0 && FIRST_ONLY.has(opType)) return undefined;
  const other = AS_OTHER[opType];
  if (other !== undefined) return typeOf(input[other] ?? '');
  return AS_FIRST.has(opType) ? typeOf(input[0] ?? '') : undefined;
}
