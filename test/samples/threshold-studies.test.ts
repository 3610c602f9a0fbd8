// The studies of policies, of night thresholds and of measured light as a user runs them: on a few rendered pictures,
// whose figures are no science but must be complete, compared, and able to differ.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Figure, noVerdict } from '#core';
import { gainsWithout, isAbove, isBelow, shownGain } from '../../samples/studies/common/judged-figures.ts';
import { findStudyData } from '../../samples/studies/common/study-data.ts';
import { figureRow, readStudyFile, writeStudyFile } from '../../samples/studies/common/study-file.ts';
import { graded } from '../../samples/studies/common/verdict-rules.ts';
import type { Seen } from '../../samples/studies/light-states/measure.ts';
import { confused, shareRight } from '../../samples/studies/light-states/tables.ts';
import { lightVerdicts } from '../../samples/studies/light-states/verdicts.ts';
import { longNote, longRuns } from '../support/long-runs.ts';
import { runStudy } from '../support/study-runs.ts';

const scratch = mkdtempSync(join(tmpdir(), 'threshold-studies-'));
let [data, host] = ['', ''];

beforeAll(async () => {
  const [world] = await findStudyData([], { scratch, worldPictures: 28 });
  [data, host] = [world!.data, world!.model];
}, 120_000);
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const run = (name: string, ...words: readonly string[]) =>
  runStudy(name, words, { testData: join(scratch, 'absent') });

const estimate = (value: number, low: number, high: number): Figure => ({
  kind: 'estimate',
  value,
  low,
  high,
  groups: 9,
});

describe('what a figure says', () => {
  it('counts where its interval leaves out 0', () => {
    expect([isAbove(estimate(0.2, 0.1, 0.3)), isBelow(estimate(0.2, 0.1, 0.3))]).toEqual([true, false]);
    expect(isAbove(estimate(0.2, 0, 0.3))).toBe(false);
    expect(isBelow(estimate(-0.2, -0.3, -0.1))).toBe(true);
    expect(isAbove(noVerdict('4 groups'))).toBeUndefined();
  });

  it('gains where it rises and the price does not surely fall', () => {
    const [up, open, down] = [
      estimate(0.2, 0.1, 0.3),
      estimate(-0.1, -0.2, 0.1),
      estimate(-0.1, -0.2, -0.01),
    ];
    expect([gainsWithout(up, open), gainsWithout(up, down), gainsWithout(open, up)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(gainsWithout(up, noVerdict('nothing'))).toBeUndefined();
  });

  it('has no vote where it was not measured', () => {
    expect(graded([true, undefined])).toBe('holds');
    expect(graded([true, false, undefined])).toBe('holds in part');
    expect(graded([false])).toBe('does not hold');
    expect(graded([undefined])).toBe('not measured');
  });

  it('is written with its sign, and kept with its interval', () => {
    expect(shownGain(estimate(-0.0123, -0.02, 0))).toBe('−.012 (−.020 to +.000)');
    expect(shownGain(noVerdict('4 groups'))).toBe('not measured (4 groups)');
    const place = { table: 't', row: 'r', figure: 'f' };
    expect(figureRow(place, estimate(1, 0, 2))).toMatchObject({ mean: 1, low: 0, high: 2, values: [1] });
    expect(figureRow(place, noVerdict('4 groups'))).toMatchObject({ mean: null, values: [null] });
  });
});

describe('shares of the light', () => {
  const seenAs = (camera: string, truth: string, elsewhere: string, count: number): readonly Seen[] =>
    Array.from({ length: count }, () => ({ camera, truth, found: truth, foundElsewhere: elsewhere }));
  const mostly = [...seenAs('a', 'day', 'day', 46), ...seenAs('b', 'dusk', 'day', 4)];

  it('are of the pictures of every camera, each drawn for itself', () => {
    expect(shareRight(mostly, 'found')).toMatchObject({ value: 1, low: 1, high: 1 });
    // Whole cameras are right or wrong: pictures are drawn within their camera, so that nothing varies.
    expect(shareRight(mostly, 'foundElsewhere')).toMatchObject({ value: 0.92, low: 0.92, high: 0.92 });
    const mixed = [...seenAs('a', 'day', 'day', 45), ...seenAs('a', 'day', 'dusk', 5)];
    const share = shareRight(mixed, 'foundElsewhere');
    expect(share).toMatchObject({ value: 0.9 });
    expect(share.kind === 'estimate' && share.low < 0.85 && share.high > 0.95).toBe(true);
    expect(shareRight(mostly, 'found', ({ truth }) => truth === 'night').kind).toBe('none');
    expect(confused(mostly, 'foundElsewhere', 'dusk', 'day')).toBe(4);
  });

  it('are judged on cameras that were left out of the fit', () => {
    const verdictOf = (seen: readonly Seen[]) => lightVerdicts(seen)[0]?.verdict;
    expect(verdictOf(mostly)).toBe('holds');
    expect(verdictOf([...mostly, ...seenAs('c', 'night', 'day', 1)])).toBe('holds in part');
    expect(verdictOf([...seenAs('a', 'dusk', 'day', 10), ...seenAs('a', 'night', 'day', 1)])).toBe(
      'does not hold',
    );
    expect(lightVerdicts(mostly)[0]?.because).toContain('right on 92 % of 50 pictures (as shipped 100 %)');
  });
});

describe.each([
  ['policies', ['conf=0.1']],
  ['night-thresholds', ['precision=0.2,0.9']],
  ['light-states', []],
] as const)('%s', (name, own) => {
  it('finds the same again, but for a figure that was changed', { timeout: 300_000 }, async () => {
    const words = [`data=${data}`, ...(name === 'light-states' ? [] : [`model=${host}`]), ...own];
    const [out, page] = [join(scratch, `${name}.json`), join(scratch, `${name}.html`)];
    const first = await run(name, ...words, `out=${out}`, `page=${page}`);
    expect(first.code, first.text).toBe(0);
    expect(first.text).not.toMatch(/NaN|undefined/);
    const file = await readStudyFile(out);
    expect(file.setting).not.toHaveProperty('seeds');
    expect(file.rows.some(({ low, high }) => low !== null && high !== null && low < high)).toBe(true);
    expect(file.verdicts.map(({ verdict }) => verdict)).not.toContain('not measured');
    for (const { table } of file.tables) expect(file.rows.some((row) => row.table === table)).toBe(true);
    expect(readFileSync(page, 'utf8')).not.toContain('Seeds');
    if (name === 'light-states') {
      const again = await run(name, ...words, `check=${out}`);
      expect(again.text).toContain(`${file.rows.length} figures, reproduced`);
      expect(again.code).toBe(0);
    }
    const place = file.rows.findIndex(({ mean }) => mean !== null);
    const rows = file.rows.map((row, index) =>
      index === place ? { ...row, values: [9], mean: 9, low: 9, high: 9 } : row,
    );
    await writeStudyFile(out, { ...file, rows });
    const other = await run(name, ...words, `check=${out}`);
    expect(other.text).toContain(`${file.rows.length} figures, 1 of them differ`);
    expect(other.code).toBe(1);
  });
});

describe('what they do not understand', () => {
  it('is named: seeds where nothing is trained, a model where none is asked', {
    timeout: 120_000,
  }, async () => {
    const seeds = await run('policies', 'seeds=2');
    expect(seeds.code).toBe(3);
    expect(seeds.text).toContain('"seeds=2" is not understood by policies');
    const model = await run('light-states', `model=${host}`);
    expect(model.text).toContain('"model=');
    expect(model.code).toBe(3);
    const half = await run('policies', `data=${data}`);
    expect(half.text).toContain('data= and model= belong together');
    const night = await run('night-thresholds', `data=${data}`, `model=${host}`, 'night=midnight');
    expect(night.code).toBe(4);
    expect(night.text).toContain('its lights are night, dusk, day');
  });
});

it.skipIf(!longRuns)(
  `run on the sample world and say that it is weaker${longNote}`,
  { timeout: 900_000 },
  async () => {
    for (const name of ['policies', 'night-thresholds', 'light-states']) {
      const out = join(scratch, `${name}-world.json`);
      const { code, text } = await run(name, 'pictures=84', `out=${out}`);
      expect(text).toContain('this is weaker than real ones');
      expect(code).toBe(0);
      const { data: from, rows } = await readStudyFile(out);
      expect(from).toHaveLength(1);
      expect(from[0]?.kind).toBe('sample world');
      expect(from[0]?.host).toBe(name === 'light-states' ? undefined : 'edge-n-street.onnx');
      expect(rows.some(({ mean }) => mean !== null)).toBe(true);
    }
  },
);
