// `val` as a user calls it: the sample model on pictures of the sample world.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planTakes } from '../../samples/dataset/plan.ts';
import { writeDataset } from '../../samples/dataset/write.ts';
import { parseThresholdsFile } from '../../src/core/thresholds-file.ts';
import { runCli } from '../support/cli.ts';

const model = fileURLToPath(new URL('../../samples/model/edge-n-street.onnx', import.meta.url));

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'val-'));
  const takes = planTakes({ pictures: 16, cameras: 4, size: { width: 320, height: 192 }, seed: 5 });
  await writeDataset(join(folder, 'street'), takes, () => undefined);
  const names = 'names: [car, lorry, bus, bike, person]';
  await writeFile(join(folder, 'street/some.yaml'), `path: .\ntrain: images/train\n${names}\n`);
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const val = (...words: string[]) =>
  runCli(['val', `model=${model}`, 'data=street/data.yaml', 'split=train', 'threads=1', ...words], {
    cwd: folder,
  });

describe('val', () => {
  it('prints the habitual table and leaves figures, thresholds, plots and a page', async () => {
    const { code, stdout, stderr } = await val('save_json=True');
    expect(code, stderr).toBe(0);
    const [head, all] = stdout.split('\n');
    expect(head).toMatch(/Class +Images +Instances +Box\(P +R +mAP50 +mAP50-95\) +D-ECE +LaECE0/);
    const run = join(folder, 'runs/detect/val');
    const results = JSON.parse(await readFile(join(run, 'results.json'), 'utf8'));
    const { ap50, ap } = results.averagePrecision;
    expect(all!.trim().split(/ +/).slice(0, 7)).toEqual([
      'all',
      String(results.pictures),
      String(results.objects),
      results.averagePrecision.bestF1.precision.toFixed(3),
      results.averagePrecision.bestF1.recall.toFixed(3),
      ap50.toFixed(3),
      ap.toFixed(3),
    ]);
    expect(ap50).toBeGreaterThan(0.1);
    expect(await readdir(run)).toEqual(
      expect.arrayContaining([
        'F1_curve.png',
        'P_curve.png',
        'PR_curve.png',
        'R_curve.png',
        'confusion_matrix.png',
        'confusion_matrix_normalized.png',
        'predictions.json',
        'reliability.png',
        'report.html',
        'score_histogram.png',
        'sigma_calibration.png',
        'thresholds.json',
        'thresholds.png',
      ]),
    );
    const path = join(run, 'thresholds.json');
    const file = parseThresholdsFile(await readFile(path, 'utf8'), path);
    expect(file.modelSha256).toBe(results.model.modelSha256);
    const predicted = JSON.parse(await readFile(join(run, 'predictions.json'), 'utf8'));
    expect(predicted).toHaveLength(results.detections);
    const page = await readFile(join(run, 'report.html'), 'utf8');
    expect(page).toContain(ap50.toFixed(3));
    const loaded = await runCli(
      ['predict', `model=${model}`, 'source=street/images/train', `thresholds=${path}`, 'max_frames=2'],
      { cwd: folder },
    );
    expect(loaded.code, loaded.stderr).toBe(0);
  }, 180_000);

  it('prints the report as JSON, and joins classes where asked', async () => {
    const { code, stdout, stderr } = await val('single_cls=True', 'plots=False', 'json=True');
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ version: 1, classNames: ['object'] });
    expect(stderr).toContain('no thresholds.json: classes were mapped');
  }, 120_000);

  it('refuses a split that is not there and classes that do not fit, in words', async () => {
    const missing = await val('data=street/some.yaml', 'split=test');
    expect(missing.code).toBe(4);
    expect(missing.stderr).toMatch(/no test split with pictures[\s\S]*write split=/);
    const wrong = await val('class_map=car:lorries');
    expect(wrong.code).toBe(3);
    expect(wrong.stderr).toMatch(/the class map names "lorries"/);
    const pair = await val('class_map=car');
    expect(pair.code).toBe(3);
    expect(pair.stderr).toMatch(/'car' is not model-class:data-class/);
  }, 120_000);
});
