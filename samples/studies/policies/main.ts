// Which threshold and which suppression helps where: at equal numbers of kept boxes, and by AP without a cut.
//   node dist/samples/studies/policies/main.js data=… model=… [map=car:car,truck:lorry] [frames=frames.csv by=period]
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { SuppressionPolicy } from 'edge-detect';
import {
  BOX_UNCERTAINTY_SUPPRESSION,
  EdgeDetectError,
  type Figure,
  FUSION_SUPPRESSION,
  HARD_SUPPRESSION,
  SOFT_SUPPRESSION,
  sureSign,
  UNCERTAINTY_SUPPRESSION,
  VOTE_SUPPRESSION,
} from 'edge-detect/core';
import type { Predictions } from 'edge-detect/evaluate';
import { print, say } from '../common/output.ts';
import { markdownTable } from '../common/table.ts';
import { proposeAll, suppressAll } from './boxes.ts';
import {
  apFigures,
  type Comparison,
  compareFound,
  found,
  highest,
  judge,
  placesBySlice,
  total,
} from './measure.ts';
import { loadSliced, type PolicySetting, readPolicySetting, type SlicedData } from './setting.ts';
import { fittedChoices, ruleChoices } from './thresholds.ts';

/** A policy in one slice: AP where it suppresses, and what it finds with equally many boxes. */
interface Row {
  readonly policy: string;
  readonly slice: string;
  readonly ap?: ReturnType<typeof apFigures>;
  readonly equal: Comparison;
  /** The same at IoU .75, where moved boxes show. */
  readonly equalStrict?: Comparison;
}

function suppressionsFor({ pictures }: Predictions): readonly (readonly [string, SuppressionPolicy])[] {
  const first = pictures.flatMap(({ detections }) => detections)[0];
  return [
    ['soft', SOFT_SUPPRESSION],
    ['wbf', FUSION_SUPPRESSION],
    ['wbf, mean score', { kind: 'wbf', score: 'mean' }],
    ...(first?.scoreVariance === undefined ? [] : [['uncertainty', UNCERTAINTY_SUPPRESSION] as const]),
    ...(first?.boxVariance === undefined
      ? []
      : [['box-uncertainty', BOX_UNCERTAINTY_SUPPRESSION] as const, ['vote', VOTE_SUPPRESSION] as const]),
  ];
}

function suppressionRows(proposed: Predictions, data: SlicedData, setting: PolicySetting): Row[] {
  const plain = judge(data, suppressAll(proposed, HARD_SUPPRESSION, setting.iou), setting);
  const above = (row: number) => plain.detections.scores[row]! > setting.conf;
  const [loose, strict] = [found(plain, above, 0.5), found(plain, above, 0.75)];
  return [['hard', HARD_SUPPRESSION] as const, ...suppressionsFor(proposed)].flatMap(([name, policy]) => {
    say(`suppression ${name}`);
    const judged = judge(data, suppressAll(proposed, policy, setting.iou), setting);
    const keeps = highest(judged, total(loose.kept));
    const own = [found(judged, keeps, 0.5), found(judged, keeps, 0.75)] as const;
    return [...placesBySlice(data.slices)].map(([slice, places]) => ({
      policy: name,
      slice,
      ap: apFigures(judged, plain, places),
      equal: compareFound(own[0], loose, places),
      equalStrict: compareFound(own[1], strict, places),
    }));
  });
}

function thresholdRows(proposed: Predictions, data: SlicedData, setting: PolicySetting): Row[] {
  const predictions = suppressAll(proposed, HARD_SUPPRESSION, setting.iou);
  const plain = judge(data, predictions, setting);
  const named = ({ className }: { readonly className: string }) =>
    setting.classMap === undefined || Object.hasOwn(setting.classMap, className);
  const kept = predictions.pictures.flatMap(({ detections }) => detections.filter(named));
  const choices = [
    ...ruleChoices(plain, kept, setting.conf),
    ...fittedChoices(plain, data, predictions, setting),
  ];
  return choices.flatMap(({ name, keeps }) => {
    const own = found(plain, keeps, 0.5);
    const fixed = found(plain, highest(plain, total(own.kept)), 0.5);
    return [...placesBySlice(data.slices)].map(([slice, places]) => ({
      policy: name,
      slice,
      equal: compareFound(own, fixed, places),
    }));
  });
}

/** `+.012 (−.003 to .020)`; a star where the whole interval lies on one side of 0. */
function cell(figure: Figure | undefined, signed = true): string {
  if (figure === undefined || figure.kind === 'none') return '–';
  const short = (value: number) => value.toFixed(3).replace(/^(-?)0\./, '$1.');
  if (!signed) return short(figure.value);
  const star = sureSign(figure) === 0 ? '' : ' *';
  return `${figure.value < 0 ? '' : '+'}${short(figure.value)} (${short(figure.low)} to ${short(figure.high)})${star}`;
}

/** One row per policy, one column per slice. */
function table(rows: readonly Row[], show: (row: Row) => string): string {
  const slices = [...new Set(rows.map(({ slice }) => slice))];
  const lines = [...new Set(rows.map(({ policy }) => policy))].map((policy) => [
    policy,
    ...slices.map((slice) => show(rows.find((row) => row.policy === policy && row.slice === slice)!)),
  ]);
  return markdownTable(['', ...slices], lines);
}

function report(suppressions: readonly Row[], thresholds: readonly Row[], setting: PolicySetting): void {
  const others = suppressions.filter(({ policy }) => policy !== 'hard');
  const boxes = ({ equal }: Row) => `${equal.boxes[0].toFixed(1)} / ${equal.boxes[1].toFixed(1)}`;
  const [first] = suppressions;
  print(
    `${basename(setting.model)}, conf ${setting.conf}, iou ${setting.iou}. Differences with 95 % intervals over`,
  );
  print('resampled pictures; * where the interval leaves out 0.\n');
  const tables: readonly (readonly [string, string])[] = [
    ['AP without a cut', table(suppressions, ({ ap }) => cell(ap?.ap, false))],
    ['AP, minus that of hard', table(others, ({ ap }) => cell(ap?.apGain))],
    ['AP50, minus that of hard', table(others, ({ ap }) => cell(ap?.ap50Gain))],
    [
      `Recall at IoU .5 with as many boxes as hard keeps (${first?.equal.boxes[1].toFixed(2)} a picture), minus that of hard`,
      table(others, ({ equal }) => cell(equal.recallGain)),
    ],
    ['The same at IoU .75', table(others, ({ equalStrict }) => cell(equalStrict?.recallGain))],
    [
      'Thresholds: recall at IoU .5, minus that of the fixed threshold that keeps as many boxes over all slices',
      table(thresholds, ({ equal }) => cell(equal.recallGain)),
    ],
    ['F1, the same', table(thresholds, ({ equal }) => cell(equal.f1Gain))],
    ['Precision, the same', table(thresholds, ({ equal }) => cell(equal.precisionGain))],
    ['Recall of the policy', table(thresholds, ({ equal }) => cell(equal.recall, false))],
    ['Boxes a picture, policy / fixed', table(thresholds, boxes)],
  ];
  for (const [title, text] of tables) print(`${title}:\n\n${text}\n`);
}

async function run(words: readonly string[]): Promise<void> {
  const setting = readPolicySetting(words);
  const data = await loadSliced(setting);
  const total = data.pictures.length;
  const proposed = await proposeAll(setting, data, (done) => {
    if (done % 50 === 0 || done === total) say(`${done} of ${total} pictures`);
  });
  const suppressions = suppressionRows(proposed, data, setting);
  const thresholds = thresholdRows(proposed, data, setting);
  report(suppressions, thresholds, setting);
  if (setting.out === undefined) return;
  await writeFile(setting.out, `${JSON.stringify({ setting, suppressions, thresholds }, null, 2)}\n`);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof EdgeDetectError)) throw error;
  say(`${error.message}\n${error.hint}`);
  process.exitCode = error.exitCode;
}
