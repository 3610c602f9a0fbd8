// What real data and bad luck do to a training: it goes on where it can, stops in words where it cannot, and never
// puts numbers that are none into a file.
import { mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openModel } from '#runtime';
import { loadCheckpoint } from '../../training/checkpoint.ts';
import type { Engine } from '../../training/engines/engine.ts';
import type { TrainRequest } from '../../training/options.ts';
import type { RunEvent } from '../../training/train.ts';
import { RunFolder } from '../support/run-folder.ts';
import { ownModelBytes, trainToEnd } from '../support/training-runs.ts';
import {
  SHAPE_NAMES,
  writeDataYaml,
  writeFlatPicture,
  writeLabels,
  writeShapeSet,
} from '../support/training-sets.ts';

let folder: RunFolder;
let model: string;
let single: string;

beforeAll(async () => {
  folder = new RunFolder();
  model = await folder.write('own.onnx', ownModelBytes(SHAPE_NAMES));
  single = await folder.write('single.onnx', ownModelBytes(['thing']));
});

afterAll(() => folder.remove());

function request(data: string, more: Partial<TrainRequest> = {}): TrainRequest {
  return { data, model, epochs: 2, batch: 4, variants: 0, ...more };
}

async function expectNumbersOnly(run: string): Promise<void> {
  const text = await readFile(folder.join(run, 'results.csv'), 'utf8');
  expect(text).not.toMatch(/nan|infinity/i);
}

/** Gives outputs that are not numbers at the training steps (from 1) that `isBroken` names. */
function breaking(isBroken: (step: number) => boolean): (engine: Engine) => Engine {
  let step = 0;
  return (engine) => ({
    ...engine,
    async forward(inputs, parameters, options) {
      const result = await engine.forward(inputs, parameters, options);
      if (options.mode === 'train' && isBroken(++step)) {
        for (const { data } of result.outputs.values()) data.fill(Number.NaN);
      }
      return result;
    },
  });
}

const skippedOf = (events: readonly RunEvent[]) => events.filter(({ type }) => type === 'skipped');

describe('a loss that is not a number', () => {
  let data: string;

  beforeAll(async () => {
    data = await writeShapeSet(folder.join('eight'), { train: 8, val: 2 });
  });

  it('costs its step alone: skipped, counted, and the run goes on', async () => {
    const run = await trainToEnd(request(data), {
      folder: folder.join('one-nan'),
      wrapEngine: breaking((step) => step === 2),
    });
    expect(skippedOf(run.events)).toMatchObject([{ epoch: 0, step: 2, names: { length: 4 } }]);
    expect(run.rows.map((row) => row['skipped_steps'])).toEqual([1, 0]);
    expect(run.events.filter(({ type }) => type === 'step')).toHaveLength(3);
    await expectNumbersOnly('one-nan');
  });

  it('leaves weights and optimiser as they were', async () => {
    const broken = await trainToEnd(request(data, { epochs: 1 }), {
      folder: folder.join('second-nan'),
      wrapEngine: breaking((step) => step === 2),
    });
    const { arrays, header } = await broken.state();
    expect(header).toMatchObject({ step: 2, optimizerSteps: 1, averageUpdates: 1 });
    for (const [name, values] of arrays) expect(values.every(Number.isFinite), name).toBe(true);
  });

  it('three times in a row ends the run with epoch, step and files; the last good checkpoint stays', async () => {
    const place = { folder: folder.join('three-nans'), wrapEngine: breaking((step) => step > 5) };
    const events: RunEvent[] = [];
    const onEvent = (event: RunEvent) => events.push(event) < 0;
    await expect(trainToEnd(request(data, { epochs: 9 }), { ...place, onEvent })).rejects.toMatchObject({
      exitCode: 4,
      // The fault goes over the end of epoch 3, whose first step was the last good one.
      message: expect.stringMatching(
        /losses or weights were not finite 3 times in a row \(epoch 4, step 8\).*train00\d\.png, .*train00\d\.png/,
      ),
      hint: expect.stringMatching(/lr0=.*inspect data=/),
    });
    expect(skippedOf(events)).toHaveLength(3);
    const { header, arrays } = await loadCheckpoint(folder.join('three-nans', 'weights', 'last.state'));
    expect(header).toMatchObject({ epoch: 3 });
    for (const values of arrays.values()) expect(values.every(Number.isFinite)).toBe(true);
    await expectNumbersOnly('three-nans');
  });

  it('is noticed where a set has a single step an epoch, and such an epoch is not kept', async () => {
    const place = { folder: folder.join('one-step'), wrapEngine: breaking((step) => step > 2) };
    await expect(trainToEnd(request(data, { epochs: 30, batch: 8 }), place)).rejects.toMatchObject({
      message: expect.stringMatching(/\(epoch 5, step 5\)/),
    });
    const { header } = await loadCheckpoint(folder.join('one-step', 'weights', 'last.state'));
    expect(header).toMatchObject({ epoch: 2, step: 2 });
  });

  it('a step that throws the weights out of range is not kept, though its own loss was fine', async () => {
    const alone = await writeShapeSet(folder.join('alone'), { train: 4 });
    const wild = request(alone, { epochs: 1, lr0: 1e38, optimizer: 'sgd' });
    const events: RunEvent[] = [];
    const onEvent = (event: RunEvent) => events.push(event) < 0;
    await expect(trainToEnd(wild, { folder: folder.join('overflow'), onEvent })).rejects.toMatchObject({
      message: expect.stringMatching(/not finite after any epoch \(epoch 1, step 1\)/),
    });
    expect(skippedOf(events)).toEqual([]);
    expect(events.find(({ type }) => type === 'saved')).toMatchObject({ isKept: false, isBest: false });
    expect(await readdir(folder.join('overflow', 'weights'))).toEqual([]);
  });

  it('after lr0=1e6 on four pictures: a failing end, and nothing broken is best or last', async () => {
    const four = await writeShapeSet(folder.join('four'), { train: 4, val: 2 });
    const events: RunEvent[] = [];
    const onEvent = (event: RunEvent) => events.push(event) < 0;
    const wild = request(four, { epochs: 40, lr0: 1e6, freeze: 'none', optimizer: 'sgd' });
    await expect(trainToEnd(wild, { folder: folder.join('wild'), onEvent })).rejects.toMatchObject({
      message: expect.stringMatching(/not finite (3 times|after 3 epochs) in a row/),
    });
    await expectNumbersOnly('wild');
    for (const event of events) {
      if (event.type !== 'epoch') continue;
      const numbers = [...event.state.average.values.values()].every((values) =>
        values.every(Number.isFinite),
      );
      if (!numbers) expect(event).toMatchObject({ isSound: false, isBest: false });
    }
  }, 60_000);
});

describe('odd pictures and labels', () => {
  it('pictures of one colour, boxes without area and of a hair: numbers throughout', async () => {
    const data = await writeShapeSet(folder.join('odd'), { train: 3, val: 2 });
    await writeFlatPicture(folder.join('odd', 'images', 'train', 'black.png'), 64, 0);
    await writeFlatPicture(folder.join('odd', 'images', 'train', 'white.png'), 64, 255);
    await writeFlatPicture(folder.join('odd', 'images', 'val', 'grey.png'), 64, 128);
    await writeLabels(folder.join('odd'), 'train', 'black', ['0 0.5 0.5 0.3 0.000000001']);
    await writeLabels(folder.join('odd'), 'train', 'white', ['1 0.5 0.5 0 0.2', '2 0.3 0.3 0.2 0.2']);
    const run = await trainToEnd(request(data), { folder: folder.join('run-odd') });
    expect(skippedOf(run.events)).toEqual([]);
    expect(run.rows).toHaveLength(2);
    await expectNumbersOnly('run-odd');
    expect(run.notes.join('\n')).toMatch(/white\.txt:1/);
  });

  it('polygons become boxes, edges are clipped, repeats go: each is said before the training', async () => {
    const data = await writeShapeSet(folder.join('faults'), { train: 5, val: 2 });
    const write = (stem: string, ...rows: string[]) =>
      writeLabels(folder.join('faults'), 'train', stem, rows);
    await write('train000', '0 0.5 0.5 0.2 0.2', '1 0.1 0.1 0.3 0.1 0.3 0.4 0.1 0.4');
    await write('train001', '0 0.903 0.5 0.2 0.2');
    await write('train002', '0 0.5 0.5 0.2 0.2', '0 0.5 0.5 0.2 0.2');
    const run = await trainToEnd(request(data, { epochs: 1 }), { folder: folder.join('run-faults') });
    const said = run.notes.join('\n');
    for (const place of ['train000.txt:2', 'train001.txt:1', 'train002.txt:2']) expect(said).toContain(place);
    expect(run.rows).toHaveLength(1);
  });

  it('a class beyond the list, pixel values and a broken row are refused before any training, with the list', async () => {
    const data = await writeShapeSet(folder.join('refused'), { train: 4, val: 2 });
    const write = (stem: string, ...rows: string[]) =>
      writeLabels(folder.join('refused'), 'train', stem, rows);
    await write('train000', '3 0.5 0.5 0.2 0.2', '7 0.5 0.5 0.2 0.2');
    await write('train001', '0 320 240 100 80');
    await write('train002', '0 0.5 0.5 0.2');
    const opened: string[] = [];
    const wrapEngine = (engine: Engine) => {
      opened.push('engine');
      return engine;
    };
    const run = trainToEnd(request(data), { folder: folder.join('run-refused'), wrapEngine });
    const error = await run.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ exitCode: 4, hint: expect.stringMatching(/inspect data=/) });
    const { message } = error as Error;
    expect(message).toMatch(/3 errors in the labels/);
    for (const stem of ['train000.txt:1', 'train001.txt:1', 'train002.txt:1'])
      expect(message).toContain(stem);
    expect(opened).toEqual([]);
    expect(await readdir(folder.join('run-refused'))).toEqual([]);
  });
});

describe('sets of unusual size', () => {
  it('refuses a set without training pictures, naming it', async () => {
    const data = await writeDataYaml(folder.join('empty'), { classNames: SHAPE_NAMES, val: false });
    await mkdir(folder.join('empty', 'images', 'train'), { recursive: true });
    await expect(trainToEnd(request(data), { folder: folder.join('run-empty') })).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringMatching(/empty\/images\/train/),
    });
  });

  it('trains on one picture without validation: best is the lowest loss, and that is said', async () => {
    const data = await writeShapeSet(folder.join('one'), { train: 1 });
    const run = await trainToEnd(request(data, { epochs: 3 }), { folder: folder.join('run-one') });
    expect(run.notes.join()).toMatch(
      /has no val split: nothing is validated, and best is the lowest training loss/,
    );
    expect(run.rows.at(-1)?.['train/quality_loss']).toBeLessThan(run.rows[0]!['train/quality_loss']!);
    expect(run.rows[0]).not.toHaveProperty('metrics/mAP50(B)');
    await expectNumbersOnly('run-one');
  });

  it('trains on background alone: scores fall, nothing is found, nothing is NaN', async () => {
    const data = await writeShapeSet(folder.join('background'), { train: 5, val: 2, backgroundFrom: 0 });
    await writeLabels(folder.join('background'), 'train', 'train000', []);
    await writeLabels(folder.join('background'), 'train', 'train001', ['']);
    await writeLabels(folder.join('background'), 'val', 'val000', []);
    const run = await trainToEnd(request(data, { epochs: 3, lr0: 0.01 }), { folder: folder.join('run-bg') });
    const [first, last] = [run.rows[0]!, run.rows.at(-1)!];
    expect(first['train/positives']).toBe(0);
    expect(last['train/quality_loss']).toBeLessThan(first['train/quality_loss']!);
    expect(last['train/box_loss']).toBe(0);
    await expectNumbersOnly('run-bg');
  });

  it('counts background in: five pictures, two of them labelled, are five', async () => {
    const data = await writeShapeSet(folder.join('mixed'), { train: 5, val: 2, backgroundFrom: 2 });
    const run = await trainToEnd(request(data, { epochs: 1, batch: 2 }), {
      folder: folder.join('run-mixed'),
    });
    const started = run.events.find((event) => event.type === 'started');
    expect(started).toMatchObject({ facts: { training: 5 } });
    // Batches of two, two and one: the last picture has a batch of its own.
    expect(run.events.filter(({ type }) => type === 'step')).toHaveLength(3);
  });

  it('takes a batch larger than the set', async () => {
    const data = await writeShapeSet(folder.join('few'), { train: 3, val: 1 });
    const run = await trainToEnd(request(data, { epochs: 1, batch: 64 }), { folder: folder.join('run-few') });
    expect(run.events.filter(({ type }) => type === 'step')).toHaveLength(1);
  });

  it('trains one class without a class branch', async () => {
    const data = await writeShapeSet(folder.join('thing'), { train: 4, val: 2, classNames: ['thing'] });
    const run = await trainToEnd(request(data, { model: single }), { folder: folder.join('run-thing') });
    expect(run.rows.every((row) => row['train/cls_loss'] === 0)).toBe(true);
    const opened = await openModel(folder.join('run-thing', 'weights', 'best.onnx'), { uncertainty: 'none' });
    await Promise.all(opened.sessions.map((session) => session.close()));
    expect(opened.classNames).toEqual(['thing']);
    expect(opened.finding.layout).not.toHaveProperty('classProbs');
  });

  it('single_cls makes one class of three', async () => {
    const data = await writeShapeSet(folder.join('joined'), { train: 4, val: 2 });
    const run = await trainToEnd(request(data, { singleClass: true, epochs: 1 }), {
      folder: folder.join('run-joined'),
    });
    expect(run.events.find(({ type }) => type === 'started')).toMatchObject({
      facts: { classNames: { length: 1 } },
    });
    expect(run.rows[0]?.['train/cls_loss']).toBe(0);
  });
});

describe('what lies around a run', () => {
  it('a full disk ends it in words, naming the file', async () => {
    const data = await writeShapeSet(folder.join('disk'), { train: 2 });
    await mkdir(folder.join('run-disk', 'weights'), { recursive: true });
    await symlink('/dev/full', folder.join('run-disk', 'weights', 'last.state.part'));
    await expect(
      trainToEnd(request(data, { epochs: 1 }), { folder: folder.join('run-disk') }),
    ).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringMatching(/cannot write .*last\.state: no space left on the disk/),
    });
  });

  it('a picture that vanishes is named', async () => {
    const data = await writeShapeSet(folder.join('gone'), { train: 3, val: 1 });
    const run = trainToEnd(request(data, { cache: 'none', epochs: 3 }), {
      folder: folder.join('run-gone'),
      onEvent: (event) => {
        if (event.type === 'started') {
          void rm(folder.join('gone', 'images', 'val', 'val000.png'), { force: true });
        }
        return false;
      },
    });
    await expect(run).rejects.toMatchObject({ exitCode: 4, message: expect.stringMatching(/val000\.png/) });
  });
});
