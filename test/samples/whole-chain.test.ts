// The study of the whole chain: its parts, its shares and intervals, and a run on the sample world whose figures are no
// science but must be complete.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseStudyFile } from '../../samples/studies/common/study-file.ts';
import type { PlacedPicture } from '../../samples/studies/logit-range/pictures.ts';
import { poissonInterval } from '../../samples/studies/whole-chain/clips.ts';
import { judgeStage } from '../../samples/studies/whole-chain/judge.ts';
import { partsOfSeed, thinned } from '../../samples/studies/whole-chain/parts.ts';
import { ratioOfMeans } from '../../samples/studies/whole-chain/tables.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { longNote, longRuns } from '../support/long-runs.ts';
import { runStudy } from '../support/study-runs.ts';

const scratch = mkdtempSync(join(tmpdir(), 'whole-chain-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const object = { classId: 0, x1: 0.1, y1: 0.1, x2: 0.3, y2: 0.3, crowd: false, difficult: false };

function placedOf(cameras: string, times = 4): readonly PlacedPicture[] {
  return [...cameras].flatMap((camera) =>
    (['day', 'dusk', 'night'] as const).flatMap((light) =>
      Array.from({ length: times }, (_, time): PlacedPicture => {
        const path = `/${camera}-${light}-${time}.jpg`;
        return { picture: { path, id: path, objects: [object] }, camera, light };
      }),
    ),
  );
}

describe('the parts of a seed', () => {
  it.each([0, 1, 2, 3, 4, 5, 6])('seed %i: no camera has two tasks, and all have one', (seed) => {
    const { train, fit, judge, judging } = partsOfSeed(placedOf('abcdefg'), seed);
    const [training, fitting, judged] = [train, fit, judge].map((part) => [
      ...new Set(part.map(({ camera }) => camera)),
    ]);
    expect(judged!.sort()).toEqual([...judging].sort());
    expect([training!.length, fitting!.length, judged!.length]).toEqual([3, 2, 2]);
    expect([...training!, ...fitting!, ...judged!].sort().join('')).toBe('abcdefg');
  });

  it('refuses four cameras', () => {
    expect(() => partsOfSeed(placedOf('abcd'), 0)).toThrow('4 cameras');
  });

  it('thins evenly', () => {
    expect(thinned([0, 1, 2, 3, 4, 5], 3)).toEqual([0, 2, 4]);
    expect(thinned([0, 1], 3)).toEqual([0, 1]);
  });
});

describe('shares of a gain', () => {
  it('are of the means, with every draw of the seeds', () => {
    // Draws of two seeds: 1/2 twice alone, (1 + 3) / (2 + 4) twice mixed, and 3/4.
    const { value, interval } = ratioOfMeans([
      [1, 2],
      [3, 4],
    ]);
    expect(value).toBeCloseTo(4 / 6, 12);
    expect(interval).toEqual([0.5, 0.75]);
  });

  it('say nothing where nothing was gained, and no interval where a draw gains nothing', () => {
    expect(ratioOfMeans([[1, -1]])).toEqual({ value: null });
    const mixed = ratioOfMeans([
      [1, 2],
      [0, -1],
    ]);
    expect(mixed).toEqual({ value: 1 });
  });
});

describe('intervals of counts', () => {
  // Garwood's limits as tables of the Poisson distribution have them.
  it.each([
    [0, 0, 3.6889],
    [1, 0.0253, 5.5716],
    [5, 1.6235, 11.6683],
    [20, 12.2165, 30.8884],
  ])('%i: %f to %f', (count, low, high) => {
    const [least, most] = poissonInterval(count);
    expect(least).toBeCloseTo(low, 3);
    expect(most).toBeCloseTo(high, 3);
  });
});

describe('thresholds', () => {
  /** One box on the object and one beside it in every picture; at night both scores are `darker` less. */
  function answers(cameras: string, darker: number) {
    const placed = placedOf(cameras, 10);
    const pictures = placed.map(({ light }) => {
      const less = light === 'night' ? darker : 0;
      const box = (x1: number, score: number) => ({
        box: { x1, y1: 10, x2: x1 + 20, y2: 30 },
        ...{ classId: 0, className: 'car', score: score - less, rawScore: score - less },
      });
      return { size: { width: 100, height: 100 }, detections: [box(10, 0.8), box(60, 0.6)] };
    });
    return { classNames: ['car'], placed, predictions: { classNames: ['car'], pictures } };
  }

  it('per light find what one threshold for all light cannot, and do not see the judging cameras', () => {
    const { boxes, rules } = judgeStage(
      answers('ab', 0.4) as unknown as Parameters<typeof judgeStage>[0],
      answers('cd', 0.4) as unknown as Parameters<typeof judgeStage>[1],
      0.9,
    );
    expect(rules['one threshold'].day).toEqual({ recall: 1, precision: 1, 'false alarms': 0 });
    expect(rules['one threshold'].night['recall']).toBe(0);
    expect(rules['per light'].night).toEqual({ recall: 1, precision: 1, 'false alarms': 0 });
    expect(boxes.all['recall at precision']).toBeCloseTo(2 / 3, 12);
    expect(boxes.night['recall at precision']).toBe(1);
    expect(boxes.all['ap50']).toBeGreaterThan(0.7);
  });
});

describe.skipIf(!ffmpegAvailable)(`the command${ffmpegNote}`, () => {
  it.skipIf(!longRuns)(
    `runs on the sample world and says that it is weaker${longNote}`,
    { timeout: 300_000 },
    async () => {
      const out = join(scratch, 'results.json');
      const { code, stderr } = await run(`out=${out}`);
      expect(stderr).toMatch(/sample world.*weaker than real ones/s);
      expect(code).toBe(0);
      const { rows, verdicts, setting } = parseStudyFile(readFileSync(out, 'utf8'), out);
      expect(setting).toMatchObject({ seeds: 1, epochs: 1, second: 0 });
      const figure = (table: string, row: string, name: string) =>
        rows.find((one) => one.table === table && one.row === row && one.figure === name)?.mean;
      for (const stage of ['stock', 'trained', 'calibrated', 'two Gaussians', 'int8']) {
        expect(figure('boxes, all', stage, 'ap50')).toBeGreaterThan(0);
        expect(figure('thresholds, dusk', stage, 'recall')).toBeGreaterThanOrEqual(0);
      }
      // A map of one class moves no box past another.
      const [trained, calibrated] = ['trained', 'calibrated'].map((stage) =>
        figure('boxes, all', stage, 'ap50'),
      );
      expect(calibrated).toBeCloseTo(trained!, 2);
      expect(figure('gate', 'int8', 'megabytes')!).toBeLessThan(figure('gate', 'float32', 'megabytes')!);
      expect(figure('clips', 'its int8 file, dusk', 'alarms an hour')).toBeGreaterThanOrEqual(0);
      expect(verdicts.map(({ verdict }) => verdict)).toContain('not measured');
    },
  );
});

function run(...words: readonly string[]) {
  const small = ['seeds=1', 'epochs=1', 'variants=0', 'pictures=42'];
  return runStudy('whole-chain', [...small, ...words], { testData: join(scratch, 'none') });
}
