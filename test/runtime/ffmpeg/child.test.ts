import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { DeviceError } from '#core';
import { spawnChild } from '../../../runtime/ffmpeg/child.ts';
import { isAlive } from '../../support/processes.ts';

const shell = (script: string, options = {}) => spawnChild('/bin/sh', ['-c', script], options);

describe('spawnChild', () => {
  it('drains a noisy child and keeps its last telling words without credentials', async () => {
    const child = shell(
      `i=0; while [ $i -lt 5000 ]; do echo "noise $i ..............................................." >&2; i=$((i+1)); done
       echo "[rtsp @ 0x55d0] [error] rtsp://admin:hunter2@cam/1: 401 Unauthorized" >&2
       echo "[info] bye" >&2; exit 3`,
    );
    child.stdout.resume();
    const exit = await child.exited;
    expect(exit).toMatchObject({ code: 3, signal: null, reason: 'rtsp://***@cam/1: 401 Unauthorized' });
    expect(child.stderrTail().length).toBeLessThanOrEqual(4096);
    expect(child.stderrTail()).not.toContain('hunter2');
  });

  it('kills what ignores SIGTERM, with the whole group of a wrapper script', async () => {
    const child = shell(`trap '' TERM; sleep 100 & echo $!; while :; do sleep 0.1; done`);
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
    const inner = Number(chunk.toString());
    const started = performance.now();
    await child.stop();
    expect(performance.now() - started).toBeLessThan(2500);
    expect(isAlive(child.pid)).toBe(false);
    await sleep(20);
    expect(isAlive(inner)).toBe(false);
  });

  it('opens a third pipe', async () => {
    const child = shell('echo three >&3', { extraPipes: 1 });
    child.stdout.resume();
    const [chunk] = (await once(child.extra[0]!, 'data')) as [Buffer];
    expect(chunk.toString()).toBe('three\n');
    await child.exited;
  });

  it('says which program is missing', async () => {
    await expect(spawnChild('/nowhere/ffmpeg', []).exited).rejects.toThrow(DeviceError);
  });

  it('leaves no listener behind', async () => {
    const before = [process.listenerCount('exit'), process.getMaxListeners()];
    const children = Array.from({ length: 12 }, () => shell('sleep 100'));
    expect(process.listenerCount('exit')).toBe(before[0]! + 12);
    await Promise.all(children.map((child) => child.stop()));
    expect([process.listenerCount('exit'), process.getMaxListeners()]).toEqual(before);
  });

  it('ends its children when the process ends', async () => {
    const module = new URL('../../../runtime/ffmpeg/child.ts', import.meta.url);
    // Node 20 runs no TypeScript: the exit hook is exercised through the transpiled text of the module.
    const { transpileModule, ModuleKind } = (await import('typescript')).default;
    const { readFile, mkdtemp, writeFile, rm } = await import('node:fs/promises');
    const { join } = await import('node:path');
    const { tmpdir } = await import('node:os');
    const folder = await mkdtemp(join(tmpdir(), 'child-'));
    try {
      for (const name of ['child', 'log-line', 'redact']) {
        const source = await readFile(new URL(`./${name}.ts`, module), 'utf8');
        const { outputText } = transpileModule(source, {
          compilerOptions: { module: ModuleKind.ESNext, target: 9 },
        });
        const text = outputText.replaceAll('.ts"', '.mjs"').replaceAll(".ts'", ".mjs'");
        await writeFile(join(folder, `${name}.mjs`), text.replace(/from ['"]#core['"]/, 'from "./core.mjs"'));
      }
      await writeFile(join(folder, 'core.mjs'), 'export class DeviceError extends Error {}\n');
      await writeFile(
        join(folder, 'main.mjs'),
        `import { spawnChild } from './child.mjs';
         const child = spawnChild('/bin/sh', ['-c', 'trap "" PIPE TERM; echo up; exec sleep 100']);
         child.stdout.once('data', () => { console.log(child.pid); process.exit(0); });`,
      );
      const parent = spawn(process.execPath, [join(folder, 'main.mjs')], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [chunk] = (await once(parent.stdout, 'data')) as [Buffer];
      if (parent.exitCode === null) await once(parent, 'exit');
      await sleep(50);
      expect(isAlive(Number(chunk.toString()))).toBe(false);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
