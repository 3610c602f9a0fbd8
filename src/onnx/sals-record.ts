// What a model of ours says about the scaling of its class logits, in its metadata key `edge_detect`.
import { type LogitRange, ModelError } from '#core';
import { ownFormat } from './head-finder/own-format.ts';
import { type ModelMetadata, readMetadata } from './metadata.ts';
import { withMetadataEntry } from './metadata-entry.ts';
import type { ModelProto } from './proto/onnx_pb.ts';

/** Entry `sals`: sample-adaptive logit scaling stands in the graph. */
export interface SalsRecord {
  readonly reference:
    | {
        readonly kind: 'frozen-layer';
        /** Of the file before the adaptation. */
        readonly sha256: string;
      }
    | {
        readonly kind: 'ceilings';
        /** By class id. */
        readonly ranges: readonly Readonly<LogitRange>[];
      };
  readonly shrinkOnly: boolean;
  /** What it adds to the file, and to the work of a picture. */
  readonly extraParameters: number;
  readonly extraMultiplyAdds: number;
}

/**
 * @returns undefined where class logits are not scaled
 * @throws ModelError where the entry is faulty
 */
export function readSals(metadata: ModelMetadata): SalsRecord | undefined {
  if (ownFormat(metadata) === undefined) return undefined;
  const { sals } = JSON.parse(metadata.edgeDetect ?? '') as { readonly sals?: Partial<SalsRecord> };
  if (sals === undefined) return undefined;
  const kind = sals.reference?.kind;
  const isWhole =
    (kind === 'frozen-layer' || kind === 'ceilings') &&
    typeof sals.shrinkOnly === 'boolean' &&
    Number.isFinite(sals.extraParameters) &&
    Number.isFinite(sals.extraMultiplyAdds);
  if (isWhole) return sals as SalsRecord;
  throw new ModelError('the entry sals of the metadata key edge_detect is incomplete', {
    hint: 'export the model again',
  });
}

/** The model with the record in its metadata. */
export function withSalsRecord(model: ModelProto, record: SalsRecord): ModelProto {
  const own = JSON.parse(readMetadata(model).edgeDetect ?? '{}') as Record<string, unknown>;
  return withMetadataEntry(model, 'edge_detect', JSON.stringify({ ...own, sals: record }));
}

/** One line for people. */
export function describeSals({
  reference,
  shrinkOnly,
  extraParameters,
  extraMultiplyAdds,
}: SalsRecord): string {
  const held =
    reference.kind === 'frozen-layer'
      ? `the range of the class layer before adaptation (${reference.sha256.slice(0, 12)}…)`
      : `the range that ${reference.ranges.length} classes had in training`;
  const how = shrinkOnly ? 'shrunk, never stretched, to' : 'set to';
  return `class logits are ${how} ${held}, box by box; it adds ${extraParameters} parameters and ${millions(extraMultiplyAdds)} multiply-adds a picture`;
}

function millions(count: number): string {
  return count >= 1e6 ? `${(count / 1e6).toFixed(1)} million` : String(count);
}
