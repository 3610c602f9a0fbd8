// Model ↔ bytes. Unknown fields are kept, so reading and writing a model of a newer format loses nothing.
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import type { ModelProto } from './proto/onnx_pb.ts';
import { ModelProtoSchema } from './proto/onnx_pb.ts';

/** @returns the bytes of an .onnx file */
export function serialize(model: ModelProto): Uint8Array {
  return toBinary(ModelProtoSchema, model);
}

/** @throws Error of the protobuf reader when the bytes are no protobuf message; `loadModelFile` says it in words */
export function deserialize(bytes: Uint8Array): ModelProto {
  return fromBinary(ModelProtoSchema, bytes);
}
