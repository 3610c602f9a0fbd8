// `compare` of two videos: the committed clips, copies and pieces of them, and what it refuses.
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { negated } from '#core';
import type { CompareReport } from '#evaluate';
import { runFfmpeg } from '../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { faultsOfRefusal, RunFolder } from '../support/run-folder.ts';

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const clip = (name: string) => file(`samples/clips/${name}.mp4`);
const [source, against] = [`source=${clip('day')}`, `against=${clip('dusk')}`];
const PAIRED = ['pairs=time', 'block_seconds=0.5'];

type Results = CompareReport & {
  readonly reference: string;
  readonly slicedBy: string;
  readonly remarks: readonly string[];
};

const folder = new RunFolder();
afterAll(() => folder.remove());

const run = (...words: string[]) =>
  folder.run([
    'compare',
    `model=${file('samples/model/edge-n-street.onnx')}`,
    'resamples=100',
    'exist_ok=true',
    ...words,
  ]);

async function compare(...words: string[]): Promise<Results> {
  const { code, stdout, stderr } = await run('json=true', 'plots=false', ...words);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Results;
}

const pairOf = ({ comparisons }: Results) => {
  const [comparison] = comparisons;
  const [drift, shift] = [comparison?.samePictures?.byPicture, comparison?.scores.overCameras];
  if (comparison === undefined || drift?.kind !== 'drift' || shift?.kind !== 'shift') {
    throw new Error('no verdict');
  }
  return { comparison, drift, shift };
};

describe.skipIf(!ffmpegAvailable)(`compare two videos${ffmpegNote}`, () => {
  it('gives no verdict on eight seconds, and says how long they would have to be', async () => {
    const { code, stdout, stderr } = await run(source, against, 'name=short');
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/Slice +Frames +Blocks +Boxes +Tracks +Flicker +Jitter/);
    expect(stdout).toMatch(/^ +day +96 +\d +\d+ +\d+ +0\.\d{3} +0\.\d{3}$/m);
    expect(stdout).toMatch(/^ +day to dusk +change$/m);
    expect(stdout).toMatch(
      /^no verdict: \d blocks of \d\.\d\d s in the shorter clip; 10 or more are needed/m,
    );
    expect(stdout).toMatch(/^frames of a clip resemble each other: .*autocorrelation/m);
    expect(stdout).toMatch(/^day against dusk: no verdict on confidence/m);
    expect(stderr).toContain('no thresholds.json: without labels');
    expect(readdirSync(folder.join('runs/detect/short')).sort()).toEqual(['report.html', 'results.json']);
    const page = readFileSync(folder.join('runs/detect/short/report.html'), 'utf8');
    expect(page).toContain('resamples of whole blocks of time');
  }, 60_000);

  describe('paired by time', () => {
    let there: Results;
    beforeAll(async () => {
      there = await compare(source, against, ...PAIRED, 'reference=day', 'name=there');
    }, 60_000);

    it('measures drop, retention, shift of the scores and flicker of each clip', () => {
      expect(there).toMatchObject({ reference: 'day', slicedBy: 'clips', thresholds: null });
      expect(there.convention.timeBlocks).toEqual({ seconds: 0.5, chosenBy: 'stated' });
      expect(there.slices.map(({ name, pictures, blocks }) => [name, pictures, blocks])).toEqual([
        ['day', 96, 16],
        ['dusk', 96, 16],
      ]);
      const { comparison, drift, shift } = pairOf(there);
      expect(comparison.samePictures?.pairedBy).toBe('time');
      expect(comparison.samePictures?.medianGapSeconds).toBe(0);
      expect(drift.groups).toBe(16);
      expect(drift.retained.kind).toBe('estimate');
      expect(shift.w1.nullExpectation).toBeGreaterThan(0);
      expect(comparison.tracks).toBeNull();
      for (const { flicker } of there.slices) expect(flicker?.rate.kind).toBe('estimate');
    });

    it('turns only signs when the clips are exchanged', async () => {
      const back = await compare(
        `source=${clip('dusk')}`,
        `against=${clip('day')}`,
        ...PAIRED,
        'reference=dusk',
        'name=back',
      );
      expect(back.slices.toReversed()).toEqual(there.slices);
      const [a, b] = [pairOf(there), pairOf(back)];
      for (const name of ['meanScore', 'boxesPerPicture'] as const) {
        expect(b.comparison.effects[name].pooled).toEqual(negated(a.comparison.effects[name].pooled));
      }
      expect(b.shift.w1).toEqual(a.shift.w1);
      expect([b.drift.lost, b.drift.gained]).toEqual([a.drift.gained, a.drift.lost]);
      expect(b.drift.retained).toEqual(a.drift.retainedBackwards);
    }, 60_000);

    it('sees no shift between equal clips', async () => {
      copyFileSync(clip('day'), folder.join('copy.mp4'));
      const { drift, shift } = pairOf(await compare(source, 'against=copy.mp4', ...PAIRED, 'name=equal'));
      expect([shift.w1.value, shift.ks.value, shift.psi.value]).toEqual([0, 0, 0]);
      expect(drift).toMatchObject({ lost: 0, gained: 0, meanDrop: { value: 0, low: 0, high: 0 } });
    }, 60_000);
  });

  it('pairs frames of different rates by their times, each once', async () => {
    runFfmpeg('-i', clip('night'), '-vf', 'fps=8', '-y', folder.join('slow.mp4'));
    const report = await compare(source, 'against=slow.mp4', ...PAIRED, 'name=rates');
    const gap = report.comparisons[0]?.samePictures?.medianGapSeconds ?? Number.NaN;
    expect(gap).toBeLessThanOrEqual(1 / 16 + 1e-6);
    // Every second of 12 frames a second is the nearest to 8.
    expect(report.slices.map(({ pictures }) => pictures)).toEqual([48, 64]);
    expect(report.remarks.join('\n')).toMatch(/0\.167 s apart in day, 0\.125 s apart in slow/);
  }, 60_000);

  it('takes every n-th frame, and follows no tracks over long steps', async () => {
    const report = await compare(source, against, 'vid_stride=4', 'name=stride');
    expect(report.slices.map(({ pictures, flicker }) => [pictures, flicker])).toEqual([
      [24, null],
      [24, null],
    ]);
    expect(report.remarks.join('\n')).toMatch(
      /every 4th frame of day.*\n.*\nno tracks, so no flicker: 0\.33 s/,
    );
  }, 60_000);

  it.each<[string, number, readonly string[], RegExp]>([
    ['a clip that is not there', 7, [source, 'against=none.mp4'], /none\.mp4/],
    ['a clip that cannot be read', 7, [source, 'against=broken.mp4'], /broken\.mp4/],
    ['a folder beside a clip', 4, [source, 'against=.'], /a folder, not a clip/],
    ['one clip twice', 3, [source, `against=${clip('day')}`], /are the same clip/],
    ['a video alone', 3, [source], /a video is compared with another/],
    ['a rule for pictures', 3, [source, 'by=light'], /leave by= away/],
    ['labels', 3, [source, against, 'single_cls=True'], /need labels/],
    ['slices of two', 3, [source, against, 'slices=day'], /slices= has no effect/],
    ['a reference that is neither', 4, [source, against, 'reference=dask'], /did you mean "dusk"/],
    [
      'pairs of another size',
      4,
      [source, 'against=small.mp4', 'pairs=time'],
      /640x384 px, but small has 320x192/,
    ],
    ['pairing of folders', 3, ['source=.', 'against=..', 'pairs=time'], /pairs= has no effect here/],
  ])(
    'refuses %s',
    async (_, code, words, message) => {
      writeFileSync(folder.join('broken.mp4'), 'no video');
      if (words.includes('against=small.mp4')) {
        runFfmpeg(
          '-i',
          clip('dusk'),
          '-frames:v',
          '12',
          '-vf',
          'scale=320:192',
          '-y',
          folder.join('small.mp4'),
        );
      }
      const result = await run(...words);
      expect(faultsOfRefusal(result, code)).toEqual([]);
      expect(result.stderr).toMatch(message);
    },
    60_000,
  );
});
