// Pictures of a run for people: curves over the epochs, and the laws of hard samples every few of them.
import { join } from 'node:path';
import type { LabelledPicture } from '#data/datasets';
import { scoreLawPanel, trainingCurves } from '#report';
import { writeWhole } from '../checkpoint.ts';
import type { EpochEvent } from '../loop.ts';
import { hardSamples } from './hard-samples.ts';

/** A sheet at the first, at about every tenth of the run, and at the last epoch. */
export function isSheetDue(epoch: number, epochs: number): boolean {
  const step = Math.max(1, Math.round(epochs / 10));
  return epoch === 0 || epoch === epochs - 1 || (epoch + 1) % step === 0;
}

/** Writes `laws-epoch12.png`; nothing where no detection is good enough to look at. */
export async function saveLawSheet(
  folder: string,
  { epoch, validation }: EpochEvent,
  pictures: readonly LabelledPicture[],
): Promise<void> {
  const samples = validation === undefined ? [] : await hardSamples(pictures, validation.predictions);
  if (samples.length === 0) return;
  const { png } = await scoreLawPanel(samples, {
    title: `Score laws of hard samples after epoch ${epoch + 1}`,
  });
  await writeWhole(join(folder, `laws-epoch${epoch + 1}.png`), [png]);
}

/** Writes `results.png`. */
export async function saveCurves(
  folder: string,
  rows: readonly Readonly<Record<string, number>>[],
): Promise<void> {
  const { png } = await trainingCurves(rows.map((row) => ({ ...row, epoch: row['epoch'] ?? 0 })));
  await writeWhole(join(folder, 'results.png'), [png]);
}
