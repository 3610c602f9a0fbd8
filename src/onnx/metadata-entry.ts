// One key of a model's metadata, set or replaced.
import { create } from '@bufbuild/protobuf';
import { copyMessage } from './graph.ts';
import type { ModelProto } from './proto/onnx_pb.ts';
import { StringStringEntryProtoSchema } from './proto/onnx_pb.ts';

/** The same model with `value` under `key`; the other keys stay as they are and where they are. */
export function withMetadataEntry(model: ModelProto, key: string, value: string): ModelProto {
  const isThere = model.metadataProps.some((entry) => entry.key === key);
  const metadataProps = isThere
    ? model.metadataProps.map((entry) => (entry.key === key ? copyMessage(entry, { value }) : entry))
    : [...model.metadataProps, create(StringStringEntryProtoSchema, { key, value })];
  return copyMessage(model, { metadataProps });
}
