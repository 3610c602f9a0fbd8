// Runs a study: every arm under every seed, one after the other, and tells what came out.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ConfigError, EdgeDetectError } from 'edge-detect/core';
import { fileOfArms } from './arms-file.ts';
import { committedFile, finishStudy } from './framed-study.ts';
import { type HeldOut, holdOut, loadStudyData } from './hold-out.ts';
import { type FoundOptions, readStudyOptions, type StudyOptions } from './options.ts';
import { print, say } from './output.ts';
import { findStudyData } from './study-data.ts';
import { type ArmSummary, type Figures, type Run, summarize } from './summary.ts';
import type { Column } from './table.ts';
import { type Arm, type TrainedArm, trainArm } from './train-arm.ts';

const STANDARD_DATA = { name: 'lta_daynight_2021', host: 'yolox_nano.onnx' };

export interface Study {
  readonly name: string;
  readonly question: string;
  readonly classes: StudyOptions['classes'];
  readonly arms: readonly Arm[];
  /** What a trained arm is measured by, on the held-out cameras. */
  measure(trained: TrainedArm, heldOut: HeldOut, arm: Arm, signal: AbortSignal): Figures | Promise<Figures>;
  /** Figures that its page shows; all without. */
  readonly columns?: readonly Column[];
  /** Tables for people. */
  tables(summaries: readonly ArmSummary[]): readonly string[];
}

/** Reads the command line, runs, and sets the exit code. */
export async function runStudy(study: Study, words: readonly string[]): Promise<void> {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  try {
    await runWhole(study, readStudyOptions(words, study), interrupt.signal);
  } catch (error) {
    if (interrupt.signal.aborted) process.exitCode = 130;
    else if (error instanceof EdgeDetectError) {
      say(`${error.message}\n${error.hint}`);
      process.exitCode = error.exitCode;
    } else throw error;
  }
}

async function runWhole(study: Study, given: StudyOptions, signal: AbortSignal): Promise<void> {
  // A wrong path should not cost half an hour.
  const committed = await committedFile(given.results);
  const scratch = await mkdtemp(join(tmpdir(), 'edge-detect-study-'));
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  try {
    const [data] = await findStudyData([STANDARD_DATA], { ...given, scratch });
    if (data === undefined) throw new Error('a study always finds data');
    const options = { ...given, data: data.data, model: data.model };
    const runs = await runArms(study, options, { scratch, signal });
    const { user, system } = process.cpuUsage(cpu);
    const cost = { seconds: (performance.now() - started) / 1000, cpuSeconds: (user + system) / 1e6 };
    await report(study, options, runs);
    await finishStudy(
      fileOfArms(study, runs, { setting: settingOf(options), data: [data], cost }),
      given.results,
      committed,
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Seeds are the outer loop: all arms of a seed read the same cached features. */
async function runArms(
  study: Study,
  options: FoundOptions,
  { scratch, signal }: { readonly scratch: string; readonly signal: AbortSignal },
): Promise<readonly Run[]> {
  const arms = chooseArms(study.arms, options.arms);
  const dataset = await loadStudyData(options);
  const runs: Run[] = [];
  const onNote = sayOnce();
  for (let seed = 0; seed < options.seeds; seed++) {
    const heldOut = await holdOut(dataset, options, seed, join(scratch, `data-${seed}`));
    for (const arm of arms) {
      const folder = join(scratch, `run-${seed}-${arm.name}`);
      const cacheFolder = join(scratch, 'cache');
      const trained = await trainArm(arm, { options, heldOut, seed, folder, cacheFolder, signal, onNote });
      const figures = await study.measure(trained, heldOut, arm, signal);
      const run = { arm: arm.name, seed, heldOut: heldOut.groups, seconds: trained.seconds, figures };
      runs.push(run);
      tellRun(run, trained, options);
      await rm(folder, { recursive: true, force: true });
    }
  }
  return runs;
}

/** Hosts say the same of themselves in every run. */
function sayOnce(): (text: string) => void {
  const told = new Set<string>();
  return (text) => {
    if (!told.has(text)) say(text);
    told.add(text);
  };
}

function chooseArms(arms: readonly Arm[], names: readonly string[] | undefined): readonly Arm[] {
  if (names === undefined) return arms;
  return names.map((name) => {
    const arm = arms.find((one) => one.name === name);
    if (arm !== undefined) return arm;
    throw new ConfigError(`arms=${name}: this study has ${arms.map((one) => one.name).join(', ')}`, {
      hint: 'leave arms= away to run all',
    });
  });
}

function tellRun(
  run: Run,
  { validation, seconds, cachingSeconds }: TrainedArm,
  { json }: StudyOptions,
): void {
  const { ap50, ap } = validation;
  say(
    `seed ${run.seed}, held out ${run.heldOut.join(' ')}, ${run.arm}: AP50 ${ap50.toFixed(3)}, AP ${ap.toFixed(3)}; ` +
      `${seconds.toFixed(0)} s, and ${cachingSeconds.toFixed(0)} s before the first step`,
  );
  if (json) print(JSON.stringify({ type: 'run', ...run }));
}

async function report(study: Study, options: FoundOptions, runs: readonly Run[]): Promise<void> {
  const summaries = summarize(runs);
  if (options.json) {
    for (const summary of summaries) print(JSON.stringify({ type: 'summary', ...summary }));
    return;
  }
  print(`${study.question}\n`);
  print(
    `${Object.entries({ ...settingOf(options), host: basename(options.model) })
      .map(([key, value]) => `${key} ${value}`)
      .join(', ')}; mean (low to high) over the seeds\n`,
  );
  for (const { name, text } of study.arms)
    if (runs.some(({ arm }) => arm === name)) print(`- ${name}: ${text}`);
  for (const table of study.tables(summaries)) print(`\n${table}`);
}

function settingOf({ seeds, epochs, batch, variants, classes, holdOut: held, arms }: FoundOptions) {
  return {
    seeds,
    epochs,
    batch,
    variants,
    classes,
    ...(held && { hold: held.join(',') }),
    ...(arms && { arms: arms.join(',') }),
  };
}
