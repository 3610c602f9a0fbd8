// The frame of the studies: intervals, files that can be compared, and a check that can fail.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  differencesFrom,
  formatStudyFile,
  parseStudyFile,
  readStudyFile,
  resampledRow,
  STUDENT_INTERVAL,
  type StudyFile,
  type StudyRow,
  seedRow,
  studentQuantile,
  writeStudyFile,
} from '../../samples/studies/common/study-file.ts';
import { cellOf, studyPage } from '../../samples/studies/common/study-page.ts';
import { believePage } from '../../samples/studies/what-to-believe/page.ts';

const scratch = mkdtempSync(join(tmpdir(), 'study-frame-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const place = { table: 'main', row: 'a', figure: 'ece' };

function fileOf(rows: readonly StudyRow[], more: Partial<StudyFile> = {}): StudyFile {
  return {
    study: 'tiny',
    question: 'Is it so?',
    data: [{ name: 'world', kind: 'sample world', host: 'h.onnx', weaker: 'rendered' }],
    setting: { seeds: 5 },
    interval: STUDENT_INTERVAL,
    tables: [
      {
        table: 'main',
        title: 'Main figures',
        text: 'How to read it.',
        columns: [{ figure: 'ece', title: 'ECE', plot: 'lower is better' }],
      },
    ],
    rows,
    verdicts: [{ claim: 'c < d', source: 'a note', verdict: 'holds in part', because: 'x', default: 'y' }],
    cost: { seconds: 60, cpuSeconds: 30 },
    ...more,
  };
}

describe('a row over seeds', () => {
  it("has the interval of Student's t", () => {
    // Mean 3, s = sqrt(2.5), n = 5: half width 2.7764 · sqrt(2.5 / 5).
    const { mean, low, high } = seedRow(place, [1, 2, 3, 4, 5]);
    expect(mean).toBe(3);
    expect(high! - 3).toBeCloseTo(2.7764 * Math.sqrt(0.5), 12);
    expect(3 - low!).toBeCloseTo(2.7764 * Math.sqrt(0.5), 12);
  });

  it('takes quantiles that tables print', () => {
    expect(studentQuantile(1)).toBe(12.7062);
    expect(studentQuantile(21)).toBeCloseTo(2.0796, 3);
    expect(studentQuantile(100)).toBeCloseTo(1.984, 3);
  });

  it('leaves out what was not measured', () => {
    expect(seedRow(place, [null, 2])).toMatchObject({ mean: 2, low: 2, high: 2, values: [null, 2] });
    expect(seedRow(place, [null])).toMatchObject({ mean: null, low: null, high: null });
    expect(seedRow(place, [Number.NaN])).toMatchObject({ mean: null });
  });
});

describe('check', () => {
  const committed = fileOf([
    seedRow(place, [0.1, 0.2, 0.3]),
    resampledRow({ ...place, row: 'b' }, 0.5, [0.4, 0.6]),
  ]);
  const changed = (row: string, mean: number) => ({
    ...committed,
    rows: committed.rows.map((one) => (one.row === row ? { ...one, mean, values: [mean] } : one)),
  });

  it('finds nothing in what reproduces, through the file', async () => {
    const path = join(scratch, 'results.json');
    await writeStudyFile(path, committed);
    expect(differencesFrom(await readStudyFile(path), committed)).toEqual([]);
    expect(differencesFrom(committed, changed('b', 0.59))).toEqual([]);
  });

  it('goes red for a figure outside its interval, and names it', () => {
    expect(differencesFrom(committed, changed('b', 0.61))).toEqual([
      'main / b / ece: 0.5 (0.3995 to 0.6005), now 0.61',
    ]);
  });

  it('goes red for figures that appear or vanish, another setting, and other data', () => {
    const fewer = { ...committed, rows: committed.rows.slice(1) };
    expect(differencesFrom(committed, fewer)).toEqual(['main / a / ece: is no longer there']);
    expect(differencesFrom(fewer, committed)).toEqual(['main / a / ece: is new']);
    expect(differencesFrom(committed, { ...committed, setting: { seeds: 1 } })).toEqual([
      'setting seeds: 5, now 1',
    ]);
    const real = { ...committed, data: [{ name: 'lta', kind: 'real' as const, host: 'h.onnx' }] };
    expect(differencesFrom(real, committed)[0]).toMatch(/^data: lta \(real, h.onnx\), now world/);
    const nothing = { ...committed, rows: committed.rows.map((row) => ({ ...row, mean: null })) };
    expect(differencesFrom(committed, nothing)).toHaveLength(2);
  });

  it('refuses what is no result of a study', async () => {
    await expect(readStudyFile(join(scratch, 'absent.json'))).rejects.toThrow(/cannot be read as JSON/);
  });
});

describe('the page', () => {
  it('says verdicts, weaker data and every figure, from the JSON alone', { timeout: 120_000 }, async () => {
    const file = parseStudyFile(formatStudyFile(fileOf([seedRow(place, [0.1, 0.2, 0.3])])), 'text');
    const html = await studyPage(file);
    expect(html).toContain('holds in part');
    expect(html).toContain('world: rendered.');
    expect(html).toContain('.200 (−.048 to .448)');
    expect(html).toContain('<svg');
    expect(cellOf({ figure: 'ece', title: '' }, [])).toBe('–');
    expect(html).toContain('Seeds');
    expect(await studyPage({ ...file, setting: {} })).not.toContain('Seeds');
  });
});

it('what to believe says of a study without seeds that nothing is trained', () => {
  const rows = [seedRow(place, [1])];
  expect(believePage([fileOf(rows)])).toContain('\n5 seeds; world, host h.onnx, rendered; 1 minutes of CPU.');
  expect(believePage([fileOf(rows, { setting: {} })])).toContain('\nno seeds: nothing is trained; world');
});
