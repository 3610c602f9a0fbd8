// The calibrator that a model of ours carries in its metadata key `edge_detect`.
import type { StoredCalibrator } from '#core';
import { ModelError, parseStoredCalibrator } from '#core';
import { ownFormat } from './head-finder/own-format.ts';
import { type ModelMetadata, readMetadata } from './metadata.ts';
import { withMetadataEntry } from './metadata-entry.ts';
import type { ModelProto } from './proto/onnx_pb.ts';

const KEY = 'edge_detect';

/**
 * @returns undefined where the model carries none
 * @throws ModelError where it is faulty
 */
export function readCalibrator(metadata: ModelMetadata): StoredCalibrator | undefined {
  if (ownFormat(metadata) === undefined) return undefined;
  const { calibrator } = JSON.parse(metadata.edgeDetect ?? '') as { readonly calibrator?: unknown };
  return calibrator === undefined
    ? undefined
    : parseStoredCalibrator(calibrator, 'the metadata key edge_detect');
}

/**
 * The same model with this calibrator in place of what it carried; `undefined` takes it away.
 * @throws ModelError where the model is not one of ours: it would be read as one
 */
export function withCalibrator(model: ModelProto, calibrator: StoredCalibrator | undefined): ModelProto {
  const { edgeDetect } = readMetadata(model);
  if (edgeDetect === undefined || ownFormat({ edgeDetect, raw: new Map() }) === undefined) {
    throw new ModelError('only models that edge-detect wrote can carry a calibrator', {
      hint: 'write the calibrator to a file, and name it with calibrator=<file>',
    });
  }
  const { calibrator: _, ...rest } = JSON.parse(edgeDetect) as Record<string, unknown>;
  const value = JSON.stringify(calibrator === undefined ? rest : { ...rest, calibrator });
  return withMetadataEntry(model, KEY, value);
}
