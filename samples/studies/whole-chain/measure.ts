// One seed on one host: builds the chain and streams every file of it over the pictures that choose and that judge.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ModelManifest, Precision } from 'edge-detect/export';
import { say } from '../common/output.ts';
import type { PlacedPicture } from '../logit-range/pictures.ts';
import { buildChain, type Chain, type ChainSetting, EXPORTED } from './chain.ts';
import { type Answers, judgeStage, resampledAp50, type StageFigures } from './judge.ts';
import { partsOfSeed, writeParts } from './parts.ts';
import { type StreamedFile, streamOver } from './stream.ts';

/**
 * In the order of the chain; float16 and int8 are files with two Gaussians. The last is what the gate lets through: the
 * narrowest precision that passed.
 */
export const STAGES = [
  'stock',
  'trained',
  'calibrated',
  'two Gaussians',
  'float16',
  'int8',
  'passed the gate',
] as const;
export type StageName = (typeof STAGES)[number];

/** Of which a share of the gain is asked. */
export const INT8_STAGE = 'int8' satisfies StageName;
export const PASSED_STAGE = 'passed the gate' satisfies StageName;

const STAGE_OF: Readonly<Record<Precision, StageName>> = {
  float32: 'two Gaussians',
  float16: 'float16',
  int8: 'int8',
};

export interface HostSetting extends ChainSetting {
  readonly classNames: readonly string[];
  /** Classes of the host that are looked for. */
  readonly stockClasses: readonly string[];
  /** Least share of hits where thresholds are chosen. */
  readonly precision: number;
}

export interface SeedResult {
  readonly seed: number;
  readonly judging: readonly [string, string];
  /** Without the files that were not made. */
  readonly stages: ReadonlyMap<StageName, StageFigures>;
  readonly exported: ReadonlyMap<Precision, { readonly gate: ModelManifest['gate']; readonly bytes: number }>;
  readonly distance: number;
  /** AP50 and its distance from the stock host, with intervals over pictures; by stage. */
  readonly resampled: Readonly<Partial<Record<StageName, ReturnType<typeof resampledAp50>>>>;
  readonly trainingSeconds: number;
  readonly trainingCpuSeconds: number;
}

export async function measureSeed(
  setting: HostSetting,
  placed: readonly PlacedPicture[],
  { seed, folder }: { readonly seed: number; readonly folder: string },
): Promise<SeedResult> {
  const parts = partsOfSeed(placed, seed);
  const files = await writeParts(parts, setting.classNames, join(folder, 'data'));
  const chain = await buildChain(setting, { parts, files, seed, folder });
  const stages = new Map<StageName, StageFigures>();
  const answers = new Map<StageName, Answers>();
  for (const [name, file] of filesOf(chain, setting)) {
    const said = async (list: string, pictures: readonly PlacedPicture[]): Promise<Answers> => ({
      classNames: setting.classNames,
      placed: pictures,
      predictions: await streamOver(file, list, setting.signal),
    });
    const judge = await said(files.judge, parts.judge);
    stages.set(name, judgeStage(await said(files.fit, parts.fit), judge, setting.precision));
    answers.set(name, judge);
  }
  const passed = narrowestPassed(chain.exported);
  stages.set(PASSED_STAGE, stages.get(passed)!);
  answers.set(PASSED_STAGE, answers.get(passed)!);
  await rm(folder, { recursive: true, force: true });
  const stock = answers.get('stock')!;
  const result: SeedResult = {
    seed,
    judging: parts.judging,
    stages,
    exported: chain.exported,
    distance: chain.distance,
    resampled: Object.fromEntries([...answers].map(([name, own]) => [name, resampledAp50(own, stock)])),
    trainingSeconds: chain.seconds,
    trainingCpuSeconds: chain.cpuSeconds,
  };
  say(tell(result));
  return result;
}

/** The calibrated head with its full law where no export passed. */
function narrowestPassed(exported: Chain['exported']): StageName {
  const precision = [...EXPORTED].reverse().find((one) => exported.get(one)?.gate.passed);
  return precision === undefined ? 'calibrated' : STAGE_OF[precision];
}

function filesOf(
  { trained, calibrated, exported }: Chain,
  { model, stockClasses }: HostSetting,
): readonly (readonly [StageName, StreamedFile])[] {
  return [
    ['stock', { path: model, classes: stockClasses, calibrator: 'off' }],
    ['trained', { path: trained }],
    ['calibrated', { path: calibrated }],
    ...[...exported].map(([precision, { path }]) => [STAGE_OF[precision], { path }] as const),
  ];
}

function tell({ seed, judging, stages, exported, trainingSeconds, trainingCpuSeconds }: SeedResult): string {
  const figures = [...stages].map(([stage, { boxes }]) => `${stage} ${boxes.all['ap50']?.toFixed(3)}`);
  const refused = [...exported].filter(([, { gate }]) => !gate.passed).map(([precision]) => precision);
  const said = refused.length === 0 ? 'the gate let all through' : `the gate refused ${refused.join(', ')}`;
  return `seed ${seed}, judged on ${judging.join(' ')}: AP50 ${figures.join(', ')}; ${said}; training ${trainingSeconds.toFixed(0)} s, ${trainingCpuSeconds.toFixed(0)} s of CPU`;
}
