// `calibrate` as users run it: the table, the file, and what the next command makes of it.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { standInQualityDetector } from '#onnx';
import { writeLightSet } from '../support/light-set.ts';
import { faultsOfRefusal, RunFolder } from '../support/run-folder.ts';

const folder = new RunFolder();

beforeAll(async () => {
  await folder.writeModel('own.onnx', standInQualityDetector({ width: 320, height: 192 }));
  const set = (name: string, className: string) =>
    writeLightSet(folder.join(name), { pictures: 24, className, brightness: [90, 230], unlabelled: 0.3 });
  await set('lights', 'light');
  await set('lamps', 'lamp');
});
afterAll(() => folder.remove());

describe('calibrate', () => {
  it('writes a model whose scores mean something else, and says how well', { timeout: 60_000 }, async () => {
    const { code, stdout, stderr } = await folder.run([
      'calibrate',
      'model=own.onnx',
      'data=lights/data.yaml',
    ]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('own-calibrated.onnx')]);
    expect(stdout).toMatch(/judged on each of 3 cameras/);
    expect(stdout).toMatch(/^ +LaECE0 +0\.\d{4} +0\.\d{4} /m);
    expect(stdout).toMatch(/^ +light +\d+/m);
    const words = ['source=lights/images/cam0-000.png', 'conf=0.01'];
    const raw = await folder.predict('model=own.onnx', ...words);
    const calibrated = await folder.predict('model=own-calibrated.onnx', ...words);
    expect(calibrated.stderr).toMatch(/scores are calibrated \(beta/);
    expect(calibrated.lines[0]?.detections[0]?.confidence).not.toBeCloseTo(
      raw.lines[0]?.detections[0]?.confidence ?? 0,
      2,
    );
    const other = await folder.run(['predict', 'model=own-calibrated.onnx', ...words, 'nms=uncertainty']);
    expect(faultsOfRefusal(other, 3)).toEqual([]);
  });

  it('prints JSON, and draws nothing where plots are off', { timeout: 60_000 }, async () => {
    const words = [
      'model=own.onnx',
      'data=lights',
      'target=correct',
      'method=platt',
      'plots=False',
      'json=True',
    ];
    const { code, stdout } = await folder.run([
      'calibrate',
      ...words,
      'out=c.onnx',
      'groups=none',
      'folds=3',
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      method: 'platt',
      target: 'correct',
      out: 'c.onnx',
      judgedOn: { groupedBy: 'picture', folds: 3 },
    });
  });

  it('writes thresholds that promise something, and the model that it wrote runs with them', {
    timeout: 60_000,
  }, async () => {
    const names = Array.from({ length: 24 }, (_, at) => `cam${at % 3}-${String(at).padStart(3, '0')}.png`);
    const rows = names.map((name, at) => `${name},${at < 12 ? 'day' : 'dusk'}`);
    await folder.write('lights/frames.csv', `file,period\n${rows.join('\n')}\n`);
    const words = ['model=own.onnx', 'data=lights', 'out=promising.onnx', 'name=promise'];
    const { code, stdout, stderr } = await folder.run([
      'calibrate',
      ...words,
      ...['conformal=recall:0.7', 'by=frames.csv:period'],
    ]);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/thresholds in \S+thresholds\.json/)]);
    expect(stdout).toMatch(/each threshold promises: misses at most 30 % of the objects \(IoU >= 0\.5\)/);
    expect(stdout).toMatch(/^ +all +light +\d+ +\d+ +0\.\d{4} +0\.\d{4} +[01]\.\d{3} +\d+$/m);
    expect(stdout).toMatch(/^ +dusk +light /m);
    const path = folder.join('runs', 'detect', 'promise', 'thresholds.json');
    const file = JSON.parse(await readFile(path, 'utf8'));
    expect(file).toMatchObject({ score: 'calibrated', conformal: { target: 'object-recall', iou: 0.5 } });
    expect(file.conformal.alpha).toBeCloseTo(0.3, 12);
    expect(Object.keys(file.conditions)).toEqual(['day', 'dusk']);
    const run = ['source=lights/images/cam0-000.png', `thresholds=${path}`, 'condition=dusk'];
    const { stderr: said } = await folder.predict('model=promising.onnx', ...run);
    expect(said).toMatch(/misses at most 30 % .* pictures of 'dusk' and no others/);
    const page = await readFile(folder.join('runs', 'detect', 'promise', 'report.html'), 'utf8');
    expect(page).toMatch(/Conformal thresholds/);
    const none = await folder.run([
      'calibrate',
      ...words,
      ...['exist_ok=True', 'plots=False', 'conformal=recall:0.99', 'json=True'],
    ]);
    const why = /no thresholds file: nothing can be promised/;
    expect([none.code, none.stderr]).toEqual([0, expect.stringMatching(why)]);
    expect(JSON.parse(none.stdout).conformal.verdicts[0]).toMatchObject({
      threshold: null,
      why: expect.stringMatching(/it needs 99 objects/),
    });
  });

  it('refuses what it cannot do', { timeout: 60_000 }, async () => {
    const faults: string[] = [];
    for (const [words, code, says] of [
      [['data=lamps'], 4, /labelled with lamp/],
      [['data=lamps', 'class_map=light:lamp', 'out=c.json'], 3, /into a \.onnx file/],
      [['data=lights', 'method=plat'], 3, /did you mean method=platt/],
      [['data=lights', 'groups=camera', 'folds=9'], 4, /9 folds/],
      [['data=lights', 'conformal=recal:0.8'], 3, /write conformal=recall:0\.8/],
      [['data=lights', 'conformal=precision:1'], 3, /share between 0 and 1/],
      [['data=lights', 'conformal=recall:0.8', 'delta=0.1'], 3, /delta= has no effect/],
      [['data=lights', 'conformal=recall:0.8', 'by=sun'], 3, /neither TABLE\.csv:COLUMN nor light/],
      [['data=lights', 'by=light'], 3, /acts with conformal=/],
    ] as const) {
      const result = await folder.run(['calibrate', 'model=own.onnx', ...words]);
      faults.push(...faultsOfRefusal(result, code), ...(says.test(result.stderr) ? [] : [result.stderr]));
    }
    expect(faults).toEqual([]);
  });
});
