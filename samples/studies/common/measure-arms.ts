// Every arm under every seed, one after the other, on two cameras that it never saw.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from 'edge-detect/core';
import { wholeNumber } from './framed-study.ts';
import { type HeldOut, holdOut, loadStudyData } from './hold-out.ts';
import { say } from './output.ts';
import type { Figures, Measured } from './seeded-tables.ts';
import { type Arm, type ArmOptions, type TrainedArm, trainArm } from './train-arm.ts';

export interface ClassedArm extends Arm {
  readonly classes: ArmOptions['classes'];
}

export type TableFigures = Iterable<readonly [table: string, figures: Figures]>;

export interface ArmsRequest<A extends ClassedArm> {
  readonly arms: readonly A[];
  readonly seeds: number;
  readonly options: Omit<ArmOptions, 'classes'>;
  /** For files of this run. */
  readonly scratch: string;
  readonly signal: AbortSignal;
  /** Figures by the table that they belong to; its rows are the arms. */
  measure(trained: TrainedArm, heldOut: HeldOut, arm: A): TableFigures | Promise<TableFigures>;
}

/** Seeds are the outer loop: all arms of a seed read the same cached features. @throws as `trainArm` and `holdOut` */
export async function measureArms<A extends ClassedArm>(
  request: ArmsRequest<A>,
): Promise<readonly Measured[]> {
  const { arms, seeds, scratch, signal } = request;
  const dataset = await loadStudyData(request.options.data);
  const measured: Measured[] = [];
  const onNote = sayOnce();
  for (let seed = 0; seed < seeds; seed++) {
    const splits = new Map<ArmOptions['classes'], HeldOut>();
    for (const arm of arms) {
      const { classes } = arm;
      const options = { ...request.options, classes };
      const heldOut =
        splits.get(classes) ??
        (await holdOut(dataset, options, seed, join(scratch, `data-${seed}-${classes}`)));
      splits.set(classes, heldOut);
      const folder = join(scratch, 'run');
      const cacheFolder = join(scratch, 'cache');
      const trained = await trainArm(arm, { options, heldOut, seed, folder, cacheFolder, signal, onNote });
      for (const [table, figures] of await request.measure(trained, heldOut, arm))
        measured.push({ table, row: arm.name, seed, figures });
      tellRun({ seed, name: arm.name }, trained, heldOut);
      await rm(folder, { recursive: true, force: true });
    }
  }
  return measured;
}

/** Options of every study that trains. @throws ConfigError naming the key */
export function trainingNumbers(
  values: ReadonlyMap<string, string>,
): Pick<ArmOptions, 'epochs' | 'variants' | 'batch'> {
  return {
    epochs: wholeNumber(values, 'epochs', 1),
    variants: wholeNumber(values, 'variants', 0),
    batch: wholeNumber(values, 'batch', 1),
  };
}

export function tellRun(
  { seed, name }: { readonly seed: number; readonly name: string },
  { validation, seconds, cachingSeconds }: TrainedArm,
  { groups }: HeldOut,
): void {
  say(
    `seed ${seed}, held out ${groups.join(' ')}, ${name}: AP50 ${validation.ap50.toFixed(3)}; ` +
      `${seconds.toFixed(0)} s, and ${cachingSeconds.toFixed(0)} s before the first step`,
  );
}

/** Hosts say the same of themselves in every run. */
export function sayOnce(): (text: string) => void {
  const told = new Set<string>();
  return (text) => {
    if (!told.has(text)) say(text);
    told.add(text);
  };
}

/** @param names by comma; empty: all @throws ConfigError naming one that is not known */
export function armsNamed<A extends Arm>(arms: readonly A[], names: string): readonly A[] {
  if (names === '') return arms;
  return names.split(',').map((name) => {
    const found = arms.find((arm) => arm.name === name.trim());
    if (found !== undefined) return found;
    throw new ConfigError(`arms=${name}: this study has ${arms.map((arm) => arm.name).join(', ')}`, {
      hint: 'leave arms= away to run all',
    });
  });
}
