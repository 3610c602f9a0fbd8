// Whose calibrator acts on a model: its own, that of a file, or none.
import { readFile } from 'node:fs/promises';
import type { StoredCalibrator } from '#core';
import { ConfigError, parseCalibratorFile } from '#core';
import type { ModelMetadata, OnnxModelFile } from '#onnx';
import { readCalibrator } from '#onnx';

/** `off`: scores as the network gives them. */
export type CalibratorChoice = 'off' | { readonly file: string };

/**
 * @param choice absent: the calibrator that the model carries, if any
 * @throws ModelError where a calibrator is faulty, ConfigError where the file cannot be read or is for another model
 */
export async function chooseCalibrator(
  { file, metadata }: { readonly file: OnnxModelFile; readonly metadata: ModelMetadata },
  choice: CalibratorChoice | undefined,
): Promise<StoredCalibrator | undefined> {
  if (choice === 'off') return undefined;
  if (choice === undefined) return readCalibrator(metadata);
  const text = await readFile(choice.file, 'utf8').catch((cause: Error) => {
    throw new ConfigError(`calibrator=${choice.file}: the file cannot be read (${cause.message})`, {
      hint: 'check the path, or write calibrator=off',
      cause,
    });
  });
  return parseCalibratorFile(text, choice.file, { modelSha256: file.sha256 });
}
