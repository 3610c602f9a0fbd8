// Runs a study: every arm under every seed, one after the other, and tells what came out.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ConfigError, EdgeDetectError } from 'edge-detect/core';
import { type HeldOut, holdOut, loadStudyData } from './hold-out.ts';
import { readStudyOptions, type StudyOptions } from './options.ts';
import { print, say } from './output.ts';
import { type ArmSummary, type Figures, type Run, summarize } from './summary.ts';
import { type Arm, type TrainedArm, trainArm } from './train-arm.ts';

export interface Study {
  readonly name: string;
  readonly question: string;
  readonly classes: StudyOptions['classes'];
  readonly arms: readonly Arm[];
  /** What a trained arm is measured by, on the held-out cameras. */
  measure(trained: TrainedArm, heldOut: HeldOut, arm: Arm, signal: AbortSignal): Figures | Promise<Figures>;
  /** Tables for people. */
  tables(summaries: readonly ArmSummary[]): readonly string[];
}

/** Reads the command line, runs, and sets the exit code. */
export async function runStudy(study: Study, words: readonly string[]): Promise<void> {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  try {
    const options = readStudyOptions(words, study);
    const runs = await runArms(study, options, interrupt.signal);
    await report(study, options, runs);
  } catch (error) {
    if (interrupt.signal.aborted) process.exitCode = 130;
    else if (error instanceof EdgeDetectError) {
      say(`${error.message}\n${error.hint}`);
      process.exitCode = error.exitCode;
    } else throw error;
  }
}

/** Seeds are the outer loop: all arms of a seed read the same cached features. */
async function runArms(study: Study, options: StudyOptions, signal: AbortSignal): Promise<readonly Run[]> {
  const arms = chooseArms(study.arms, options.arms);
  const dataset = await loadStudyData(options);
  const folder = await mkdtemp(join(tmpdir(), 'edge-detect-study-'));
  const runs: Run[] = [];
  const onNote = sayOnce();
  try {
    for (let seed = 0; seed < options.seeds; seed++) {
      const heldOut = await holdOut(dataset, options, seed, join(folder, `data-${seed}`));
      for (const arm of arms) {
        const runFolder = join(folder, `run-${seed}-${arm.name}`);
        const trained = await trainArm(arm, {
          options,
          heldOut,
          seed,
          folder: runFolder,
          cacheFolder: join(folder, 'cache'),
          signal,
          onNote,
        });
        const figures = await study.measure(trained, heldOut, arm, signal);
        const run = { arm: arm.name, seed, heldOut: heldOut.groups, seconds: trained.seconds, figures };
        runs.push(run);
        tellRun(run, trained, options);
        await rm(runFolder, { recursive: true, force: true });
      }
    }
    return runs;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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

async function report(study: Study, options: StudyOptions, runs: readonly Run[]): Promise<void> {
  const summaries = summarize(runs);
  const { seeds, epochs, batch, variants, classes, model } = options;
  const setting = { seeds, epochs, batch, variants, classes, host: basename(model) };
  if (options.json) {
    for (const summary of summaries) print(JSON.stringify({ type: 'summary', ...summary }));
  } else {
    print(`${study.question}\n`);
    print(
      `${Object.entries(setting)
        .map(([key, value]) => `${key} ${value}`)
        .join(', ')}; mean (low to high) over the seeds\n`,
    );
    for (const { name, text } of study.arms)
      if (runs.some(({ arm }) => arm === name)) print(`- ${name}: ${text}`);
    for (const table of study.tables(summaries)) print(`\n${table}`);
  }
  if (options.out === undefined) return;
  const results = { study: study.name, question: study.question, setting, arms: study.arms, runs, summaries };
  await writeFile(options.out, `${JSON.stringify(results, null, 2)}\n`);
}
