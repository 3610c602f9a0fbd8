// What the chain was claimed to do, and what the differences between its files say. The rules were written before the
// figures were seen: a claim holds where its interval lies on its side in all that it is about, in part where some does.
import { type StudyRow, type StudyVerdict, seedRow } from '../common/study-file.ts';
import { graded, type Interval, isAbove, isBelow, short, shown } from '../common/verdict-rules.ts';
import { poissonInterval } from './clips.ts';
import type { LightRow } from './judge.ts';
import { INT8_STAGE, PASSED_STAGE, type SeedResult, type StageName } from './measure.ts';
import { differencesOf, type Found, ratioOfMeans, SHARE_TABLE, shareRowName } from './tables.ts';

const PROJECT = 'this project';
const SECOND_NOTE = 'second note';

/** What counts as most of a gain, and as the same AP50 or LaECE0. */
export const MOST_SHARE = 0.8;
const SAME = 0.01;

export function verdictsOf(found: Found, rows: readonly StudyRow[]): readonly StudyVerdict[] {
  const { results } = found;
  return [
    gainVerdict(results),
    shareVerdict(found, rows, INT8_STAGE),
    shareVerdict(found, rows, PASSED_STAGE),
    gateVerdict(found),
    mixtureVerdict(results),
    calibratorVerdict(results),
    lightVerdict(results),
    clipVerdict(found),
  ].map((verdict) => ({ ...verdict, because: `${verdict.because}.` }));
}

type Pair = readonly [StageName, StageName];

function difference(
  results: readonly SeedResult[],
  pair: Pair,
  light: LightRow,
  ...figures: readonly [figure: string, base?: string]
): Interval {
  return seedRow({ table: '', row: '', figure: '' }, differencesOf(results, pair, light, figures));
}

const isWithin = (interval: Interval, limit: number) => isAbove(interval, -limit) && isBelow(interval, limit);

/** One seed has no interval over seeds. */
function atLeastTwo(
  results: readonly SeedResult[],
  verdict: StudyVerdict['verdict'],
): StudyVerdict['verdict'] {
  return results.length < 2 ? 'not measured' : verdict;
}

const JUDGED_LIGHTS = ['all', 'dusk', 'night'] as const;

function gainVerdict(results: readonly SeedResult[]): StudyVerdict {
  const pair: Pair = ['trained', 'stock'];
  const figures = ['ap50', 'recall at precision'] as const;
  const lines = JUDGED_LIGHTS.map((light) => ({
    light,
    found: figures.map((figure) => difference(results, pair, light, figure)),
  }));
  return {
    claim: 'A head trained on a few cameras finds more than the stock host, on cameras that it never saw',
    source: PROJECT,
    verdict: atLeastTwo(results, graded(lines.flatMap(({ found }) => found.map((one) => isAbove(one))))),
    because: lines
      .map(
        ({ light, found: [ap50, recall] }) =>
          `${light}: AP50 ${shown(ap50!)}, recall at equal precision ${shown(recall!)}`,
      )
      .join('; '),
    default: 'train fits the head and its box layer on a frozen host',
    options: [
      { command: 'train', key: 'freeze', value: 'towers' },
      { command: 'train', key: 'freeze_box', value: false },
    ],
  };
}

function shareVerdict({ host, second }: Found, rows: readonly StudyRow[], stage: StageName): StudyVerdict {
  const figures = ['ap50', 'recall at precision'] as const;
  const shares = JUDGED_LIGHTS.flatMap((light) =>
    figures.map((figure) => ({
      light,
      figure,
      row: rows.find(
        (one) => one.table === SHARE_TABLE && one.row === shareRowName(stage, light) && one.figure === figure,
      ),
    })),
  );
  const known = shares.filter(({ row }) => row?.mean != null && row.low !== row.high);
  const isInt8 = stage === INT8_STAGE;
  return {
    claim: isInt8
      ? `Most of the gain (four fifths) survives to the int8 file of ${host}, gate or not`
      : `Most of the gain (four fifths) survives to the narrowest file of ${host} that the gate lets through`,
    source: PROJECT,
    verdict:
      known.length === 0
        ? 'not measured'
        : graded(known.map(({ row }) => row!.low !== null && row!.low >= MOST_SHARE)),
    because: [
      ...shares.map(({ light, figure, row }) => {
        const name = `${light}, ${figure === 'ap50' ? 'AP50' : 'recall'}`;
        if (row?.mean == null) return `${name}: nothing was gained`;
        const [mean, low, high] = [row.mean, row.low, row.high].map(
          (value) =>
            `${Math.round(100 * (value ?? 0))
              .toString()
              .replace('-', '−')} %`,
        );
        return row.low === row.high ? `${name}: ${mean}` : `${name}: ${mean} (${low} to ${high})`;
      }),
      ...(second ? [secondShare(second, stage)] : []),
    ].join('; '),
    default: isInt8
      ? 'export writes float32 unless int8= or half= asks for less'
      : 'export writes no file below the floors of its gate unless force=True',
    options: isInt8
      ? [
          { command: 'export', key: 'int8', value: 'not set' },
          { command: 'export', key: 'half', value: 'not set' },
        ]
      : [{ command: 'export', key: 'force', value: false }],
  };
}

/** Of AP50, all light. */
function secondShare({ host, results }: NonNullable<Found['second']>, stage: StageName): string {
  const gains = [stage, 'trained' as const].map((one) =>
    differencesOf(results, [one, 'stock'], 'all', ['ap50']),
  );
  const { value, interval } = ratioOfMeans(
    results.map((_, seed) => [gains[0]?.[seed] ?? 0, gains[1]?.[seed] ?? 0]),
  );
  const percent = (share: number) => `${Math.round(100 * share)} %`.replace('-', '−');
  const range = interval === undefined ? '' : ` (${interval.map(percent).join(' to ')})`;
  const share = value === null ? 'nothing was gained' : `${percent(value)}${range}`;
  return `${host}, ${results.length} ${results.length === 1 ? 'seed' : 'seeds'}: all, AP50: ${share}`;
}

function gateVerdict({ host, results, second }: Found): StudyVerdict {
  const hosts = [{ host, results }, ...(second ? [second] : [])];
  const counts = hosts.map((one) => ({
    host: one.host,
    of: one.results.length,
    passed: one.results.filter(({ exported }) => exported.get('int8')?.gate.passed).length,
    drops: one.results.map(
      ({ exported }) =>
        exported.get('int8')?.gate.checks.find(({ floor }) => floor === 'maxApDrop')?.found ?? null,
    ),
  }));
  return {
    claim: 'A trained head goes to int8 within the floors of the gate',
    source: PROJECT,
    verdict: graded(counts.flatMap(({ of, passed }) => [passed === of, ...(passed > 0 ? [true] : [])])),
    because: counts
      .map(({ host: name, of, passed, drops }) => {
        const { mean } = seedRow({ table: '', row: '', figure: '' }, drops);
        return `${name}: ${passed} of ${of} seeds passed, AP lost ${mean === null ? '–' : short(mean)} on the pictures of the gate`;
      })
      .join('; '),
    default: 'the gate refuses, says which floors, and asks for a finer precision',
  };
}

function mixtureVerdict(results: readonly SeedResult[]): StudyVerdict {
  const pair: Pair = ['two Gaussians', 'calibrated'];
  const figures = ['ap50', 'laEce0'] as const;
  const lines = JUDGED_LIGHTS.map((light) => ({
    light,
    found: figures.map((figure) => difference(results, pair, light, figure)),
  }));
  return {
    claim: 'Two Gaussians in the place of the whole distribution cost nothing on the device (within .01)',
    source: SECOND_NOTE,
    verdict: atLeastTwo(
      results,
      graded(lines.flatMap(({ found }) => found.map((one) => isWithin(one, SAME)))),
    ),
    because: lines
      .map(({ light, found: [ap50, laEce] }) => `${light}: AP50 ${shown(ap50!)}, LaECE0 ${shown(laEce!)}`)
      .join('; '),
    default: 'export keeps the head that the model has; head=two-gaussian is asked for by name',
    options: [{ command: 'export', key: 'head', value: 'as the model has it' }],
  };
}

function calibratorVerdict(results: readonly SeedResult[]): StudyVerdict {
  const pair: Pair = ['calibrated', 'trained'];
  const figures = ['laEce0', 'laEce0 best'] as const;
  const lines = JUDGED_LIGHTS.map((light) => ({
    light,
    found: figures.map((figure) => difference(results, pair, light, figure)),
  }));
  return {
    claim: 'A calibrator that was fitted on other cameras makes scores more honest',
    source: PROJECT,
    verdict: atLeastTwo(results, graded(lines.flatMap(({ found }) => found.map((one) => isBelow(one))))),
    because: lines
      .map(
        ({ light, found: [whole, best] }) =>
          `${light}: LaECE0 ${shown(whole!)}, over the best boxes ${shown(best!)}`,
      )
      .join('; '),
    default: 'calibrate is a step of its own, by beta maps to the expected IoU',
    options: [
      { command: 'calibrate', key: 'method', value: 'beta' },
      { command: 'calibrate', key: 'target', value: 'quality' },
    ],
  };
}

function lightVerdict(results: readonly SeedResult[]): StudyVerdict {
  const pair: Pair = [PASSED_STAGE, PASSED_STAGE];
  const lines = (['dusk', 'night'] as const).map((light) => ({
    light,
    recall: difference(results, pair, light, 'per light: recall', 'one threshold: recall'),
    precision: difference(results, pair, light, 'per light: precision', 'one threshold: precision'),
  }));
  return {
    claim:
      'A threshold per light state finds more at dusk and at night than one for all, at no lower precision',
    source: SECOND_NOTE,
    verdict: atLeastTwo(
      results,
      graded(lines.map(({ recall, precision }) => isAbove(recall) && !isBelow(precision))),
    ),
    because: lines
      .map(
        ({ light, recall, precision }) =>
          `${light}: recall ${shown(recall)}, realised precision ${shown(precision)}`,
      )
      .join('; '),
    default: 'one threshold; thresholds follow the light where light= and thresholds= ask for it',
    options: [{ command: 'stream', key: 'light', value: 'not followed' }],
  };
}

function clipVerdict({ clips }: Found): StudyVerdict {
  const of = (file: string) =>
    clips.filter((clip) => clip.file.includes(file) && clip.rule === 'one threshold');
  const [host, int8] = [of('sample host'), of('int8')].map((some) => {
    const seconds = some.reduce((sum, clip) => sum + clip.seconds, 0);
    const alarms = some.reduce((sum, clip) => sum + clip.alarms, 0);
    const hourly = 3600 / Math.max(1, seconds);
    const [low, high] = poissonInterval(alarms).map((value) => value * hourly) as [number, number];
    const recall = some.reduce((sum, clip) => sum + clip.recall, 0) / Math.max(1, some.length);
    const words = `${Math.round(alarms * hourly)} (${Math.round(low)} to ${Math.round(high)})`;
    return { low, high, text: `${words} at a recall of ${short(recall)}` };
  }) as [HourlyAlarms, HourlyAlarms];
  const verdict = int8.low > host.high ? 'does not hold' : int8.high <= host.low ? 'holds' : 'not measured';
  return {
    claim:
      'At thresholds chosen for the same precision, the int8 file raises no more false alarms an hour than the head it came from',
    source: PROJECT,
    verdict: clips.length === 0 ? 'not measured' : verdict,
    because:
      clips.length === 0
        ? 'the clips were left out of this run'
        : `alarms an hour on the three clips, one threshold each: sample host ${host.text}, its int8 file ${int8.text}; 24 s of one rendered street, an order of magnitude and no more; real clips with truth are missing`,
    default: 'none follows: conformal thresholds promise a precision, and no option promises alarms an hour',
  };
}

interface HourlyAlarms {
  readonly low: number;
  readonly high: number;
  readonly text: string;
}
