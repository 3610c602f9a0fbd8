// The file of a calibrator for models that cannot carry one: every ONNX file that edge-detect did not write.
import { parseStoredCalibrator, type StoredCalibrator } from './calibration-stored.ts';
import { ConfigError } from './errors.ts';

/** @returns JSON, one line per key */
export function formatCalibratorFile(modelSha256: string, calibrator: StoredCalibrator): string {
  return `${JSON.stringify({ modelSha256, calibrator }, null, 2)}\n`;
}

/**
 * @param text JSON
 * @param path of the file, for messages
 * @param model that it must have been fitted on
 * @throws ConfigError where the file is no such file or belongs to another model, ModelError for a faulty calibrator
 */
export function parseCalibratorFile(
  text: string,
  path: string,
  { modelSha256 }: { readonly modelSha256: string },
): StoredCalibrator {
  const value = parseJson(text, path);
  const found = 'modelSha256' in value ? value.modelSha256 : undefined;
  if (typeof found !== 'string' || !('calibrator' in value)) {
    throw new ConfigError(`${path}: expected the keys 'modelSha256' and 'calibrator'`, {
      hint: 'name a file that `edge-detect calibrate` wrote, or write calibrator=off',
    });
  }
  if (found.toLowerCase() !== modelSha256.toLowerCase()) {
    throw new ConfigError(
      `${path} was fitted on the model with SHA-256 ${found}, but this model has ${modelSha256.toLowerCase()}`,
      { hint: 'a calibrator does not carry over between models: fit it again with `edge-detect calibrate`' },
    );
  }
  return parseStoredCalibrator(value.calibrator, path);
}

function parseJson(text: string, path: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ConfigError(`${path} is not JSON: ${(cause as Error).message}`, {
      hint: 'name a file that `edge-detect calibrate` wrote, or write calibrator=off',
      cause,
    });
  }
  if (typeof value === 'object' && value !== null) return value;
  throw new ConfigError(`${path}: found ${JSON.stringify(value)}, expected an object`, {
    hint: 'name a file that `edge-detect calibrate` wrote, or write calibrator=off',
  });
}
