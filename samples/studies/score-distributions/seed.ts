// One seed: trains every arm on the same cached features, and asks the heads everything that the tables show.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { HARD_SUPPRESSION } from 'edge-detect/core';
import { type Dataset, type LabelledPicture, loadDataset } from 'edge-detect/data';
import { type HeldOut, holdOut } from '../common/hold-out.ts';
import { tellRun } from '../common/measure-arms.ts';
import type { Figures, Measured } from '../common/seeded-tables.ts';
import { type ArmOptions, type TrainedArm, trainArm } from '../common/train-arm.ts';
import { proposeAll, suppressAll } from '../policies/boxes.ts';
import { armFigures } from './arm-figures.ts';
import { ARM_TABLES, DEFAULT_ARM, DROPOUT_ARM, PUBLISHED_ARM, type StudyArm } from './arms.ts';
import { readingFigures, SUPPRESSION_IOU } from './decode.ts';
import { lawFigures, lawsOf } from './laws.ts';
import { passFigures } from './passes.ts';
import { type LightOf, ruleFigures, suppressionFigures } from './rules.ts';

export interface SeedSetting {
  readonly options: Omit<ArmOptions, 'classes'>;
  readonly arms: readonly StudyArm[];
  readonly dataset: Dataset;
  readonly lightOf: LightOf;
  /** Pictures of another world. */
  readonly other: readonly LabelledPicture[];
  /** For files of this run. */
  readonly scratch: string;
  readonly signal: AbortSignal;
  readonly onNote: (text: string) => void;
}

export interface SeedResult {
  readonly measured: readonly Measured[];
  /** Of every training, features included. */
  readonly seconds: readonly number[];
}

export async function measureSeed(setting: SeedSetting, seed: number): Promise<SeedResult> {
  const folder = join(setting.scratch, `seed-${seed}`);
  const optionsOf = (classes: StudyArm['classes']): ArmOptions => ({ ...setting.options, classes });
  const splits = {
    one: await holdOut(setting.dataset, optionsOf('one'), seed, join(folder, 'one')),
    all: await holdOut(setting.dataset, optionsOf('all'), seed, join(folder, 'all')),
  };
  const measured: Measured[] = [];
  const seconds: number[] = [];
  const add = (table: string, rows: Iterable<readonly [row: string, figures: Figures]>) => {
    for (const [row, figures] of rows) measured.push({ table, row, seed, figures });
  };
  const train = async (arm: StudyArm, heldOut: HeldOut, run: string): Promise<TrainedArm> => {
    const { scratch, signal, onNote } = setting;
    const trained = await trainArm(arm, {
      options: optionsOf(arm.classes),
      heldOut,
      seed,
      folder: run,
      cacheFolder: join(scratch, 'cache'),
      signal,
      onNote,
    });
    seconds.push(trained.seconds + trained.cachingSeconds);
    return trained;
  };
  for (const arm of setting.arms.filter((one) => one !== DROPOUT_ARM)) {
    const heldOut = splits[arm.classes];
    const run = join(folder, 'run');
    const trained = await train(arm, heldOut, run);
    const figures = await armFigures(trained, heldOut, { bins: arm.bins, folder: run });
    for (const { table, rows } of ARM_TABLES)
      add(
        table,
        rows.filter((one) => one.arm === arm).map(({ row }) => [row, figures] as const),
      );
    if (arm === DEFAULT_ARM || arm === PUBLISHED_ARM)
      add(`rules, ${ruledTargets(arm)}`, ruleFigures(trained.predictions, heldOut, setting.lightOf));
    if (arm === DEFAULT_ARM) await askDefault(setting, trained, heldOut, add);
    tellRun({ seed, name: arm.name }, trained, heldOut);
    await rm(run, { recursive: true, force: true });
  }
  if (setting.arms.includes(DROPOUT_ARM)) {
    const own = await withoutNight(splits.one, setting.lightOf, join(folder, 'no-night'));
    const trained = await train(DROPOUT_ARM, own, join(folder, 'run'));
    tellRun({ seed, name: DROPOUT_ARM.name }, trained, own);
    add(
      'passes',
      await passFigures(trained.modelPath, passPictures(setting, splits.one), {
        seed,
        signal: setting.signal,
      }),
    );
  }
  await rm(folder, { recursive: true, force: true });
  return { measured, seconds };
}

const ruledTargets = (arm: StudyArm) => (arm === DEFAULT_ARM ? 'quality targets' : 'published labels');

type Add = (table: string, rows: Iterable<readonly [row: string, figures: Figures]>) => void;

/** What needs the laws of all boxes of the default head. */
async function askDefault(
  { lightOf }: SeedSetting,
  { modelPath }: TrainedArm,
  heldOut: HeldOut,
  add: Add,
): Promise<void> {
  const proposed = await proposeAll({ model: modelPath, threads: 2 }, heldOut, () => undefined);
  add('decode', readingFigures(proposed, heldOut));
  add('suppression', suppressionFigures(proposed, heldOut, lightOf));
  add('laws', lawFigures(lawsOf(suppressAll(proposed, HARD_SUPPRESSION, SUPPRESSION_IOU))));
}

/** The same split with every night picture left out of training, and of the validation. */
async function withoutNight(heldOut: HeldOut, lightOf: LightOf, folder: string): Promise<HeldOut> {
  await mkdir(folder, { recursive: true });
  const source = heldOut.file.slice(0, -basename(heldOut.file).length);
  for (const list of ['train.txt', 'val.txt']) {
    const paths = (await readFile(join(source, list), 'utf8')).trim().split('\n');
    await writeFile(
      join(folder, list),
      paths
        .filter((path) => lightOf(path) !== 'night')
        .map((path) => `${path}\n`)
        .join(''),
    );
  }
  const file = join(folder, 'data.yaml');
  await writeFile(file, await readFile(heldOut.file, 'utf8'));
  const { splits } = await loadDataset(file, { mapClasses: 'single' });
  return { ...heldOut, file, pictures: splits.val ?? [] };
}

function passPictures({ lightOf, other }: SeedSetting, { pictures, classNames }: HeldOut) {
  const inLight = (lights: readonly string[]) =>
    pictures.filter(({ path }) => lights.includes(lightOf(path) ?? ''));
  return { seen: inLight(['day', 'dusk']), night: inLight(['night']), other, classNames };
}
