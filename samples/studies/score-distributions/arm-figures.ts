// What a trained head is judged by: the figures of every study, whether its variance says more than its score, and how its
// losses went from epoch to epoch.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HeldOut } from '../common/hold-out.ts';
import { bestFigures, qualityFigures } from '../common/quality-figures.ts';
import type { Figures } from '../common/seeded-tables.ts';
import type { TrainedArm } from '../common/train-arm.ts';
import { overstatement, varianceFigures } from '../common/variance-figures.ts';

/** Figures that the tables of arms show; the others stay out of the file. */
const ARM_FIGURES = [
  'ap50',
  'ap',
  'dEce',
  'laEce0',
  'laEce0Platt',
  'best signed',
  'excess .01',
  'excess .1',
  'variance overstates',
  'gap',
  'rise',
  'unrest',
] as const;

/** @param folder of the run */
export async function armFigures(
  trained: TrainedArm,
  heldOut: HeldOut,
  { bins, folder }: { readonly bins: number; readonly folder: string },
): Promise<Figures> {
  const all: Figures = {
    ...qualityFigures(trained, heldOut),
    ...varianceFigures(trained.predictions, heldOut, bins),
    ...lossFigures(await epochLosses(folder)),
  };
  const figures: Figures = {
    ...all,
    'best signed': bestFigures(trained, heldOut)['signed'] ?? null,
    'variance overstates': overstatement(all),
  };
  return Object.fromEntries(ARM_FIGURES.map((figure) => [figure, figures[figure] ?? null]));
}

/** Loss of the law per epoch, of training pictures and of held-out ones. */
export interface EpochLosses {
  readonly training: readonly number[];
  readonly validation: readonly number[];
}

async function epochLosses(folder: string): Promise<EpochLosses> {
  const text = await readFile(join(folder, 'results.csv'), 'utf8');
  const [head = [], ...rows] = text
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  const column = (name: string) => {
    const at = head.indexOf(name);
    return rows.flatMap((row) => (row[at] ? [Number(row[at])] : []));
  };
  return { training: column('train/quality_loss'), validation: column('val/quality_loss') };
}

/**
 * `gap`: how much more the held-out loss is than that of the training, in parts of the latter (learning by heart).
 * `rise`: how far the last held-out loss lies above the lowest (over-fitting). `unrest`: mean size of the second
 * differences of the training loss over its mean; 0 where it falls evenly.
 */
export function lossFigures({ training, validation }: EpochLosses): Figures {
  const [last, held] = [training.at(-1), validation.at(-1)];
  const known = last !== undefined && held !== undefined && last > 0;
  const lowest = Math.min(...validation);
  const bends = training
    .slice(2)
    .map((value, place) => Math.abs(value - 2 * training[place + 1]! + training[place]!));
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    gap: known ? held / last - 1 : null,
    rise: held !== undefined && lowest > 0 ? held / lowest - 1 : null,
    unrest: bends.length > 0 ? mean(bends) / mean(training) : null,
  };
}
