// `compare`: slices by table, light, sun, two sets and simulation; what it prints and writes, and what it refuses.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LightLadder, parseThresholdsFile } from '#core';
import type { CompareReport } from '#evaluate';
import { jsonLines } from '../support/cli.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { faultsOfRefusal, type PictureLine, RunFolder } from '../support/run-folder.ts';
import { type StreetSet, writeStreetSet } from '../support/street-set.ts';

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const model = file('samples/model/edge-n-street.onnx');
const SUN = ['by=sun', 'lat=1.35', 'lon=103.82', 'timezone=+08:00'];

type Results = CompareReport & {
  readonly reference: string;
  readonly slicedBy: string;
  readonly remarks: readonly string[];
};

const folder = new RunFolder();
let set: StreetSet;

beforeAll(async () => {
  set = await writeStreetSet(folder.join('street'), {
    hours: ['day', 'dusk', 'night'],
    cameras: 2,
    pictures: 6,
  });
}, 120_000);
afterAll(() => folder.remove());

const run = (...words: string[]) =>
  folder.run(['compare', `model=${model}`, 'resamples=100', 'exist_ok=true', ...words]);

/** Runs with `json=true` and without plots. */
async function compare(...words: string[]): Promise<Results & { readonly stderr: string }> {
  const { code, stdout, stderr } = await run('json=true', 'plots=false', ...words);
  expect(code, stderr).toBe(0);
  return { ...(JSON.parse(stdout) as Results), stderr };
}

const sizes = ({ slices }: Results) => slices.map(({ name, pictures }) => [name, pictures]);
const readThresholds = (name: string) => {
  const path = folder.join('runs/detect', name, 'thresholds.json');
  return { path, file: parseThresholdsFile(readFileSync(path, 'utf8'), path) };
};

/** Pictures of an hour alone, with a data file of their own where `names` are given. */
function copyHour(clock: string, name: string, names?: string): string {
  mkdirSync(folder.join(name, 'images'), { recursive: true });
  mkdirSync(folder.join(name, 'labels'), { recursive: true });
  for (const picture of readdirSync(set.images).filter((one) => one.includes(`_${clock}`))) {
    copyFileSync(`${set.images}/${picture}`, folder.join(name, 'images', picture));
    const label = picture.replace('.jpg', '.txt');
    copyFileSync(folder.join('street/labels', label), folder.join(name, 'labels', label));
  }
  if (names === undefined) return folder.join(name, 'images');
  writeFileSync(folder.join(`${name}.yaml`), `path: ${name}\nval: images\nnames: [${names}]\n`);
  return folder.join(`${name}.yaml`);
}

const CLASSES = 'car, lorry, bus, bike, person';

describe('compare by a column of a table', () => {
  it('prints slices, changes with intervals and the verdict, and leaves figures, plots and a page', async () => {
    const { code, stdout, stderr } = await run(`data=${set.data}`, `by=${set.table}:period`, 'name=period');
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/Slice +Images +Instances +AP50 +AP50-95 +D-ECE +LaECE0 +oLRP +Signed +Best conf/);
    expect(stdout).toMatch(
      /^ +day +12 +\d+ +0\.\d{3} +0\.\d{3} +0\.\d{3} +0\.\d{3} +0\.\d{3} +-?0\.\d{3} +0\.\d{3}$/m,
    );
    expect(stdout).toMatch(/^ +day to night +within cameras +pooled$/m);
    expect(stdout).toMatch(/^ +recall +[+-]?\d\.\d{3} \[[+-]?\d\.\d{3}, [+-]?\d\.\d{3}\] +[+-]?\d/m);
    expect(stdout).toContain('2 cameras, by the column camera of frames.csv');
    expect(stdout).toMatch(/^day against night: in the same places of the scene/m);
    expect(readdirSync(folder.join('runs/detect/period')).sort()).toEqual([
      'paired_differences.png',
      'paired_scores.png',
      'reliability_slices.png',
      'report.html',
      'results.json',
      'slice_metrics.png',
      'thresholds.json',
      'thresholds.png',
    ]);
    const page = readFileSync(folder.join('runs/detect/period/report.html'), 'utf8');
    expect(page).toContain('<h1>edge-n-street.onnx: day, dusk, night</h1>');
    expect(page).toContain('day to night');
  }, 120_000);

  it('gives the report as JSON, the reference first, with LRP and its parts', async () => {
    const report = await compare(
      `data=${set.data}`,
      `by=${set.table}:period`,
      'reference=night',
      'name=json',
    );
    expect(report).toMatchObject({ reference: 'night', slicedBy: 'column' });
    expect(sizes(report)).toEqual([
      ['night', 12],
      ['day', 12],
      ['dusk', 12],
    ]);
    expect(report.comparisons.map(({ first, second }) => `${first} ${second}`)).toEqual([
      'night day',
      'night dusk',
      'day dusk',
    ]);
    const [night, day] = report.slices;
    expect(day?.lrp?.optimalLrp).toBeGreaterThan(0.2);
    expect(day?.lrp?.optimalLrp).toBeLessThan(1);
    expect(day?.lrp?.misses).toBeGreaterThan(0);
    expect(night?.cameras.map(({ camera }) => camera)).toEqual(['road 0', 'road 1']);
    expect(JSON.parse(readFileSync(folder.join('runs/detect/json/results.json'), 'utf8'))).toMatchObject({
      reference: 'night',
      data: set.data,
    });
  });

  it('counts all classes as one, and writes one threshold a slice then', async () => {
    const report = await compare(`data=${set.data}`, `by=${set.table}:period`, 'single_cls=True', 'name=one');
    expect(report.thresholds?.map(({ className }) => className)).toEqual(['*', 'object']);
    const { file: written } = readThresholds('one');
    expect(Object.keys(written.classes)).toEqual(['*']);
    expect(written.suppression.agnostic).toBe(true);
    for (const condition of ['day', 'dusk', 'night']) {
      const chosen = report.thresholds?.[0]?.conditions.find((one) => one.condition === condition)?.bestF1;
      if (chosen?.kind !== 'threshold' || chosen.threshold.kind !== 'estimate') throw new Error('no verdict');
      expect(written.conditions[condition]?.['*']).toBeCloseTo(chosen.threshold.value, 5);
    }
  });

  it('names classes of the model in the file, whatever the data set calls them', async () => {
    const map = 'class_map=car:vehicle,lorry:vehicle,bus:vehicle';
    const data = await folder.write(
      'street/mapped.yaml',
      'val: images\nnames: [vehicle, lorry, bus, bike, person]\n',
    );
    await compare(`data=${data}`, `by=${set.table}:period`, map, 'name=mapped');
    const { classes } = readThresholds('mapped').file;
    expect(Object.keys(classes).sort()).toEqual(['*', 'bus', 'car', 'lorry']);
    expect(classes['lorry']).toBe(classes['car']);
  });
});

describe.skipIf(!ffmpegAvailable)(`thresholds of compare in stream${ffmpegNote}`, () => {
  const stream = (clip: string, ...words: string[]) =>
    folder.run(['stream', `model=${model}`, `source=${file(`samples/clips/${clip}.mp4`)}`, ...words]);
  const FEW = 'max_frames=5';

  it('follow the measured light, with the hysteresis that the file brings', async () => {
    const report = await compare(`data=${set.data}`, 'by=light', 'name=light');
    expect(report.slicedBy).toBe('light');
    expect(report.slices.map(({ name }) => name)).toContain('night');
    const { path, file: written } = readThresholds('light');
    const ladder: LightLadder | undefined = written.hysteresis;
    expect(ladder).toMatchObject({
      measure: 'picture',
      states: ['night', 'dusk', 'day'],
      boundaries: [0, 1],
    });
    const { code, stdout, stderr } = await stream('night', FEW, 'light=auto', `thresholds=${path}`);
    expect(code, stderr).toBe(0);
    const lines = jsonLines<PictureLine & { readonly light: string }>(stdout);
    expect(new Set(lines.map(({ light }) => light))).toEqual(new Set(['night']));
    const scores = lines.flatMap(({ detections }) => detections.map(({ confidence }) => confidence));
    expect(Math.min(...scores)).toBeGreaterThan(
      Math.min(...Object.values(written.conditions['night'] ?? {})),
    );
  }, 60_000);

  it('bring boundaries of these very pictures where a column parts them by their light', async () => {
    const { path, file: written } = readThresholds('one');
    expect(written.hysteresis).toMatchObject({ measure: 'picture', states: ['night', 'dusk', 'day'] });
    for (const clip of ['day', 'dusk', 'night']) {
      const { code, stdout, stderr } = await stream(clip, 'light=auto', `thresholds=${path}`);
      expect(code, stderr).toBe(0);
      // A light between two states needs some seconds, and then stays.
      const lights = jsonLines<{ light?: string }>(stdout).flatMap(({ light }) => light ?? []);
      expect(new Set(lights)).toEqual(new Set([clip]));
    }
  }, 60_000);

  it('follow the sun, whose states need no ladder of their own', async () => {
    const report = await compare(`data=${set.data}`, ...SUN, 'name=sun');
    expect(sizes(report)).toEqual([
      ['day', 12],
      ['dusk', 12],
      ['night', 12],
    ]);
    const { path, file: written } = readThresholds('sun');
    expect(written.hysteresis).toBeUndefined();
    const start = 'start_time=2021-03-20T22:00:00+08:00';
    const place = ['light=sun', 'lat=1.35', 'lon=103.82'];
    const { code, stdout, stderr } = await stream('night', FEW, ...place, start, `thresholds=${path}`);
    expect(code, stderr).toBe(0);
    expect(jsonLines<{ light: string }>(stdout)[0]?.light).toBe('night');
  }, 60_000);
});

describe('compare two sets', () => {
  it('takes two labelled sets under the names of their files, classes in any order', async () => {
    const [day, night] = [copyHour('1200', 'noon', CLASSES), copyHour('2200', 'late', CLASSES)];
    const report = await compare(`data=${day}`, `against=${night}`, 'name=sets');
    expect(sizes(report)).toEqual([
      ['noon', 12],
      ['late', 12],
    ]);
    expect(report.comparisons[0]?.effects.recall?.perCamera.map(({ camera }) => camera)).toEqual([
      'cam0',
      'cam1',
    ]);
    expect(report.comparisons[0]?.objects?.pairs).toBeGreaterThan(0);
  });

  it('takes two folders without labels, and says so', async () => {
    const [day, night] = [copyHour('1200', 'plain-day'), copyHour('2200', 'plain-night')];
    const words = [`source=${day}`, `against=${night}`, 'name=plain'];
    const { code, stdout, stderr } = await run(...words);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('no labels: what the model says, not whether it is right');
    expect(stdout).toMatch(/^ +plain-day +12 +2 +\d+$/m);
    expect(stdout).toMatch(/^plain-day against plain-night: without labels, the mean score within cameras/m);
    expect(stderr).toContain('no thresholds.json: without labels');
    expect(readdirSync(folder.join('runs/detect/plain')).sort()).toEqual(['report.html', 'results.json']);
  });

  it('pairs each picture with itself at dusk', async () => {
    const source = copyHour('1200', 'bright');
    const words = [`source=${source}`, 'simulate=dusk', 'strength=1', 'name=rendered', 'seed=3'];
    const report = await compare(...words);
    expect(sizes(report)).toEqual([
      ['original', 12],
      ['dusk', 12],
    ]);
    const [comparison] = report.comparisons;
    expect(comparison?.samePictures?.pairedBy).toBe('picture');
    const drift = comparison?.samePictures?.byPicture;
    if (drift?.kind !== 'drift' || drift.meanDrop.kind !== 'estimate') throw new Error('no verdict');
    expect(drift.meanDrop.value).toBeGreaterThan(0);
    const rendered = readdirSync(folder.join('runs/detect/rendered/dusk'));
    expect(rendered).toHaveLength(12);
    const again = await compare(...words);
    expect(again.comparisons[0]?.samePictures?.scores).toEqual(comparison?.samePictures?.scores);
  });
});

describe('compare refuses', () => {
  const data = () => `data=${set.data}`;
  const column = (name: string) => `by=${set.table}:${name}`;

  it.each<[string, number, () => readonly string[], RegExp]>([
    ['no rule', 2, () => [data()], /needs to know what to compare/],
    ['two rules', 2, () => [data(), 'by=light', 'against=x'], /by= and against= are both given/],
    ['an unknown rule', 3, () => [data(), 'by=weather'], /neither TABLE\.csv:COLUMN, light nor sun/],
    ['a column that is not there', 4, () => [data(), column('perod')], /did you mean 'period'/],
    ['a table that is not there', 4, () => [data(), 'by=none.csv:period'], /none\.csv: cannot be read/],
    [
      'a slice without pictures',
      4,
      () => [data(), column('period'), 'slices=day,dsk'],
      /did you mean "dusk"/,
    ],
    [
      'a reference without pictures',
      4,
      () => [data(), column('period'), 'reference=dy'],
      /did you mean "day"/,
    ],
    ['one slice only', 4, () => [data(), column('period'), 'slices=day'], /belong to one slice, "day"/],
    ['the sun without a zone', 3, () => [data(), ...SUN.slice(0, 3)], /by=sun needs timezone=/],
    ['the sun without a place', 3, () => [data(), 'by=sun', 'timezone=Z'], /by=sun needs lat=/],
    ['a zone that is none', 3, () => [data(), ...SUN.slice(0, 3), 'timezone=SGT'], /no offset from UTC/],
    ['words without effect', 3, () => [data(), 'by=light', 'timezone=Z'], /timezone= has no effect here/],
    [
      'labels that folders lack',
      3,
      () => [`source=${set.images}`, 'by=light', 'single_cls=True'],
      /need labels/,
    ],
    [
      'a single picture',
      4,
      () => [`source=${set.images}/../../street/data.yaml.jpg`, 'against=x'],
      /does not exist/,
    ],
    [
      'sets of other classes',
      4,
      () => [
        `data=${copyHour('1200', 'a', CLASSES)}`,
        `against=${copyHour('2200', 'b', 'car, van, bus, bike, person')}`,
      ],
      /labelled with .*lorry.*van/s,
    ],
    [
      'classes that the model does not know',
      4,
      () => [
        `data=${copyHour('1200', 'c', 'a, b, c, d, e')}`,
        `against=${copyHour('2200', 'd', 'a, b, c, d, e')}`,
      ],
      /the model detects car/,
    ],
    ['a model that is not there', 5, () => [data(), column('period'), 'model=none.onnx'], /none\.onnx/],
  ])('%s', async (_, code, words, message) => {
    const result = await run(...words());
    expect(faultsOfRefusal(result, code)).toEqual([]);
    expect(result.stderr).toMatch(message);
  });

  it('leaves no run folder behind', () => {
    expect(readdirSync(folder.join('runs/detect')).map((name) => basename(name))).not.toContain('compare');
  });
});
