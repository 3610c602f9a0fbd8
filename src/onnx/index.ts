// ONNX files: read, view, recognise, edit, write.
export type { AttributeValue, GraphParts, ModelParts } from './builder.ts';
export {
  floats,
  graph,
  ints,
  model,
  node,
  OWN_IR_VERSION,
  OWN_OPSET,
  tensor,
  valueInfo,
} from './builder.ts';
export { withFloatInterface } from './float-interface.ts';
export { fromHalfBits, toHalfBits } from './float16.ts';
export type {
  DistributionTap,
  FindHeadOptions,
  HeadCapabilities,
  HeadFinding,
  MeasuredShapes,
  TapPlan,
} from './head-finder/types.ts';
export type {
  AttributeProto,
  GraphProto,
  ModelProto,
  NodeProto,
  TensorProto,
  ValueInfoProto,
} from './proto/onnx_pb.ts';
export { deserialize, serialize } from './serialize.ts';
export { STAND_IN_SCORE, standInDetector } from './stand-in.ts';
export type { TensorData } from './tensor.ts';
export {
  ElementType,
  elementCount,
  elementTypeName,
  isExternal,
  tensorNumbers,
  tensorValues,
} from './tensor.ts';
