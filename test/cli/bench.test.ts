// `bench` as users run it: a table, files, and what it does where a model or a word is wrong.
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCli } from '../support/cli.ts';
import { childrenOf, isAlive } from '../support/processes.ts';
import { faultsOfRefusal, RunFolder } from '../support/run-folder.ts';
import { writeStreetSet } from '../support/street-set.ts';

const MODEL = fileURLToPath(new URL('../../samples/model/edge-n-street.onnx', import.meta.url));
const folder = new RunFolder();

beforeAll(async () => {
  await writeStreetSet(folder.join('street'), { hours: ['day'], cameras: 1, pictures: 4 });
  await folder.write('words.onnx', 'not a model');
});
afterAll(() => folder.remove());

const run = (...words: string[]) => folder.run(['bench', ...words]);

describe('bench', () => {
  it('compares on labelled pictures: a table, figures and a chart', { timeout: 90_000 }, async () => {
    const words = [`model=${MODEL},${MODEL}`, 'data=street/data.yaml', 'rounds=2', 'name=twins'];
    const { code, stdout, stderr } = await run(...words);
    expect([code, stderr]).toEqual([0, 'results in runs/detect/twins\n']);
    const [about, header, first, second, ...rest] = stdout.trimEnd().split('\n');
    expect(about).toMatch(/^4 frames of cam0-.*\.jpg and 3 more; medians of 2 rounds in fresh processes/);
    expect(header).toMatch(/model +device +threads +pre +infer .*AP50 +AP50-95 +LaECE0$/);
    expect(first).toMatch(/edge-n-street\.onnx +cpu +1 .* 1\.00 \[1\.00, 1\.00\] /);
    expect(second).toMatch(/edge-n-street\.onnx #2 +cpu +1 /);
    expect(rest).toEqual([]);
    const ap = (line = '') => line.trim().split(/ +/).slice(-3);
    expect(ap(first)).toEqual(ap(second));
    expect(Number(ap(first)[0])).toBeGreaterThan(0);
    expect(readdirSync(folder.join('runs/detect/twins')).sort()).toEqual([
      'bench.csv',
      'bench.png',
      'results.json',
    ]);
  });

  it('fails where a model fails, after the others are told', { timeout: 60_000 }, async () => {
    const words = ['source=street/images', 'rounds=1', 'frames=2', 'name=partly', 'plots=False', 'json=True'];
    const { code, stdout, stderr } = await run(`model=words.onnx,${MODEL}`, ...words);
    expect(code).toBe(5);
    expect(stderr).toMatch(/results in runs\/detect\/partly\nerror: words\.onnx .*\n {2}what to do: /);
    const { entries } = JSON.parse(stdout);
    expect(entries).toMatchObject([
      { name: 'words.onnx', rounds: [], fault: { message: /words\.onnx/ } },
      { name: 'edge-n-street.onnx', device: 'cpu', threads: 1, rounds: [{ frames: 2 }] },
    ]);
  });

  it.each([
    ['no model', 3, ['source=street/images'], /bench needs model=/],
    ['only models that fail', 5, ['model=words.onnx', 'source=street/images', 'rounds=1'], /words\.onnx/],
    ['a source that is not there', 7, [`model=${MODEL}`, 'source=none.mp4'], /none\.mp4/],
    ['a device that names none', 3, [`model=${MODEL}`, 'device=auto'], /device=auto/],
    ['threads that are no number', 3, [`model=${MODEL}`, 'threads=1,many'], /threads=many/],
    ['no round', 3, [`model=${MODEL}`, 'rounds=0'], /rounds=0/],
    [
      'a split that is not there',
      4,
      [`model=${MODEL}`, 'data=street/data.yaml', 'split=test'],
      /no test split/,
    ],
  ])('refuses %s', { timeout: 60_000 }, async (_, code, words, message) => {
    const refused = await run(...words);
    expect(faultsOfRefusal(refused, code)).toEqual([]);
    expect(refused.stderr).toMatch(message);
  });

  it.each([
    ['Ctrl-C', 'SIGINT', [130, null]],
    ['a death that it cannot hear', 'SIGKILL', [null, 'SIGKILL']],
  ] as const)('leaves no child and no folder at %s', { timeout: 60_000 }, async (_, signal, ending) => {
    const measuring: number[] = [];
    const words = ['bench', `model=${MODEL}`, 'source=street/images', 'rounds=100', 'name=stopped'];
    const stopped = await runCli(words, {
      cwd: folder.path,
      onStart(child) {
        const watch = setInterval(() => {
          measuring.push(...childrenOf(child.pid ?? 0));
          if (measuring.length === 0) return;
          clearInterval(watch);
          child.kill(signal);
        }, 20);
        child.once('close', () => clearInterval(watch));
      },
    });
    expect([stopped.code, stopped.signal]).toEqual(ending);
    expect(measuring.length).toBeGreaterThan(0);
    await vi.waitFor(() => expect(measuring.filter(isAlive)).toEqual([]), { timeout: 3000 });
    expect(existsSync(folder.join('runs/detect/stopped'))).toBe(false);
  });
});
