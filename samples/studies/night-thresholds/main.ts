// Recall at night with thresholds of its own against one fixed threshold, both chosen for the same precision, per camera.
//   node dist/samples/studies/night-thresholds/main.js data=… model=… frames=frames.csv [map=…] [precision=.7,.8,.9] [night=night]
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { ConfigError, EdgeDetectError, type Figure, HARD_SUPPRESSION, sureSign } from 'edge-detect/core';
import { print, say } from '../common/output.ts';
import { markdownTable } from '../common/table.ts';
import { proposeAll, suppressAll } from '../policies/boxes.ts';
import { type Comparison, compareFound, type Found, found, type Judged, judge } from '../policies/measure.ts';
import { loadSliced, type PolicySetting, readPolicySetting, type SlicedData } from '../policies/setting.ts';
import { chooseThresholds, type HalfThresholds, type TargetSetting } from './choose.ts';

interface NightSetting extends PolicySetting {
  /** Each in (0, 1]; every one has a table of its own. */
  readonly precisions: readonly number[];
  /** Value of the column that means night. */
  readonly night: string;
}

const OWN_KEYS = ['precision', 'night'];

/** @throws ConfigError */
function readSetting(words: readonly string[]): NightSetting {
  const keyOf = (word: string) => word.split('=', 1)[0] ?? '';
  const own = new Map(
    words
      .filter((word) => OWN_KEYS.includes(keyOf(word)))
      .map((word) => [keyOf(word), word.slice(keyOf(word).length + 1)]),
  );
  const setting = readPolicySetting(words.filter((word) => !OWN_KEYS.includes(keyOf(word))));
  if (setting.frames === undefined) {
    throw new ConfigError('frames= is missing: nothing says which pictures are of the night', {
      hint: 'write frames=frames.csv, with the columns file and period',
    });
  }
  const precisions = (own.get('precision') ?? '0.7,0.8,0.9').split(',').map(Number);
  if (!precisions.every((precision) => precision > 0 && precision <= 1)) {
    throw new ConfigError(`precision=${own.get('precision')}: expected numbers above 0, at most 1`, {
      hint: 'write precision=0.8',
    });
  }
  return { ...setting, precisions, night: own.get('night') ?? 'night' };
}

/** Which of a camera's halves are judged: those that have a fixed threshold to compare with. */
interface Row {
  readonly name: string;
  readonly pictures: number;
  readonly objects: number;
  readonly thresholds: string;
  readonly night: Comparison;
  /** Precision, own and fixed: at night, and over all lights. */
  readonly precision: readonly [own: number, fixed: number];
  readonly precisionOverall: readonly [own: number, fixed: number];
  readonly recallFixed: number;
}

function rowsOf(
  halves: readonly HalfThresholds[],
  judged: Judged,
  { slices }: SlicedData,
  night: string,
): readonly Row[] {
  const usable = halves.filter(({ fixed }) => fixed !== undefined);
  const [own, fixed] = [thresholdsBy(usable, slices, true), thresholdsBy(usable, slices, false)].map(
    (thresholds) => found(judged, keepsAbove(judged, thresholds), 0.5),
  ) as [Found, Found];
  const cameras = [...new Set(usable.map(({ camera }) => camera))];
  return [...cameras.map((camera) => [camera]), cameras].map((names): Row => {
    const part = usable.filter(({ camera }) => names.includes(camera));
    const places = part.flatMap((half) => half.places);
    const dark = places.filter((place) => slices[place] === night);
    return {
      name: names.length === 1 ? names[0]! : 'all',
      pictures: dark.length,
      objects: sumOf(own.objects, dark),
      thresholds:
        names.length > 1
          ? ''
          : part
              .map((half) => `${half.lights.get(night)?.toFixed(2) ?? '–'} / ${half.fixed?.toFixed(2)}`)
              .join(', '),
      night: compareFound(own, fixed, dark),
      precision: [precisionOf(own, dark), precisionOf(fixed, dark)],
      precisionOverall: [precisionOf(own, places), precisionOf(fixed, places)],
      recallFixed: sumOf(fixed.hits, dark) / sumOf(fixed.objects, dark),
    };
  });
}

/** Threshold of every picture; Infinity where there is none. */
function thresholdsBy(halves: readonly HalfThresholds[], slices: readonly string[], own: boolean) {
  const thresholds = new Float64Array(slices.length).fill(Infinity);
  for (const { places, fixed = Infinity, lights } of halves) {
    for (const place of places) {
      thresholds[place] = own ? (lights.get(slices[place]!) ?? fixed) : fixed;
    }
  }
  return thresholds;
}

function keepsAbove({ detections: { starts, scores } }: Judged, thresholds: Float64Array) {
  const least = new Float64Array(scores.length);
  for (const [picture, threshold] of thresholds.entries())
    least.fill(threshold, starts[picture]!, starts[picture + 1]!);
  return (row: number) => scores[row]! > least[row]!;
}

function sumOf(values: Int32Array, places: readonly number[]): number {
  return places.reduce((sum, place) => sum + values[place]!, 0);
}

function precisionOf({ hits, kept }: Found, places: readonly number[]): number {
  return sumOf(hits, places) / sumOf(kept, places);
}

function short(value: number): string {
  return Number.isFinite(value) ? value.toFixed(3).replace(/^(-?)0\./, '$1.') : '–';
}

function cell(figure: Figure): string {
  if (figure.kind === 'none') return '–';
  const { value, low, high } = figure;
  const star = sureSign(figure) === 0 ? '' : ' *';
  return `${value < 0 ? '' : '+'}${short(value)} (${short(low)} to ${short(high)})${star}`;
}

function report(
  rows: readonly Row[],
  halves: readonly HalfThresholds[],
  { model, precision, night }: TargetSetting & NightSetting,
): void {
  const left = halves.filter(({ fixed }) => fixed === undefined).map(({ camera }) => camera);
  print(
    `${basename(model)}: thresholds chosen for a precision of ${precision} on one half of each camera, judged on`,
  );
  print(`the pictures of ${night} of the other half, both ways; 95 % intervals over resampled pictures.`);
  print(
    'Thresholds: own of the night / fixed, one pair a half; – where no own one reached it and the fixed one holds.\n',
  );
  const head = ['camera', 'pictures', 'objects', 'thresholds', 'recall, own', 'fixed', 'gain'];
  head.push('precision, own', 'fixed', 'difference', 'over all lights, own', 'fixed');
  const lines = rows.map((row) => [
    row.name,
    `${row.pictures}`,
    `${row.objects}`,
    row.thresholds,
    row.night.recall.kind === 'none' ? '–' : short(row.night.recall.value),
    short(row.recallFixed),
    cell(row.night.recallGain),
    ...row.precision.map(short),
    cell(row.night.precisionGain),
    ...row.precisionOverall.map(short),
  ]);
  print(markdownTable(head, lines));
  if (left.length > 0) print(`\nNo fixed threshold reaches it on a half of: ${left.join(', ')}; left out.`);
  print('');
}

async function run(words: readonly string[]): Promise<void> {
  const setting = readSetting(words);
  const data = await loadSliced(setting);
  const total = data.pictures.length;
  const proposed = await proposeAll(setting, data, (done) => {
    if (done % 50 === 0 || done === total) say(`${done} of ${total} pictures`);
  });
  const predictions = suppressAll(proposed, HARD_SUPPRESSION, setting.iou);
  const judged = judge(data, predictions, setting);
  const results = setting.precisions.map((precision) => {
    const halves = chooseThresholds(data, predictions, { ...setting, precision });
    const rows = rowsOf(halves, judged, data, setting.night);
    report(rows, halves, { ...setting, precision });
    const listed = halves.map((half) => ({ ...half, lights: Object.fromEntries(half.lights) }));
    return { precision, halves: listed, rows };
  });
  if (setting.out !== undefined)
    await writeFile(setting.out, `${JSON.stringify({ setting, results }, null, 2)}\n`);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof EdgeDetectError)) throw error;
  say(`${error.message}\n${error.hint}`);
  process.exitCode = error.exitCode;
}
