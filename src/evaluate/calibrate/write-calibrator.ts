// Where a calibrator goes: into a copy of a model of ours, or into a file beside a model that cannot carry it.
import { stat } from 'node:fs/promises';
import { dirname, join, parse, resolve } from 'node:path';
import { ConfigError, formatCalibratorFile } from '#core';
import { serialize, withCalibrator } from '#onnx';
import { writeWholeFile } from '#runtime';
import type { ModelCalibration } from './calibrate-model.ts';

/**
 * Writes to `outPath`, whole or not at all.
 * @throws DataError where it cannot be written
 */
export async function writeCalibrator(calibration: ModelCalibration): Promise<void> {
  await writeWholeFile(calibration.outPath, calibratorContent(calibration));
}

/** What `writeCalibrator` writes: the model with its calibrator, or the calibrator as JSON. */
export function calibratorContent({ file, isOwn, stored }: ModelCalibration): Uint8Array | string {
  return isOwn ? serialize(withCalibrator(file.model, stored)) : formatCalibratorFile(file.sha256, stored);
}

/**
 * To be asked before the work is done.
 * @throws ConfigError where `out` is not of the kind that this model needs, or its folder is not there
 */
export async function calibratorPath(
  { file, isOwn }: Pick<ModelCalibration, 'file' | 'isOwn'>,
  out?: string,
): Promise<string> {
  const { dir, name } = parse(file.path);
  if (out === undefined) return join(dir, isOwn ? `${name}-calibrated.onnx` : `${name}-calibrator.json`);
  const extension = isOwn ? '.onnx' : '.json';
  if (!out.toLowerCase().endsWith(extension)) {
    throw new ConfigError(`out=${out}: the calibrator of this model goes into a ${extension} file`, {
      hint: isOwn
        ? `write out=${name}-calibrated.onnx: the model carries its calibrator`
        : `write out=${name}-calibrator.json: only models that edge-detect wrote can carry a calibrator`,
    });
  }
  if (isOwn && file.externalDataFolder !== undefined && resolve(dirname(out)) !== resolve(dir)) {
    throw new ConfigError(`out=${out}: the weights of ${file.path} lie in files beside it`, {
      hint: 'write the calibrated model into the same folder',
    });
  }
  await stat(dirname(out)).catch((cause: Error) => {
    throw new ConfigError(`out=${out}: its folder cannot be read (${cause.message})`, {
      hint: 'make the folder first, or name another',
      cause,
    });
  });
  return out;
}
