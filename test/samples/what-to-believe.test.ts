// What the studies concluded, held to the page that says it and to the defaults that follow from it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDetector, openSource } from '../../runtime/index.ts';
import { parseStudyFile, type StudyFile, type StudyOption } from '../../samples/studies/common/study-file.ts';
import { believePage } from '../../samples/studies/what-to-believe/page.ts';
import { readConfig } from '../../src/cli/config.ts';
import { readExportRequest } from '../../src/cli/export-request.ts';
import { readLight } from '../../src/cli/light.ts';
import { type CommandName, OPTIONS } from '../../src/cli/options.ts';
import { readPolicies } from '../../src/cli/policies.ts';
import { readTrainRequest } from '../../src/cli/train-request.ts';
import { studyCalibration } from '../../src/evaluate/calibrate/calibration-study.ts';
import { pictureFolds } from '../../src/evaluate/calibrate/picture-folds.ts';
import { completeRequest, presetCriterion, type TrainOptions } from '../../training/options.ts';
import { overConfident } from '../support/over-confident.ts';
import { RunFolder, solidPng } from '../support/run-folder.ts';

const folder = new RunFolder();
beforeAll(async () => {
  await folder.write('grey.png', await solidPng({ width: 32, height: 32 }, [99, 99, 99]));
});
afterAll(() => folder.remove());

const root = fileURLToPath(new URL('../../', import.meta.url));
const studies = join(root, 'samples', 'studies');
const files: readonly StudyFile[] = readdirSync(studies)
  .sort()
  .map((name) => join(studies, name, 'results.json'))
  .filter((path) => existsSync(path))
  .map((path) => parseStudyFile(readFileSync(path, 'utf8'), path));

describe('the page', () => {
  it('is what the command writes from the committed results', () => {
    expect(readFileSync(join(root, 'docs', 'what-to-believe.md'), 'utf8')).toBe(believePage(files));
  });

  it('says every verdict, with its figures', () => {
    const page = believePage(files);
    for (const { verdicts, study } of files) {
      expect(page).toContain(`check=samples/studies/${study}/results.json`);
      for (const { claim, because } of verdicts) {
        expect(page).toContain(claim.replaceAll('|', '\\|'));
        expect(page).toContain(because.replaceAll('|', '\\|').trim());
      }
    }
  });
});

const listed = files.flatMap(({ study, verdicts }) =>
  verdicts.flatMap(({ claim, options = [] }) => options.map((option) => ({ study, claim, ...option }))),
);

describe('defaults follow the verdicts', () => {
  it.each(listed)('$study: $command $key=$value', async (option) => {
    const spec = OPTIONS.find(
      ({ key, commands }) => key === option.key && commands.includes(option.command as CommandName),
    );
    expect(spec, `${option.command} has no option ${option.key}`).toBeDefined();
    expect(await defaultOf(option)).toBe(option.value);
    // The help says the same.
    expect(spec?.defaultText ?? 'not set').toBe(helpWord(option));
  });

  it.each([
    ['train', 'bins', 10],
    ['train', 'freeze', 'towers'],
    ['calibrate', 'method', 'beta'],
    ['stream', 'nms', 'hard'],
    ['export', 'half', 'not set'],
  ] as const)('reads the default of %s %s', async (command, key, value) => {
    expect(await defaultOf({ command, key, value })).toBe(value);
  });
});

function helpWord({ value }: StudyOption): string {
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
}

/** What happens where nothing is said: read off the code that runs, not off the help. */
async function defaultOf({ command, key }: StudyOption): Promise<StudyOption['value'] | undefined> {
  const words = new Map([
    ['model', join(root, 'samples', 'model', 'edge-n-street.onnx')],
    ...(command === 'train' ? [['data', 'data.yaml'] as const] : []),
  ]);
  const config = readConfig(command as CommandName, words, []);
  const said = config.text(key) ?? config.number(key) ?? config.flag(key);
  if (said !== undefined) return undefined;
  switch (command) {
    case 'train':
      return trainDefault(key, completeRequest(readTrainRequest(config)));
    case 'calibrate':
      return calibrateDefault(key);
    case 'export':
      return exportDefault(key, await readExportRequest(config));
    default:
      return runDefault(key, config);
  }
}

function trainDefault(key: string, options: TrainOptions): StudyOption['value'] | undefined {
  const criterion = presetCriterion(options.preset);
  const known: Readonly<Record<string, StudyOption['value'] | undefined>> = {
    bins: options.bins,
    freeze: options.freeze,
    freeze_box: options.freezeBox,
    class_loss: options.classLoss,
    class_law: options.classLaw,
    gamma: options.gamma,
    beta: options.beta,
    logit_range: options.logitRange,
    dropout: options.dropout,
    mc_passes: options.monteCarloPasses,
    adapter: options.adapter,
    preset: options.preset ?? 'not set',
    quality: criterion.weights.quality,
    cls: criterion.weights.classification,
  };
  return known[key];
}

function calibrateDefault(key: string): string | undefined {
  const pictures = 60;
  const paths = Array.from({ length: pictures }, (_, index) => `cam${index % 6}-${index}.jpg`);
  const tables = { ...overConfident(pictures, 7), classNames: ['thing'] };
  const { study } = studyCalibration(tables, pictureFolds(paths), { resamples: 0 });
  const known: Readonly<Record<string, string>> = { method: study.method, target: study.target };
  return known[key];
}

function exportDefault(
  key: string,
  { settings, sals, force }: Awaited<ReturnType<typeof readExportRequest>>,
): StudyOption['value'] | undefined {
  const known: Readonly<Record<string, StudyOption['value'] | undefined>> = {
    head: settings.head ?? 'as the model has it',
    sals: sals === undefined ? 'not set' : 'set',
    int8: settings.precision === 'int8' ? true : 'not set',
    half: settings.precision === 'float16' ? true : 'not set',
    force: force ?? false,
  };
  return known[key];
}

async function runDefault(
  key: string,
  config: ReturnType<typeof readConfig>,
): Promise<StudyOption['value'] | undefined> {
  const detector = await openDetector(config.required('model'));
  try {
    const { classNames } = detector;
    const policies = await readPolicies(config, { classNames, sha256: '', calibrated: false });
    const { threshold } = policies;
    const light = await readLight(config, await openSource(folder.join('grey.png')), detector);
    // What the command asks for and what the library does unasked are one.
    expect(threshold).toEqual(detector.threshold);
    const known: Readonly<Record<string, StudyOption['value'] | undefined>> = {
      threshold: threshold?.kind,
      conf: threshold?.kind === 'fixed' ? threshold.base : undefined,
      nms: detector.suppression.kind,
      iou: detector.iou,
      agnostic_nms: detector.agnostic,
      light: light === undefined ? 'not followed' : 'followed',
    };
    return known[key];
  } finally {
    await detector.close();
  }
}
