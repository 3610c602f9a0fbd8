// A run that was stopped and resumed is the run that was never stopped, to the last bit; another run is refused.
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TrainRequest } from '../../training/options.ts';
import { resumeRun } from '../../training/run/resume.ts';
import { RunFolder } from '../support/run-folder.ts';
import {
  LIVELY,
  ownModelBytes,
  STOPPED,
  type TrainingOutcome,
  trainToEnd,
  withoutTime,
} from '../support/training-runs.ts';
import { SHAPE_NAMES, writeDataYaml, writeShapeSet } from '../support/training-sets.ts';

let folder: RunFolder;
let model: string;
let data: string;

beforeAll(async () => {
  folder = new RunFolder();
  model = await folder.write('own.onnx', ownModelBytes(SHAPE_NAMES));
  // Six pictures in batches of four: the last batch of every epoch is a smaller one.
  data = await writeShapeSet(folder.join('set'), { train: 6, val: 3 });
});

afterAll(() => folder.remove());

/** Stops in the middle of an epoch (from 1). */
function stopIn(epoch: number) {
  return (event: { readonly type: string; readonly epoch?: number }) =>
    event.type === 'step' && event.epoch === epoch - 1;
}

async function expectSameRun(request: TrainRequest, name: string): Promise<void> {
  const whole = await trainToEnd(request, { folder: folder.join(name, 'whole') });
  const place = folder.join(name, 'stopped');
  await expect(trainToEnd(request, { folder: place, onEvent: stopIn(4) })).rejects.toBe(STOPPED);
  const resumed = await resumeRun(place);
  const rest = await trainToEnd(resumed.request, { folder: resumed.folder, resumeFrom: resumed.statePath });
  expect(rest.rows.map((row) => row['epoch'])).toEqual([4, 5, 6]);
  expect(withoutTime(rest.rows)).toEqual(withoutTime(whole.rows.slice(3)));
  await expectSameWeights(whole, rest);
  for (const file of ['weights/last.onnx', 'weights/best.onnx']) {
    const [a, b] = await Promise.all(
      ['whole', 'stopped'].map((run) => readFile(folder.join(name, run, file))),
    );
    expect(a!.equals(b!)).toBe(true);
  }
  const [a, b] = await Promise.all(
    ['whole', 'stopped'].map((run) => readFile(folder.join(name, run, 'results.csv'), 'utf8')),
  );
  const blind = (text: string) => text.replaceAll(/^(\d+),[^,]*/gm, '$1');
  expect(blind(b!)).toBe(blind(a!));
}

/** Weights, their average, and the memory of the optimiser. */
async function expectSameWeights(a: TrainingOutcome, b: TrainingOutcome): Promise<void> {
  const [whole, resumed] = [await a.state(), await b.state()];
  expect([...resumed.arrays.keys()]).toEqual([...whole.arrays.keys()]);
  for (const [name, values] of whole.arrays) {
    expect(Buffer.from(values.buffer).equals(Buffer.from(resumed.arrays.get(name)!.buffer)), name).toBe(true);
  }
  const { request, seconds, rows, ...header } = whole.header;
  expect(resumed.header).toMatchObject(header);
}

describe('a run that is stopped in the middle of epoch 4 of 6 and resumed', () => {
  it('ends in the same bits: head on cached features, AdamW, dropout', async () => {
    await expectSameRun({ data, model, epochs: 6, batch: 4, dropout: 0.2, variants: 2 }, 'cached');
  }, 60_000);

  it('ends in the same bits: whole net from pictures, SGD, mosaic, dusk and cutout', async () => {
    const size = { width: 64, height: 64 };
    await expectSameRun(
      { data, model: 'edge-n', imageSize: size, epochs: 6, batch: 4, optimizer: 'sgd', augment: LIVELY },
      'scratch',
    );
  }, 90_000);
});

describe('resume=', () => {
  let request: TrainRequest;

  beforeAll(async () => {
    request = { data, model, epochs: 2, batch: 4, variants: 0 };
    await trainToEnd(request, { folder: folder.join('done') });
  }, 60_000);

  const done = () => folder.join('done');

  it('says that a finished run is finished, and how to go on', async () => {
    await expect(resumeRun(done())).rejects.toMatchObject({
      message: expect.stringMatching(/this run is complete: 2 of 2 epochs are done/),
      hint: expect.stringMatching(/epochs=4.*weights\/best\.onnx/),
    });
    await expect(resumeRun(done(), { epochs: 1 })).rejects.toMatchObject({
      hint: expect.stringMatching(/epochs=4/),
    });
  });

  it('extends a finished run', async () => {
    const place = folder.join('extended');
    await trainToEnd(request, { folder: place });
    const { request: longer, statePath } = await resumeRun(place, { epochs: 4 });
    const rest = await trainToEnd(longer, { folder: place, resumeFrom: statePath });
    expect(rest.rows.map((row) => row['epoch'])).toEqual([3, 4]);
    const lines = (await readFile(`${place}/results.csv`, 'utf8')).trim().split('\n').slice(1);
    expect(lines.map((line) => line.split(',')[0])).toEqual(['1', '2', '3', '4']);
  }, 60_000);

  it('says that a run has lost patience, and goes on with more of it', async () => {
    const place = folder.join('patience');
    const stuck = { ...request, epochs: 9, patience: 1, lr0: 0 };
    const noVal = await writeShapeSet(folder.join('noval'), { train: 4 });
    const run = await trainToEnd({ ...stuck, data: noVal }, { folder: place });
    expect(run.events.at(-2)).toMatchObject({ type: 'stopped', reason: 'patience' });
    expect(run.rows.length).toBeLessThan(9);
    await expect(resumeRun(place)).rejects.toMatchObject({
      message: expect.stringMatching(/this run is over: none of the last 1 epochs was better than epoch \d/),
      hint: expect.stringMatching(/patience=2 or patience=0/),
    });
    expect((await resumeRun(place, { patience: 0 })).request.patience).toBe(0);
  }, 60_000);

  it('refuses a data set with other classes before anything is computed', async () => {
    const { request: same, statePath } = await resumeRun(done(), { epochs: 4 });
    await writeDataYaml(folder.join('set'), { classNames: ['square', 'disc', 'rod'], val: true });
    try {
      const events: string[] = [];
      const onEvent = ({ type }: { type: string }) => events.push(type) < 0;
      await expect(
        trainToEnd(same, { folder: done(), resumeFrom: statePath, onEvent }),
      ).rejects.toMatchObject({
        exitCode: 3,
        message: expect.stringMatching(/classNames \["square","disc","bar"\], and now it is .*"rod"/),
      });
      expect(events).not.toContain('caching');
    } finally {
      await writeDataYaml(folder.join('set'), { classNames: SHAPE_NAMES, val: true });
    }
  });

  it('refuses a model file that has become another', async () => {
    const { request: same, statePath } = await resumeRun(done(), { epochs: 4 });
    const before = await readFile(model);
    await writeFile(model, ownModelBytes(SHAPE_NAMES, { seed: 6 }));
    try {
      await expect(trainToEnd(same, { folder: done(), resumeFrom: statePath })).rejects.toMatchObject({
        message: expect.stringMatching(/the run to resume has start "[0-9a-f]{64}", and now it is/),
      });
    } finally {
      await writeFile(model, before);
    }
  });

  it('refuses a folder without a run, and a damaged checkpoint', async () => {
    await expect(resumeRun(folder.join('set'))).rejects.toMatchObject({
      message: expect.stringMatching(/there is no weights\/last\.state/),
    });
    const bytes = await readFile(folder.join('done', 'weights', 'last.state'));
    const damaged = await folder.write('damaged/weights/last.state', bytes.subarray(0, bytes.length - 100));
    await expect(resumeRun(damaged)).rejects.toMatchObject({
      message: expect.stringMatching(/the checkpoint is damaged/),
    });
  });
});
