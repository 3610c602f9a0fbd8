// How much of a model is trained, and an adaptation that must not inflate its logits.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseModel, readLogitRanges, readMetadata, withSals } from '#onnx';
import { openOrtNodeSession } from '#runtime';
import type { TrainRequest } from '../../training/options.ts';
import { RunFolder } from '../support/run-folder.ts';
import { HOST_INPUT, tinyHost } from '../support/tiny-hosts.ts';
import { ownModelBytes, STILL, type TrainingOutcome, trainToEnd } from '../support/training-runs.ts';
import { SHAPE_NAMES, writeShapeSet } from '../support/training-sets.ts';

let folder: RunFolder;
let model: string;
let data: string;

beforeAll(async () => {
  folder = new RunFolder();
  model = await folder.write('own.onnx', ownModelBytes(SHAPE_NAMES));
  data = await writeShapeSet(folder.join('set'), { train: 8, val: 2 });
});

afterAll(() => folder.remove());

function adapt(name: string, more: Partial<TrainRequest>): Promise<TrainingOutcome> {
  const request = { data, model, epochs: 4, batch: 4, variants: 0, augment: STILL, lr0: 0.005, ...more };
  return trainToEnd(request, { folder: folder.join(name) });
}

/** Sum of the weighted losses. */
function lossOf(row: Readonly<Record<string, number>> | undefined): number {
  const names = ['box', 'cls', 'dfl', 'quality'];
  return names.reduce((sum, name) => sum + (row?.[`train/${name}_loss`] ?? Number.NaN), 0);
}

/** Names of the constants that differ between two model files. */
async function changedConstants(before: string, after: string): Promise<ReadonlySet<string>> {
  const constants = async (path: string) => {
    const { graph } = parseModel(path, await readFile(path));
    return new Map((graph?.initializer ?? []).map(({ name, rawData }) => [name, Buffer.from(rawData)]));
  };
  const [old, now] = [await constants(before), await constants(after)];
  return new Set(
    [...now].filter(([name, bytes]) => !(old.get(name)?.equals(bytes) ?? true)).map(([name]) => name),
  );
}

async function rangesIn(path: string) {
  return readLogitRanges(readMetadata(parseModel(path, await readFile(path))));
}

describe('freeze=', () => {
  const counts: number[] = [];
  // The whole net from random weights does not bear the steps of a small head.
  for (const [freeze, lr0] of [
    ['towers', 0.02],
    ['neck', 0.005],
    ['backbone', 0.005],
    ['none', 0.005],
  ] as const) {
    it(`${freeze}: the loss falls, and more is trained than at the level before`, async () => {
      const run = await adapt(freeze, { freeze, lr0 });
      expect(lossOf(run.rows.at(-1))).toBeLessThan(0.9 * lossOf(run.rows[0]));
      const started = run.events.find((event) => event.type === 'started');
      const count = started?.type === 'started' ? started.facts.parameterCount : 0;
      expect(count).toBeGreaterThan(counts.at(-1) ?? 0);
      counts.push(count);
    }, 60_000);
  }

  it('towers: nothing but the head is another afterwards', async () => {
    const changed = await changedConstants(model, folder.join('towers', 'weights', 'last.onnx'));
    expect(changed.size).toBeGreaterThan(0);
    expect([...changed].filter((name) => !name.startsWith('head.'))).toEqual([]);
  });

  it('freeze_box: boxes stay as they were', async () => {
    const run = await adapt('frozen-box', { freezeBox: true, epochs: 2 });
    expect(run.rows.every((row) => row['train/box_loss'] === 0)).toBe(true);
    const changed = await changedConstants(model, folder.join('frozen-box', 'weights', 'last.onnx'));
    expect([...changed].some((name) => name.includes('quality'))).toBe(true);
    expect([...changed].filter((name) => name.includes('box'))).toEqual([]);
  }, 60_000);
});

describe('logit_range=', () => {
  /** Mean of the largest minus the least class logit over all anchors of one picture. */
  async function meanRange(path: string): Promise<number> {
    const bytes = await readFile(path);
    const input = parseModel(path, bytes).graph!.input[0]!.name;
    const session = await openOrtNodeSession(bytes, path, { provider: { kind: 'cpu' }, threads: 1 });
    try {
      const picture = Float32Array.from({ length: 3 * 64 * 64 }, (_, index) => ((index * 37) % 101) / 101);
      const { outputs } = await session.run(picture, { name: input, shape: [1, 3, 64, 64] });
      const probabilities = outputs.get('class_probs')!.data as Float32Array;
      let sum = 0;
      for (let row = 0; row < probabilities.length; row += 3) {
        const logs = [...probabilities.subarray(row, row + 3)].map(Math.log);
        sum += Math.max(...logs) - Math.min(...logs);
      }
      return sum / (probabilities.length / 3);
    } finally {
      await session.close();
    }
  }

  it('penalty and zs-norm keep the range of class logits that an adaptation would inflate', async () => {
    const ranges: Record<string, number> = { before: await meanRange(model) };
    for (const logitRange of ['off', 'penalty', 'zs-norm'] as const) {
      const run = await adapt(logitRange, {
        logitRange,
        epochs: 12,
        lr0: 0.02,
        weights: { classification: 5 },
      });
      expect(lossOf(run.rows.at(-1))).toBeLessThan(lossOf(run.rows[0]));
      ranges[logitRange] = await meanRange(folder.join(logitRange, 'weights', 'last.onnx'));
    }
    expect(ranges['off']).toBeGreaterThan(1.5 * ranges['before']!);
    for (const kind of ['penalty', 'zs-norm']) {
      expect([kind, ranges[kind]! < 0.7 * ranges['off']!]).toEqual([kind, true]);
    }
  }, 60_000);

  it('is refused where there is no class layer of ours to hold to', async () => {
    const host = await folder.writeModel('host.onnx', tinyHost('yolox'));
    for (const [name, request, words] of [
      ['foreign', { model: host, logitRange: 'penalty' }, /class layer of this host is replaced/],
      ['scratch', { model: 'edge-n', logitRange: 'zs-norm' }, /from scratch has no range to keep/],
    ] as const) {
      await expect(adapt(name, request)).rejects.toMatchObject({
        exitCode: 3,
        message: expect.stringMatching(words),
        hint: expect.stringMatching(/leave logit_range= away/),
      });
    }
    const renamed = await writeShapeSet(folder.join('renamed'), {
      train: 2,
      val: 1,
      classNames: ['square', 'disc', 'rod'],
    });
    await expect(adapt('renamed-run', { data: renamed, logitRange: 'penalty' })).rejects.toMatchObject({
      message: expect.stringMatching(/square, disc, bar, those of the data square, disc, rod/),
    });
  });

  it('is that of each class in an earlier training where the classes are others now', async () => {
    const first = await adapt('first', { epochs: 6, lr0: 0.02 });
    const known = folder.join('first', 'weights', 'last.onnx');
    const stored = await rangesIn(known);
    expect(Object.keys(stored!.classes).sort()).toEqual([...SHAPE_NAMES].sort());
    for (const { least, greatest, positives } of Object.values(stored!.classes)) {
      expect(greatest).toBeGreaterThan(least);
      expect(positives).toBeGreaterThanOrEqual(20);
    }
    expect(first.notes.some((note) => note.startsWith('logit_range'))).toBe(false);
    const turned = await writeShapeSet(folder.join('turned'), {
      train: 8,
      val: 2,
      classNames: [...SHAPE_NAMES].reverse(),
    });
    const widths: Record<string, number> = {};
    for (const logitRange of ['off', 'penalty', 'zs-norm'] as const) {
      const run = await adapt(`turned-${logitRange}`, {
        ...{ data: turned, model: known, logitRange },
        epochs: 12,
        lr0: 0.05,
        weights: { classification: 20 },
      });
      const told = run.notes.some((note) => /each class is held to the range that it had/.test(note));
      expect(told).toBe(logitRange !== 'off');
      expect(run.notes.some((note) => /which sals sets in the graph/.test(note))).toBe(
        logitRange === 'zs-norm',
      );
      widths[logitRange] = await meanRange(folder.join(`turned-${logitRange}`, 'weights', 'last.onnx'));
    }
    expect(widths['penalty']).toBeLessThan(0.7 * widths['off']!);
    // ZS-Norm does not see the scale of a layer that starts anew: it needs the same ranges in the graph.
    const trained = folder.join('turned-zs-norm', 'weights', 'last.onnx');
    const { model: scaled } = withSals(parseModel(trained, await readFile(trained)), {
      reference: { kind: 'ceilings', stored: stored! },
      shrinkOnly: false,
    });
    const width = await meanRange(await folder.writeModel('scaled.onnx', scaled));
    const ends = Object.values(stored!.classes).map(({ least, greatest }) => greatest - least);
    expect(width).toBeGreaterThan(Math.min(...ends) - 1e-3);
    expect(width).toBeLessThan(Math.max(...ends) + 1e-3);
    const partly = await writeShapeSet(folder.join('partly'), {
      ...{ train: 2, val: 1 },
      classNames: ['square', 'disc', 'rod'],
    });
    await expect(
      adapt('partly-run', { data: partly, model: known, logitRange: 'zs-norm' }),
    ).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringMatching(/no range is stored for rod: there is no range to keep/),
    });
  }, 120_000);

  it('zs-norm is refused with fewer than three classes', async () => {
    const two = await writeShapeSet(folder.join('two'), { train: 2, val: 1, classNames: ['a', 'b'] });
    const own = await folder.write('two.onnx', ownModelBytes(['a', 'b']));
    await expect(adapt('two-run', { data: two, model: own, logitRange: 'zs-norm' })).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringMatching(/at least 3 classes, found 2/),
    });
  });
});

describe('a foreign host', () => {
  it('gets our head, and the model of that is trained further', async () => {
    const host = await folder.writeModel('yolox.onnx', tinyHost('yolox'));
    const wide = await writeShapeSet(folder.join('wide'), { train: 4, val: 2, side: HOST_INPUT.height });
    const first = await adapt('hosted', { data: wide, model: host, epochs: 3 });
    expect(lossOf(first.rows.at(-1))).toBeLessThan(lossOf(first.rows[0]));
    const again = await adapt('again', {
      data: wide,
      model: folder.join('hosted', 'weights', 'best.onnx'),
      epochs: 1,
      lr0: 0,
    });
    // It goes on from what was learned: without a step its loss is that of the file.
    expect(lossOf(again.rows[0])).toBeLessThan(lossOf(first.rows[0]));
  }, 60_000);
});
