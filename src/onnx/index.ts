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
export { readCalibrator, withCalibrator } from './calibrator.ts';
export type { Family } from './contracts.ts';
export { CONTRACTS, describeContract } from './contracts.ts';
export { inferElementTypes } from './element-types.ts';
export { embedExternalData } from './embed-external.ts';
export type { ExternalFile } from './external-data.ts';
export { externalFiles } from './external-data.ts';
export type { PreprocessGuess } from './family.ts';
export { guessPreprocess } from './family.ts';
export { withFloatInterface } from './float-interface.ts';
export type { Axis, GraphView } from './graph.ts';
export {
  attributeInt,
  attributeInts,
  copyMessage,
  elementTypeOf,
  graphOf,
  normalizeInputs,
  opsetVersion,
  shapeOf,
  viewGraph,
  withGraph,
} from './graph.ts';
export { findHead } from './head-finder/find-head.ts';
export type { OwnFormat, OwnHead } from './head-finder/own-format.ts';
export { OWN_FORMAT_VERSION, ownFormat } from './head-finder/own-format.ts';
export { planTaps } from './head-finder/plan-taps.ts';
export type {
  DistributionTap,
  FindHeadOptions,
  HeadCapabilities,
  HeadFinding,
  MeasuredShapes,
  TapPlan,
} from './head-finder/types.ts';
export type { AssembleOptions } from './heads/assemble.ts';
export { assembleDetector } from './heads/assemble.ts';
export type { DetectorOptions, DetectorSize } from './heads/detector.ts';
export { buildDetector } from './heads/detector.ts';
export type { CompactQuality, DenseLayer, QualityForm, QualityLayer } from './heads/quality-form.ts';
export { COMPACT_CHANNELS } from './heads/quality-form.ts';
export type { QualityChange } from './heads/quality-head.ts';
export { findQuality, qualitySource, withQualityForm } from './heads/quality-head.ts';
export type { ReheadOptions } from './heads/rehead.ts';
export { reheadHost } from './heads/rehead.ts';
export { TRAINABLE_OPS } from './heads/trainable-ops.ts';
export type {
  BoxCode,
  FreezeLevel,
  HeadCuts,
  HeadedModel,
  HeadLevel,
  HeadParameter,
  HeadSpec,
  NormalizationStatistics,
  PartValues,
  TrainablePart,
} from './heads/types.ts';
export { upgradeOpset } from './heads/upgrade-opset.ts';
export type { InferredGraph, Shapes } from './infer-shapes.ts';
export { inferGraph, inferKnownShapes, inferShapes } from './infer-shapes.ts';
export type { DescribeParts, HeadDescription, ModelDescription, TensorDescription } from './inspect.ts';
export { describeModel } from './inspect.ts';
export type { OnnxModelFile } from './load.ts';
export { loadModelFile, MAX_IR_VERSION, MAX_OPSET, nameFile, parseModel } from './load.ts';
export type { ClassLogitRange, StoredLogitRanges } from './logit-ranges.ts';
export { rangesOfClasses, readLogitRanges } from './logit-ranges.ts';
export type { ModelMetadata } from './metadata.ts';
export { formatNames, parseNames, readMetadata } from './metadata.ts';
export { withMetadataEntry } from './metadata-entry.ts';
export type { Dequantised } from './passes/dequantise.ts';
export { dequantise, isQuantised } from './passes/dequantise.ts';
export type { FoldedBatchNorm } from './passes/fold-batch-norm.ts';
export { foldBatchNorm } from './passes/fold-batch-norm.ts';
export { MOVES } from './passes/moves.ts';
export { FreeNames, nodeLabel, prune } from './passes/prune.ts';
export type { SalsOptions, SalsReference } from './passes/sals.ts';
export { withSals } from './passes/sals.ts';
export { isHalfPrecision, toFloat32 } from './passes/to-float32.ts';
export { parsePreprocess } from './preprocess-option.ts';
export type {
  AttributeProto,
  GraphProto,
  ModelProto,
  NodeProto,
  TensorProto,
  ValueInfoProto,
} from './proto/onnx_pb.ts';
export { renamedGraph } from './renamed-graph.ts';
export type { SalsRecord } from './sals-record.ts';
export { describeSals, readSals } from './sals-record.ts';
export { deserialize, serialize } from './serialize.ts';
export type { NodeShapes, Shape, SliceBounds } from './shape-rules.ts';
export { sliceParts, spatialPads } from './shape-rules.ts';
export type { PictureInput, StaticInput } from './shapes.ts';
export { pictureInput, withExtraOutputs, withStaticInput } from './shapes.ts';
export { STAND_IN_SCORE, standInDetector } from './stand-in.ts';
export { standInQualityDetector } from './stand-in-quality.ts';
export type { Cut, CutTensor } from './subgraph.ts';
export { subgraph } from './subgraph.ts';
export type { TensorData } from './tensor.ts';
export {
  ElementType,
  elementCount,
  elementTypeName,
  isExternal,
  tensorNumbers,
  tensorValues,
} from './tensor.ts';
export { setName, trainedOn } from './training-record.ts';
