// The studies as a user runs them, on a tiny set and a host with random weights: what they say is no science here, but
// it must be complete, and calibration must never be judged by the camera that it was fitted on.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrateScore, fitPlatt } from '#core';
import { serialize } from '#onnx';
import { crossCalibrated } from '../../samples/studies/common/cross-fit.ts';
import type { HeldOut } from '../../samples/studies/common/hold-out.ts';
import { bestBoxes } from '../../samples/studies/common/quality-figures.ts';
import { formTables } from '../../samples/studies/common/seeded-tables.ts';
import { differenceOf } from '../../samples/studies/common/seeded-verdicts.ts';
import { readStudyFile } from '../../samples/studies/common/study-file.ts';
import { gradedBy, isAbove, isBelow } from '../../samples/studies/common/verdict-rules.ts';
import { runStudy } from '../support/study-runs.ts';
import { tinyHost } from '../support/tiny-hosts.ts';
import { writeShapeSet } from '../support/training-sets.ts';

const scratch = mkdtempSync(join(tmpdir(), 'studies-'));
const host = join(scratch, 'host.onnx');
const data = join(scratch, 'set', 'data.yaml');

beforeAll(async () => {
  writeFileSync(host, serialize(tinyHost('yolox')));
  await writeShapeSet(join(scratch, 'set'), { train: 16 });
  nameCameras(join(scratch, 'set'), 4);
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** `train005.png` becomes `c1-train005.png`, its label too. */
function nameCameras(folder: string, cameras: number): void {
  for (const kind of ['images', 'labels']) {
    const names = readdirSync(join(folder, kind, 'train')).sort();
    for (const [index, name] of names.entries()) {
      const path = join(folder, kind, 'train');
      renameSync(join(path, name), join(path, `c${index % cameras}-${name}`));
    }
  }
}

describe('a study', () => {
  const quick = ['seeds=2', 'epochs=1', 'variants=0'];

  it('runs arms under every seed, and a second run reproduces its file', { timeout: 300_000 }, async () => {
    const [out, page] = [join(scratch, 'losses.json'), join(scratch, 'losses.html')];
    const words = [`data=${data}`, `model=${host}`, ...quick, 'arms=DFL + CE,published'];
    const { code, stdout, stderr } = await runStudy('losses', [...words, `out=${out}`, `page=${page}`]);
    expect(stderr).toMatch(/seed 0, held out c0 c1, DFL \+ CE: AP50/);
    expect(stderr).toMatch(/seed 1, held out c2 c3, published: AP50/);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\| published +\| /m);
    const { setting, data: from, rows } = await readStudyFile(out);
    expect(setting).toMatchObject({ seeds: 2, epochs: 1, arms: 'DFL + CE, published' });
    expect(from).toEqual([{ name: 'set', kind: 'given', host: 'host.onnx' }]);
    for (const arm of ['DFL + CE', 'published']) {
      const ap50 = rows.find(
        ({ table, row, figure }) => `${table} ${row} ${figure}` === `losses ${arm} ap50`,
      );
      expect(ap50?.values).toHaveLength(2);
      expect(ap50?.mean).toBeGreaterThanOrEqual(0);
    }
    expect(rows.filter(({ table }) => table.includes('minus')).map(({ row }) => row)).toContain('published');
    expect(readFileSync(page, 'utf8')).toContain('minus DFL + CE');
    const again = await runStudy('losses', [...words, `check=${out}`]);
    expect(again.stdout).toContain('reproduced');
    expect(again.code).toBe(0);
    const fewer = await runStudy('losses', [...words.slice(0, -1), 'arms=published', `check=${out}`]);
    expect(fewer.stdout).toMatch(/differs: losses \/ DFL \+ CE \/ ap50: is no longer there/);
    expect(fewer.code).toBe(1);
  });

  it('judges a head beside its host, one class and several', { timeout: 300_000 }, async () => {
    const out = join(scratch, 'held-out.json');
    const { code, stderr } = await runStudy('held-out-cameras', [
      `data=${data}`,
      `model=${host}`,
      // The tiny host has no names of its own.
      'map=class 0:square,class 1:disc,class 2:bar',
      ...quick,
      `out=${out}`,
    ]);
    expect(code, stderr).toBe(0);
    const { rows, verdicts } = await readStudyFile(out);
    for (const row of ['one class', 'classes of the data']) {
      const [host, ours, gain] = ['host', 'ours', 'gain'].map((figure) =>
        rows.find((one) => one.table === 'gain' && one.row === row && one.figure === figure),
      );
      expect(gain?.values).toHaveLength(2);
      expect(gain!.mean).toBeCloseTo(ours!.mean! - host!.mean!, 4);
    }
    expect(verdicts).toHaveLength(2);
  });

  it('says what it does not understand', { timeout: 60_000 }, async () => {
    const wrongKey = await runStudy('losses', [`data=${data}`, `model=${host}`, 'sedes=3']);
    expect(wrongKey.code).toBe(3);
    expect(wrongKey.stderr).toContain('did you mean seeds=');
    const wrongArm = await runStudy('losses', [`data=${data}`, `model=${host}`, 'arms=MSE']);
    expect(wrongArm.code).toBe(3);
    expect(wrongArm.stderr).toContain('this study has DFL + CE, ');
    const missing = await runStudy('losses', [`model=${host}`]);
    expect(missing.stderr).toContain('data= and model= belong together');
  });

  it('needs cameras that it can hold out', { timeout: 60_000 }, async () => {
    const folder = join(scratch, 'two');
    mkdirSync(folder);
    await writeShapeSet(folder, { train: 4 });
    nameCameras(folder, 2);
    const { code, stderr } = await runStudy('losses', [`data=${join(folder, 'data.yaml')}`, `model=${host}`]);
    expect(code).toBe(4);
    expect(stderr).toContain('2 groups of pictures, a study holds out 2');
  });
});

describe('what a study sums up', () => {
  const run = (row: string, seed: number, ap: number | null) => ({
    table: 'arms',
    row,
    seed,
    figures: { ap },
  });
  const found = {
    seeds: 3,
    measured: [run('a', 0, 0.2), run('b', 0, 0.3), run('a', 1, 0.6), run('b', 1, 0.5), run('b', 2, null)],
  };
  const columns = [{ figure: 'ap', title: 'AP' }];
  const form = { table: 'arms', title: 'Arms', section: 'Arms', text: '', columns };

  it('gives a value per seed, and differences under the same seed', () => {
    const [own, differences] = formTables(found, { ...form, base: 'a' });
    expect(own?.rows.map(({ row, values, mean }) => ({ row, values, mean }))).toEqual([
      { row: 'a', values: [0.2, 0.6, null], mean: 0.4 },
      { row: 'b', values: [0.3, 0.5, null], mean: 0.4 },
    ]);
    expect(differences?.rows).toHaveLength(1);
    const [first, second, third] = differences!.rows[0]!.values;
    expect([first, second]).toEqual([expect.closeTo(0.1, 12), expect.closeTo(-0.1, 12)]);
    expect(third).toBeNull();
  });

  it('concludes nothing from a single seed, or where 0 lies in the interval', () => {
    const minusA = differenceOf(found, 'arms', ['b', 'a'], 'ap');
    expect([isAbove(minusA), isBelow(minusA)]).toEqual([false, false]);
    const alone = differenceOf({ seeds: 1, measured: found.measured }, 'arms', ['b', 'a'], 'ap');
    expect(isAbove(alone)).toBe(false);
    expect(gradedBy([alone], isAbove)).toBe('not measured');
    const sure = { values: [0.1, 0.2], mean: 0.15, low: 0.05, high: 0.25 };
    expect(gradedBy([sure, minusA], isAbove)).toBe('holds in part');
  });
});

describe('calibration across cameras', () => {
  // Camera a: every box is an object. Camera b: one in four is. Scores vary with the place, so that maps have a slope.
  const size = { width: 400, height: 400 };
  const boxAt = (place: number) => ({ x1: 10 + 40 * (place % 8), y1: 10, x2: 40 + 40 * (place % 8), y2: 40 });
  const scoreAt = (place: number) => 0.1 + 0.09 * place;
  const isObject = (camera: string, place: number) => (camera === 'a' ? place !== 2 : place % 4 === 3);
  const places = [0, 1, 2, 3, 4, 5, 6, 7];
  const pictures = ['a', 'a', 'a', 'b', 'b', 'b'].map((camera, index) => ({
    path: `/${camera}-${index}.jpg`,
    id: index,
    objects: places
      .filter((place) => isObject(camera, place))
      .map((place) => {
        const { x1, y1, x2, y2 } = boxAt(place);
        const box = { x1: x1 / 400, y1: y1 / 400, x2: x2 / 400, y2: y2 / 400 };
        return { classId: 0, ...box, crowd: false, difficult: false };
      }),
  }));
  const heldOut: HeldOut = { groups: ['a', 'b'], file: '', classNames: ['car'], pictures };
  const predictions = {
    classNames: ['car'],
    pictures: pictures.map(() => ({
      size,
      detections: [...places.map((place) => [place, scoreAt(place)] as const), [7, 0.005] as const].map(
        ([place, score]) => ({
          box: { ...boxAt(place) },
          classId: 0,
          className: 'car',
          score,
          rawScore: score,
        }),
      ),
    })),
  } as unknown as Parameters<typeof crossCalibrated>[1];

  const mapOf = (camera: string) => {
    const rows = [0, 1, 2].flatMap(() => places);
    return fitPlatt(
      rows.map(scoreAt),
      rows.map((place) => Number(isObject(camera, place))),
    )!;
  };

  it('sends the boxes of each camera through the map of the other, and leaves out the least scores', () => {
    const { detections } = crossCalibrated(heldOut, predictions, 'correct');
    expect(detections.scores).toHaveLength(6 * places.length);
    pictures.forEach(({ path }, picture) => {
      const other = mapOf(path.startsWith('/a') ? 'b' : 'a');
      for (const place of places) {
        expect(detections.scores[8 * picture + place]).toBeCloseTo(calibrateScore(other, scoreAt(place)), 9);
      }
    });
  });

  it('takes the best boxes of all pictures together, in their order', () => {
    const best = bestBoxes(predictions, 15);
    expect(best.pictures).toHaveLength(6);
    // The two best places of all six pictures, and the third of the first three.
    expect(best.pictures.map(({ detections }) => detections.map(({ score }) => score.toFixed(2)))).toEqual([
      ...Array.from({ length: 3 }, () => ['0.55', '0.64', '0.73']),
      ...Array.from({ length: 3 }, () => ['0.64', '0.73']),
    ]);
  });
});
