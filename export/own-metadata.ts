// What an exported file says of itself under the key of our models, so that nothing about it is guessed when it runs.
import type { PreprocessContract } from '#core';
import {
  formatNames,
  type ModelProto,
  OWN_FORMAT_VERSION,
  type OwnFormat,
  readMetadata,
  withMetadataEntry,
} from '#onnx';

export interface OwnMetadata {
  readonly contract: PreprocessContract;
  readonly classNames: readonly string[];
  /** Absent for models of ours, whose outputs are those of the wire format. */
  readonly decoded?: boolean;
  /** Where the outputs are rows for DeepStream. */
  readonly rows?: OwnFormat['rows'];
}

/** Everything else that stands there (head, calibrator, training) stays. */
export function withOwnMetadata(
  model: ModelProto,
  { contract, classNames, decoded, rows }: OwnMetadata,
): ModelProto {
  const { edgeDetect, names } = readMetadata(model);
  const before = JSON.parse(edgeDetect ?? '{}') as Record<string, unknown>;
  const own = {
    version: OWN_FORMAT_VERSION,
    ...before,
    classes: classNames,
    preprocess: contract,
    ...(decoded === undefined ? {} : { decoded }),
    ...(rows === undefined ? {} : { rows }),
  };
  const named = sameNames(names, classNames)
    ? model
    : withMetadataEntry(model, 'names', formatNames(classNames));
  return withMetadataEntry(named, 'edge_detect', JSON.stringify(own));
}

function sameNames(before: readonly string[] | undefined, now: readonly string[]): boolean {
  return before?.length === now.length && now.every((name, id) => before[id] === name);
}
