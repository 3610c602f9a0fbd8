import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadCheckpoint, saveCheckpoint } from '../../training/checkpoint.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'checkpoint-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const ARRAYS = new Map([
  ['a', Float32Array.of(1.5, Number.NaN, -0)],
  ['b.c', new Float32Array(0)],
]);

describe('a checkpoint', () => {
  it('comes back bit for bit', async () => {
    const path = join(folder, 'last.state');
    await saveCheckpoint(path, { header: { epoch: 3, name: 'ü' }, arrays: ARRAYS });
    const { header, arrays } = await loadCheckpoint(path);
    expect(header).toEqual({ epoch: 3, name: 'ü' });
    expect([...arrays]).toEqual([...ARRAYS]);
    expect(Object.is(arrays.get('a')![2], -0)).toBe(true);
  });

  it('is refused where one bit differs, where it is cut, and where it is another file', async () => {
    const path = join(folder, 'last.state');
    await saveCheckpoint(path, { header: {}, arrays: ARRAYS });
    const bytes = await readFile(path);
    bytes[bytes.length - 40] = bytes[bytes.length - 40]! ^ 1;
    await writeFile(path, bytes);
    await expect(loadCheckpoint(path)).rejects.toThrow(/last\.state: the checkpoint is damaged/);
    await writeFile(path, bytes.subarray(0, 30));
    await expect(loadCheckpoint(path)).rejects.toThrow(/no checkpoint of a training run/);
    await expect(loadCheckpoint(join(folder, 'none'))).rejects.toThrow(/no checkpoint can be read/);
  });

  it('is readable whenever the writer is killed', async () => {
    const path = join(folder, 'last.state');
    const module = new URL('../../dist/training/checkpoint.js', import.meta.url).href;
    const program = `
      const { saveCheckpoint } = await import(${JSON.stringify(module)});
      for (let epoch = 0; ; epoch++) {
        await saveCheckpoint(${JSON.stringify(path)}, { header: { epoch }, arrays: new Map([['w', new Float32Array(200000).fill(epoch)]]) });
        if (epoch === 0) console.log('written');
      }`;
    for (let round = 0; round < 8; round++) {
      const writer = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await new Promise((resolve) => writer.stdout.once('data', resolve));
      await new Promise((resolve) => setTimeout(resolve, 5 + 11 * round));
      writer.kill('SIGKILL');
      await new Promise((resolve) => writer.once('exit', resolve));
      const { header, arrays } = await loadCheckpoint(path);
      expect(new Set(arrays.get('w'))).toEqual(new Set([header['epoch']]));
    }
  });
});
