// `calibrate` as users run it: the table, the file, and what the next command makes of it.
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

  it('refuses what it cannot do', { timeout: 60_000 }, async () => {
    const faults: string[] = [];
    for (const [words, code, says] of [
      [['data=lamps'], 4, /labelled with lamp/],
      [['data=lamps', 'class_map=light:lamp', 'out=c.json'], 3, /into a \.onnx file/],
      [['data=lights', 'method=plat'], 3, /did you mean method=platt/],
      [['data=lights', 'groups=camera', 'folds=9'], 4, /9 folds/],
    ] as const) {
      const result = await folder.run(['calibrate', 'model=own.onnx', ...words]);
      faults.push(...faultsOfRefusal(result, code), ...(says.test(result.stderr) ? [] : [result.stderr]));
    }
    expect(faults).toEqual([]);
  });
});
