// Half-precision networks in float32: gradients and our own arithmetic are float32, and half floats widen exactly.
import { tensor } from '../builder.ts';
import { copyMessage, graphOf, viewGraph, withGraph } from '../graph.ts';
import type {
  AttributeProto,
  GraphProto,
  ModelProto,
  NodeProto,
  TensorProto,
  ValueInfoProto,
} from '../proto/onnx_pb.ts';
import { ElementType, tensorValues } from '../tensor.ts';
import { prune } from './prune.ts';

/** Whether any constant, input, output or Cast of the graph is float16 or bfloat16. */
export function isHalfPrecision(model: ModelProto): boolean {
  const graph = graphOf(model);
  return (
    graph.initializer.some(({ dataType }) => isHalf(dataType)) ||
    [...graph.input, ...graph.output].some((info) => isHalf(elementType(info))) ||
    graph.node.some(({ attribute }) => attribute.some(isHalfAttribute))
  );
}

/**
 * Every float16 or bfloat16 tensor as float32; Casts that then change nothing go. Inputs and outputs are float32 too.
 * @returns the same model where nothing is half
 */
export function toFloat32(model: ModelProto): ModelProto {
  if (!isHalfPrecision(model)) return model;
  const wide = withGraph(model, wideGraph(graphOf(model)));
  return prune(withoutIdleCasts(wide, graphOf(model)));
}

function wideGraph(graph: GraphProto): GraphProto {
  return copyMessage(graph, {
    node: graph.node.map((node) => copyMessage(node, { attribute: node.attribute.map(wideAttribute) })),
    initializer: graph.initializer.map(wideTensor),
    input: graph.input.map(wideInfo),
    output: graph.output.map(wideInfo),
    valueInfo: graph.valueInfo.map(wideInfo),
  });
}

function isHalf(type: number | undefined): boolean {
  return type === ElementType.FLOAT16 || type === ElementType.BFLOAT16;
}

/** Of Cast and CastLike: `to`; of the makers of tensors: `dtype`. */
function namesType({ name, i }: AttributeProto): boolean {
  return (name === 'to' || name === 'dtype') && isHalf(Number(i));
}

function isHalfAttribute(attribute: AttributeProto): boolean {
  const { t, g } = attribute;
  const inner = g?.node.some((node) => node.attribute.some(isHalfAttribute)) ?? false;
  return inner || isHalf(t?.dataType) || namesType(attribute);
}

function wideAttribute(attribute: AttributeProto): AttributeProto {
  if (namesType(attribute)) return copyMessage(attribute, { i: BigInt(ElementType.FLOAT) });
  const { t, g } = attribute;
  if (g) return copyMessage(attribute, { g: wideGraph(g) });
  return t ? copyMessage(attribute, { t: wideTensor(t) }) : attribute;
}

function wideTensor(stored: TensorProto): TensorProto {
  if (!isHalf(stored.dataType)) return stored;
  return tensor(stored.name, stored.dims.map(Number), tensorValues(stored), ElementType.FLOAT);
}

function wideInfo(info: ValueInfoProto): ValueInfoProto {
  const { type } = info;
  if (type?.value.case !== 'tensorType' || !isHalf(type.value.value.elemType)) return info;
  const value = copyMessage(type.value.value, { elemType: ElementType.FLOAT });
  return copyMessage(info, { type: copyMessage(type, { value: { case: 'tensorType', value } }) });
}

function elementType({ type }: ValueInfoProto): number | undefined {
  return type?.value.case === 'tensorType' ? type.value.value.elemType : undefined;
}

/** Takes out the Casts between half and single precision of the graph as it was. */
function withoutIdleCasts(wide: ModelProto, before: GraphProto): ModelProto {
  const typeBefore = elementTypes(wide, before);
  const outputs = new Set(before.output.map(({ name }) => name));
  const aliases = new Map<string, string>();
  const read = (name: string) => aliases.get(name) ?? name;
  const node: NodeProto[] = [];
  for (const made of graphOf(wide).node) {
    const [source = ''] = made.input;
    const [target = ''] = made.output;
    const isIdle =
      made.opType === 'Cast' &&
      made.attribute.some(({ name, i }) => name === 'to' && Number(i) === ElementType.FLOAT) &&
      isFloating(typeBefore(source));
    if (isIdle && !outputs.has(target)) aliases.set(target, read(source));
    else node.push(copyMessage(made, { input: made.input.map(read) }));
  }
  return withGraph(wide, { node });
}

function isFloating(type: number | undefined): boolean {
  return type === ElementType.FLOAT || isHalf(type);
}

/** Operators whose result is not of the type of their first input. */
const OTHER_TYPE =
  /^(Shape|Size|ArgMax|ArgMin|NonZero|NonMaxSuppression|Equal|Greater|Less|GreaterOrEqual|LessOrEqual|And|Or|Not|IsNaN|IsInf|Where|OneHot|If|Loop|Scan|ConstantOfShape|QuantizeLinear|DequantizeLinear|DynamicQuantizeLinear|ConvInteger|MatMulInteger)$/;

/** Types that follow from declared ones along operators that keep the type of their first input; else undefined. */
function elementTypes(wide: ModelProto, before: GraphProto): (name: string) => number | undefined {
  const view = viewGraph(withGraph(wide, { node: before.node }));
  const known = new Map<string, number | undefined>();
  for (const node of before.node) {
    const to = node.attribute.find(({ name }) => name === 'to' || name === 'dtype');
    const first = known.get(node.input[0] ?? '') ?? view.elementType(node.input[0] ?? '');
    const kept = OTHER_TYPE.test(node.opType) ? undefined : first;
    for (const [place, name] of node.output.entries()) {
      // The second output of TopK and MaxPool are indices.
      const followed = place === 0 || node.opType === 'Split' ? kept : undefined;
      known.set(name, view.elementType(name) ?? (to ? Number(to.i) : followed));
    }
  }
  return (name) => known.get(name) ?? view.elementType(name);
}
