// Models measured beside each other, each in processes of its own: what is counted, what a failure costs, and that
// nobody stays behind.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serialize, standInDetector } from '#onnx';
import { type BenchRequest, benchModels, roundOrder } from '../../../src/evaluate/bench/bench-models.ts';
import { median } from '../../../src/evaluate/bench/measure-run.ts';
import { runInProcess } from '../../../src/evaluate/bench/run-process.ts';
import { benchResults, writeBench } from '../../../src/evaluate/bench/write-bench.ts';
import { childrenOf, livingChildren } from '../../support/processes.ts';
import { solidPng } from '../../support/run-folder.ts';

let folder = '';
let small = '';
let large = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'edge-detect-test-bench-'));
  [small, large] = [join(folder, 'small.onnx'), join(folder, 'large.onnx')];
  writeFileSync(small, serialize(standInDetector({ width: 64, height: 64 })));
  writeFileSync(large, serialize(standInDetector({ width: 1280, height: 1280 })));
  writeFileSync(join(folder, 'words.onnx'), 'not a model');
  for (const place of [0, 1, 2, 3])
    writeFileSync(join(folder, `${place}.png`), await solidPng({ width: 96, height: 96 }, [24, 24, 24]));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function request(models: readonly string[], more: Partial<BenchRequest> = {}): BenchRequest {
  const frames = { sources: [join(folder, '*.png')], most: 3 };
  return { models, providers: [{ kind: 'cpu' }], threads: [1], rounds: 2, frames, ...more };
}

describe('benchModels', () => {
  it('measures every model in every round, and divides by the first', { timeout: 60_000 }, async () => {
    const seen: number[] = [];
    const report = await benchModels(request([small, large]), {
      onProgress: (stage, done, total) => {
        if (stage === 'runs' && total === 4) seen.push(done);
      },
    });
    expect(seen).toEqual([0, 1, 2, 3]);
    expect(report).toMatchObject({ frames: 3, rounds: 2 });
    const [first, second] = report.entries;
    expect(first?.rounds.map(({ frames, provider }) => [frames, provider])).toEqual([
      [3, 'cpu'],
      [3, 'cpu'],
    ]);
    expect(first?.ratios).toEqual({
      frameMs: { median: 1, least: 1, greatest: 1 },
      cpuMs: { median: 1, least: 1, greatest: 1 },
    });
    // 400 times the pixels.
    expect(second?.ratios?.frameMs.least).toBeGreaterThan(2);
    const figures = second?.figures;
    expect(figures?.frameMs.median).toBeGreaterThan(figures?.inferMs.median ?? Number.POSITIVE_INFINITY);
    expect(figures?.fps).toBeCloseTo(1000 / (figures?.frameMs.median ?? 0), 6);
    expect(figures?.peakMib.median).toBeGreaterThan(20);
    expect(second?.rounds[0]?.input).toEqual({ width: 1280, height: 1280 });
  });

  it('goes through models, devices and threads, and names twins apart', { timeout: 60_000 }, async () => {
    const { entries } = await benchModels(request([small, small], { threads: [1, 2], rounds: 1 }));
    expect(entries.map(({ name, threads }) => [name, threads])).toEqual([
      ['small.onnx', 1],
      ['small.onnx', 2],
      ['small.onnx #2', 1],
      ['small.onnx #2', 2],
    ]);
    const other = join(folder, 'other', 'small.onnx');
    const clash = await benchModels(request([small, other], { rounds: 1 }));
    expect(clash.entries.map(({ name }) => name)).toEqual([small, other]);
  });

  it('tells in its entry why a model failed, and measures the others', { timeout: 60_000 }, async () => {
    const words = join(folder, 'words.onnx');
    const cuda = { kind: 'cuda', index: 63 } as const;
    const report = await benchModels(request([words, small], { providers: [{ kind: 'cpu' }, cuda] }));
    const [broken, , sound, elsewhere] = report.entries;
    expect(broken?.fault).toMatchObject({ name: 'ModelError', exitCode: 5 });
    expect(broken?.fault?.message).toMatch(/words\.onnx/);
    expect(broken?.figures).toBeUndefined();
    expect(sound?.rounds).toHaveLength(2);
    // What it would be divided by is not there.
    expect(sound?.ratios).toBeUndefined();
    expect(elsewhere?.fault).toMatchObject({ name: 'DeviceError', exitCode: 6 });
  });

  it('refuses what gives no frame twice, and what gives none', { timeout: 60_000 }, async () => {
    const on = (source: string) => request([small], { frames: { sources: [source], most: 1 } });
    await expect(benchModels(on('rtsp://127.0.0.1:9/nothing'))).rejects.toThrow(/live source/);
    await expect(benchModels(on(join(folder, 'none.mp4')))).rejects.toMatchObject({ exitCode: 7 });
  });

  it('ends the process under way when it is stopped', { timeout: 60_000 }, async () => {
    const before = livingChildren().length;
    const stop = new AbortController();
    const running = benchModels(request([large], { rounds: 50 }), { signal: stop.signal });
    running.catch(() => undefined);
    while (livingChildren().length === before) await new Promise((resolve) => setTimeout(resolve, 10));
    stop.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    expect(livingChildren()).toHaveLength(before);
  });

  it('says how a process died that could not answer', { timeout: 60_000 }, async () => {
    const before = new Set(childrenOf(process.pid));
    const frames = { sources: [join(folder, '*.png')], most: 1000 };
    const running = runInProcess({ model: large, provider: { kind: 'cpu' }, threads: 1, frames });
    running.catch(() => undefined);
    const pid = childrenOf(process.pid).find((id) => !before.has(id));
    process.kill(pid ?? 0, 'SIGKILL');
    await expect(running).rejects.toThrow(/large\.onnx: the process that ran it ended with SIGKILL/);
  });
});

describe('roundOrder', () => {
  it('turns every round, so that none is always first', () => {
    expect([0, 1, 2].map((round) => roundOrder(3, round))).toEqual([
      [0, 1, 2],
      [2, 1, 0],
      [0, 1, 2],
    ]);
  });
});

describe('writeBench', () => {
  it('writes figures as JSON and CSV', { timeout: 60_000 }, async () => {
    const words = join(folder, 'words.onnx');
    const report = await benchModels(request([small, words], { rounds: 1 }));
    await writeBench(report, folder, { plots: true });
    const results = JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8'));
    expect(results).toEqual(JSON.parse(JSON.stringify(benchResults(report))));
    expect(results.entries[1]).toMatchObject({ device: 'cpu', fault: { message: /./ } });
    const [header = '', first = '', second = ''] = readFileSync(join(folder, 'bench.csv'), 'utf8').split(
      '\n',
    );
    const columns = header.split(',');
    expect(first.split(',')).toHaveLength(columns.length);
    expect(Number(first.split(',')[columns.indexOf('frame_ms')])).toBeCloseTo(
      report.entries[0]?.figures?.frameMs.median ?? 0,
      3,
    );
    expect(second).toMatch(/words\.onnx,cpu,1,0,,/);
    expect(readFileSync(join(folder, 'bench.png')).subarray(1, 4).toString()).toBe('PNG');
  });
});

describe('median', () => {
  it('is the middle, or between the two middles', () => {
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });
});
