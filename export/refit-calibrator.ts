// After int8 the scores are others: a calibrator that the source carried is fitted anew on what was exported.
import { DataError, ModelError, parseFittedSuppression } from '#core';
import { loadDataset } from '#data/datasets';
import { calibrateModel, chooseSplit, otherSplit } from '#evaluate';
import { type ModelProto, readCalibrator, readMetadata, setName, trainedOn, withCalibrator } from '#onnx';
import type { ExportRequest } from './settings.ts';

export interface Refitted {
  /** Absent where there was nothing to fit, or nothing to fit on. */
  readonly model?: ModelProto;
  /** What was done, or why not. */
  readonly notes: readonly string[];
}

/**
 * Fits on a labelled split that the gate does not judge on, with the map, the target and the suppression of the
 * calibrator that is there. Never on pictures that the model learned from, where it says so: on them its scores are
 * better than they will be.
 * @param path of a file with `model`
 * @throws DataError, ModelError as `calibrateModel`
 */
export async function refitCalibrator(
  model: ModelProto,
  path: string,
  { pictures }: ExportRequest,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Refitted> {
  const stored = readCalibrator(readMetadata(model));
  if (stored === undefined) return { notes: [] };
  const keep = (why: string) => ({
    notes: [`the calibrator of the source stays as it is, fitted on its float scores: ${why}`],
  });
  if (pictures.kind !== 'labelled') return keep('a new one needs labels (data=)');
  const dataset = await loadDataset(pictures.data);
  const judged = chooseSplit(dataset, pictures.split).split;
  const hasLearned = trainedOn(readMetadata(model)) === setName(pictures.data);
  const split = otherSplit(dataset, judged, hasLearned ? ['val', 'test'] : ['val', 'test', 'train']);
  if (split === undefined) {
    const besides = hasLearned ? 'those of the gate and those that it learned from' : 'those of the gate';
    return keep(`${pictures.data} has no labelled pictures besides ${besides}`);
  }
  try {
    const { stored: fitted, study } = await calibrateModel(
      {
        model: path,
        data: pictures.data,
        split,
        method: stored.kind,
        target: stored.target,
        predict: parseFittedSuppression(stored.suppression, path),
        ...(pictures.matching && { matching: pictures.matching }),
        resamples: 0,
      },
      signal ? { signal } : {},
    );
    return {
      model: withCalibrator(model, fitted),
      notes: [
        `the calibrator was fitted again on what was exported: split ${split}, ${study.pictures} pictures`,
      ],
    };
  } catch (error) {
    if (error instanceof DataError && !(error instanceof ModelError)) return keep(error.message);
    throw error;
  }
}
