// The data set on demand, made as a user makes it: built, in a process of its own.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { planTakes } from '../../samples/dataset/plan.ts';
import { LIGHTS } from '../../samples/world/index.ts';

const scratch = mkdtempSync(join(tmpdir(), 'world-dataset-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function make(...words: readonly string[]) {
  const main = fileURLToPath(new URL('../../dist/samples/dataset/main.js', import.meta.url));
  return spawnSync(process.execPath, [main, ...words], { encoding: 'utf8' });
}

describe('the plan of a data set', () => {
  const size = { width: 320, height: 192 };

  it('gives every camera to one split, every split its cameras, and every light its pictures', () => {
    const takes = planTakes({ pictures: 500, cameras: 20, size, seed: 1 });
    expect(takes.flatMap(({ timesSeconds }) => timesSeconds)).toHaveLength(500);
    const splitsOf = new Map<number, Set<string>>();
    for (const { scene, split } of takes) {
      splitsOf.set(scene.camera, (splitsOf.get(scene.camera) ?? new Set()).add(split));
    }
    expect([...splitsOf.values()].every((splits) => splits.size === 1)).toBe(true);
    expect(new Set(takes.map(({ split }) => split))).toEqual(new Set(['train', 'val', 'test']));
    for (const split of ['train', 'val', 'test']) {
      const lights = takes.filter((take) => take.split === split).map(({ scene }) => scene.light);
      expect(new Set(lights)).toEqual(new Set(LIGHTS));
    }
  });
});

describe('the data set on demand', () => {
  it('writes a picture, its labels and a row for each moment, and says what it made', () => {
    const out = join(scratch, 'streets');
    const { status, stdout, stderr } = make(`out=${out}`, 'pictures=6', 'cameras=3', 'size=160x96', 'seed=2');
    expect(stderr).toBe('6/6 pictures\n');
    expect(status).toBe(0);
    expect(stdout).toContain('2 pictures to train, 2 to validate, 2 to test');
    const rows = readFileSync(join(out, 'frames.csv'), 'utf8').trimEnd().split('\n').slice(1);
    expect(rows).toHaveLength(6);
    for (const row of rows) {
      const [split, picture, , , , , , objects] = row.split(',') as string[];
      expect(readFileSync(join(out, 'images', split!, picture!)).subarray(0, 2)).toEqual(
        Buffer.of(0xff, 0xd8),
      );
      const labels = readFileSync(join(out, 'labels', split!, picture!.replace('.jpg', '.txt')), 'utf8');
      const lines = labels.split('\n').filter((line) => line !== '');
      expect(lines).toHaveLength(Number(objects));
      for (const line of lines) expect(line).toMatch(/^[0-4]( [01]\.\d{6}){4}$/);
    }
    const names = readdirSync(out, { recursive: true }) as string[];
    expect(names.filter((name) => name.endsWith('.part'))).toEqual([]);
    expect(readFileSync(join(out, 'data.yaml'), 'utf8')).toContain('  4: person\n');
    expect(make(`out=${out}`).stderr).toMatch(/holds a data set already/);
  });

  it('refuses what it does not understand, and says what to say', () => {
    const { status, stderr } = make('out=x', 'picture=5');
    expect(status).toBe(2);
    expect(stderr).toMatch(/no option 'picture'\nsay out=FOLDER/);
  });
});
