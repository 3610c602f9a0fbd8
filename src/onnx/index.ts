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
export type { ExternalFile } from './external-data.ts';
export { externalFiles } from './external-data.ts';
export { withFloatInterface } from './float-interface.ts';
export { fromHalfBits, toHalfBits } from './float16.ts';
export type { Axis, GraphView } from './graph.ts';
export { normalizeInputs, viewGraph } from './graph.ts';
export type {
  DistributionTap,
  FindHeadOptions,
  HeadCapabilities,
  HeadFinding,
  MeasuredShapes,
  TapPlan,
} from './head-finder/types.ts';
export type { OnnxModelFile } from './load.ts';
export { loadModelFile, MAX_IR_VERSION, MAX_OPSET, parseModel } from './load.ts';
export type { ModelMetadata } from './metadata.ts';
export { parseNames, readMetadata } from './metadata.ts';
export type {
  AttributeProto,
  GraphProto,
  ModelProto,
  NodeProto,
  TensorProto,
  ValueInfoProto,
} from './proto/onnx_pb.ts';
export { deserialize, serialize } from './serialize.ts';
export type { PictureInput, StaticInput } from './shapes.ts';
export { pictureInput, withExtraOutputs, withStaticInput } from './shapes.ts';
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
