// A whole run: it learns, leaves the files that people and scripts look for, and can be typed again.
import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseModel } from '#onnx';
import { normalizeArguments } from '../../src/cli/arguments.ts';
import { readConfig } from '../../src/cli/config.ts';
import { OPTIONS } from '../../src/cli/options.ts';
import { readTrainRequest } from '../../src/cli/train-request.ts';
import { classLossKind } from '../../training/criterion-config.ts';
import { completeRequest, type TrainRequest } from '../../training/options.ts';
import { toArguments } from '../../training/run/arguments.ts';
import { RunFolder } from '../support/run-folder.ts';
import { ownModelBytes, STILL, type TrainingOutcome, trainToEnd } from '../support/training-runs.ts';
import { SHAPE_NAMES, writeShapeSet } from '../support/training-sets.ts';

/** Columns that third-party scripts parse, in the order that they expect. */
const HABITUAL_HEADER =
  'epoch,time,train/box_loss,train/cls_loss,train/dfl_loss,metrics/precision(B),metrics/recall(B),metrics/mAP50(B),metrics/mAP50-95(B),val/box_loss,val/cls_loss,val/dfl_loss,lr/pg0,lr/pg1,lr/pg2';

const EPOCHS = 14;

let folder: RunFolder;
let run: TrainingOutcome;
let request: TrainRequest;

beforeAll(async () => {
  folder = new RunFolder();
  const data = await writeShapeSet(folder.join('set'), { train: 32, val: 12 });
  request = {
    data,
    model: 'edge-n',
    imageSize: { width: 64, height: 64 },
    epochs: EPOCHS,
    lr0: 0.01,
    augment: { ...STILL, fliplr: 0.5, translate: 0.1 },
  };
  run = await trainToEnd(request, { folder: folder.join('run') });
}, 120_000);

afterAll(() => folder.remove());

describe('a run from scratch', () => {
  it('learns: three kinds of shapes are found on pictures that it never saw', () => {
    const last = run.rows.at(-1)!;
    // A step against the gradient, or none, stays below 0.02.
    expect(last['metrics/mAP50(B)']).toBeGreaterThan(0.35);
    expect(last['train/quality_loss']).toBeLessThan(0.3 * run.rows[0]!['train/quality_loss']!);
    expect(last['train/box_loss']).toBeLessThan(0.5 * run.rows[0]!['train/box_loss']!);
  });

  it('writes results.csv with the habitual columns first and ours behind', async () => {
    const [header = '', ...lines] = (await readFile(folder.join('run', 'results.csv'), 'utf8'))
      .trim()
      .split('\n');
    expect(header.startsWith(`${HABITUAL_HEADER},`)).toBe(true);
    expect(header).toMatch(/train\/quality_loss.*metrics\/LaECE0.*skipped_steps$/);
    expect(lines.map((line) => Number(line.split(',')[0]))).toEqual(
      Array.from({ length: EPOCHS }, (_, index) => index + 1),
    );
    for (const line of lines) {
      expect(line.split(',')).toHaveLength(header.split(',').length);
      expect(line).not.toMatch(/nan|infinity|undefined/i);
    }
  });

  it('leaves weights, curves and pictures of score laws', async () => {
    expect((await readdir(folder.join('run', 'weights'))).sort()).toEqual([
      'best.onnx',
      'last.onnx',
      'last.state',
    ]);
    const files = await readdir(folder.join('run'));
    expect(files).toEqual(expect.arrayContaining(['args.yaml', 'results.csv', 'results.png']));
    expect(files).toContain(`laws-epoch${EPOCHS}.png`);
    expect(files.filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('describes itself in the model file, without a word of the machine it was made on', async () => {
    const model = parseModel('best.onnx', await readFile(folder.join('run', 'weights', 'best.onnx')));
    const text = model.metadataProps.find(({ key }) => key === 'edge_detect')?.value ?? '';
    const { classes, training } = JSON.parse(text);
    expect(classes).toEqual(SHAPE_NAMES);
    expect(training).toMatchObject({ data: 'set/data.yaml', seed: 0, classLoss: 'ce' });
    expect(text).not.toContain(folder.path);
  });
});

describe('args.yaml', () => {
  it('can be typed again: every key is an option, and the same run comes out', async () => {
    const stored = parse(await readFile(folder.join('run', 'args.yaml'), 'utf8')) as Record<string, unknown>;
    const words = Object.entries(stored).map(([key, value]) => `${key}=${String(value)}`);
    const raw = new Map(
      normalizeArguments(words).map((word) => {
        const [, key = '', value = ''] = /^--([\w-]+)=(.*)$/.exec(word) ?? [];
        return [key.replaceAll('-', '_'), value] as const;
      }),
    );
    for (const key of raw.keys()) {
      expect(
        OPTIONS.some((option) => option.key === key && option.commands.includes('train')),
        key,
      ).toBe(true);
    }
    const again = readTrainRequest(readConfig('train', raw, []));
    expect(toArguments(completeRequest(again))).toEqual(stored);
  });

  it('agrees with the defaults that the help states', () => {
    const scratch = toArguments(completeRequest({ data: 'd', model: 'edge-n' }));
    const host = toArguments(completeRequest({ data: 'd', model: 'host.onnx' }));
    const stated = OPTIONS.filter(({ key, defaultText = '' }) => key in host && /^[\d.]+$/.test(defaultText));
    expect(stated.length).toBeGreaterThan(20);
    for (const { key, defaultText } of stated) {
      expect([key, scratch[key], host[key]]).toEqual([key, Number(defaultText), Number(defaultText)]);
    }
  });

  it('takes the class loss of the preset, unless one is named', () => {
    const lossOf = (request: object) =>
      completeRequest({ data: 'd', model: 'host.onnx', ...request }).classLoss;
    expect(lossOf({ preset: 'published' })).toBe('bsceGra');
    expect(lossOf({ preset: 'published', classLoss: 'focal' })).toBe('focal');
    expect(lossOf({})).toBe('ce');
  });

  it('has no sigmoid form of every class loss, and says so', () => {
    const wanted = { data: 'd', model: 'host.onnx', classLaw: 'sigmoid' } as const;
    expect(completeRequest(wanted).classLoss).toBe('ce');
    expect(() => completeRequest({ ...wanted, classLoss: 'dualFocal' })).toThrow(
      'class_loss=dualFocal has no form for class_law=sigmoid',
    );
    expect([classLossKind('sigmoid', 'ce'), classLossKind('sigmoid', 'bsceGra')]).toEqual(['bce', 'gra']);
  });
});

describe('the seed', () => {
  it('decides every bit: the same gives the same file, another gives another', async () => {
    const model = await folder.write('own.onnx', ownModelBytes(SHAPE_NAMES));
    const short = { ...request, model, epochs: 2, dropout: 0.2, augment: {}, variants: 1 };
    const { imageSize, ...host } = short;
    const bytes: Buffer[] = [];
    for (const [name, seed] of [
      ['a', 3],
      ['b', 3],
      ['c', 4],
    ] as const) {
      await trainToEnd({ ...host, seed }, { folder: folder.join(name) });
      bytes.push(await readFile(folder.join(name, 'weights', 'last.onnx')));
    }
    expect(bytes[1]!.equals(bytes[0]!)).toBe(true);
    expect(bytes[2]!.equals(bytes[0]!)).toBe(false);
  }, 60_000);
});
