// What an exported file says about how it was made: inside it, and beside it as JSON.
import type { PreprocessContract } from '#core';
import { ModelError } from '#core';
import type { ModelMetadata, ModelProto } from '#onnx';
import { withMetadataEntry } from '#onnx';
import type { Precision } from './gate/floors.ts';
import type { GateResult } from './gate/gate.ts';
import type { ExportFormat } from './settings.ts';

const KEY = 'edge_detect_export';

export interface ModelManifest {
  readonly version: 1;
  readonly source: { readonly name: string; readonly sha256: string };
  /** What the gate held it against, where that is another file: the model that a head was distilled from. */
  readonly reference?: { readonly name: string; readonly sha256: string };
  readonly format: ExportFormat;
  readonly precision: Precision;
  readonly input: {
    readonly name: string;
    readonly dtype: string;
    readonly shape: readonly (number | string)[];
    readonly preprocess: PreprocessContract;
  };
  readonly classes: readonly string[];
  /** In the order in which they ran, with what they did. */
  readonly passes: readonly { readonly name: string; readonly note?: string }[];
  /** Of the ranges of int8. */
  readonly quantisation?: {
    readonly placement: string;
    readonly method: string;
    readonly weightBits: number;
    readonly pictures: number;
  };
  readonly gate: Omit<GateResult, 'worst'> & {
    /** It was written although it fell below a floor. */
    readonly forced: boolean;
    /** The pictures, in words. */
    readonly on: string;
  };
  readonly notes: readonly string[];
}

export function withManifest(model: ModelProto, manifest: ModelManifest): ModelProto {
  return withMetadataEntry(model, KEY, JSON.stringify(manifest));
}

/**
 * @returns undefined where the file was not exported by this program
 * @throws ModelError where what it says is broken
 */
export function readManifest({ raw }: ModelMetadata): ModelManifest | undefined {
  const text = raw.get(KEY);
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as ModelManifest;
    if (value.version === 1 && Array.isArray(value.passes) && typeof value.gate?.passed === 'boolean')
      return value;
  } catch {
    // said below
  }
  throw new ModelError(`the metadata key ${KEY} is damaged, or of a newer version`, {
    hint: 'export the model again, or update edge-detect',
  });
}
