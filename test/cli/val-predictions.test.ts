// `val predictions=` as a user calls it: no model is run, and the table is the habitual one.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultsOfRefusal, RunFolder, solidPng } from '../support/run-folder.ts';

const folder = new RunFolder();

beforeAll(async () => {
  for (const [stem, label] of [
    ['a', '0 0.5 0.5 0.5 0.5\n'],
    ['b', '1 0.25 0.25 0.5 0.5\n'],
  ] as const) {
    await folder.write(`set/images/${stem}.png`, await solidPng({ width: 64, height: 64 }, [9, 9, 9]));
    await folder.write(`set/labels/${stem}.txt`, label);
  }
  await folder.write('set/data.yaml', 'train: images\nval: images\nnames: [car, bus]\n');
  await folder.write('dets/a.txt', '0 0.5 0.5 0.5 0.5 0.9\n1 0.5 0.5 0.5 0.5 0.2\n');
});
afterAll(() => folder.remove());

const YOLO = ['predictions=dets', 'predictions_box=cxcywhn', 'predictions_score=last', 'names=car,bus'];
const val = (...words: string[]) => folder.run(['val', 'data=set/data.yaml', ...words]);

describe('val predictions=', () => {
  it('prints the table and writes figures, a page and COCO results that give the same table again', async () => {
    const { code, stdout, stderr } = await val(...YOLO, 'save_json=True');
    expect(code, stderr).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[1]?.trim().split(/ +/).slice(0, 3)).toEqual(['all', '2', '2']);
    expect(stdout).toMatch(/^ +car +1 +1 +1\.000 +1\.000/m);
    expect(stdout).toContain('split val, 2 detections of dets; P and R');
    expect(stdout).toContain('the detections state no variance of their score');
    expect(stderr).toContain('note: dets has no detections in 1 of 2 pictures');
    expect(stderr).toContain('no thresholds.json: the detections come from a file');
    const run = folder.join('runs/detect/val');
    const results = JSON.parse(await readFile(`${run}/results.json`, 'utf8'));
    expect(results).toMatchObject({ predictions: { source: 'dets', format: 'text' }, detections: 2 });
    expect(results).not.toHaveProperty('model');
    expect(await readFile(`${run}/report.html`, 'utf8')).toContain('dets on data.yaml');
    const again = await val(`predictions=${run}/predictions.json`, 'names=set/data.yaml', 'plots=False');
    expect(again.code, again.stderr).toBe(0);
    expect(again.stdout.split('\n').slice(0, 4)).toEqual(lines.slice(0, 4));
  });

  it('goes with neither a model nor the options of one, and says what a row does not', async () => {
    const both = await val('model=x.onnx', ...YOLO);
    expect(faultsOfRefusal(both, 3)).toEqual([]);
    expect(both.stderr).toContain('val takes one of model= or predictions=, not both');
    expect((await val()).stderr).toContain('val takes one of model= or predictions=');
    const odd = await val(...YOLO, 'iou=0.5');
    expect(faultsOfRefusal(odd, 3)).toEqual([]);
    expect(odd.stderr).toContain('iou= says how a model is run');
    expect((await val('model=x.onnx', 'names=car')).stderr).toContain('names= goes with predictions=');
    const unsaid = await val('predictions=dets');
    expect(faultsOfRefusal(unsaid, 3)).toEqual([]);
    expect(unsaid.stderr).toContain('predictions_box= and predictions_score= must');
    const nameless = await val(...YOLO.slice(0, 3));
    expect(nameless.stderr).toContain('class 0');
    await folder.write('other/z.txt', '0 0.5 0.5 0.5 0.5 0.9\n');
    const unknown = await val(...YOLO, 'predictions=other');
    expect(faultsOfRefusal(unknown, 4)).toEqual([]);
    expect(unknown.stderr).toContain('no picture z in set/data.yaml');
  });
});
