// The event log on a real disk: turned over, moved away, full, and killed in the middle of a line.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { createEventsFile } from '../../../../runtime/site/sinks/events-file.ts';
import { openFileCount } from '../../../support/processes.ts';
import { RunFolder } from '../../../support/run-folder.ts';
import { eventually, notice, objectEvent } from './site-objects.ts';

const folder = new RunFolder();
afterAll(() => folder.remove());

const CHILD = fileURLToPath(new URL('../../../support/events-child.mjs', import.meta.url));

function open(name: string, changes: Partial<Parameters<typeof createEventsFile>[0]> = {}) {
  const notices: string[] = [];
  const path = folder.join(name, 'events.jsonl');
  const file = createEventsFile({
    path,
    maxBytes: 1000,
    keep: 3,
    onNotice: (message) => notices.push(message),
    ...changes,
  });
  return { file, path, notices };
}

function messages(path: string): readonly string[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { message: string }).message);
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, place) => `${from + place}`);

describe('the event log', () => {
  it('has every event as it was said, one a line, and goes on after a restart', async () => {
    const first = open('plain', { maxBytes: 1e6 });
    const event = objectEvent('new');
    first.file.accept(event);
    expect(JSON.parse(readFileSync(first.path, 'utf8'))).toEqual(event);
    await first.file.close();
    await first.file.close();
    const second = open('plain', { maxBytes: 1e6 });
    second.file.accept(notice('more'));
    await second.file.close();
    expect(readFileSync(first.path, 'utf8').split('\n')).toHaveLength(3);
    expect([...first.notices, ...second.notices]).toEqual([]);
  });

  it('turns over by size, keeps the youngest, and removes what a smaller keep leaves over', async () => {
    const fds = openFileCount();
    const { file, path } = open('turn');
    for (const number of numbers(0, 100)) file.accept(notice(number));
    const names = readdirSync(folder.join('turn')).sort();
    expect(names).toEqual(['events.jsonl', 'events.jsonl.1', 'events.jsonl.2', 'events.jsonl.3']);
    const all = ['.3', '.2', '.1', ''].flatMap((ending) => messages(`${path}${ending}`));
    expect(all).toEqual(numbers(100 - all.length, 100));
    for (const name of names) expect(statSync(folder.join('turn', name)).size).toBeLessThanOrEqual(1000);
    expect(statSync(`${path}.1`).size).toBeGreaterThan(900);
    await file.close();
    await open('turn', { keep: 1 }).file.close();
    expect(readdirSync(folder.join('turn')).sort()).toEqual(['events.jsonl', 'events.jsonl.1']);
    expect(openFileCount()).toBe(fds);
  });

  it('fills a gap that a killed turn left, and keeps none where none is wanted', async () => {
    const { file, path } = open('gap');
    writeFileSync(`${path}.2`, 'oldest\n');
    for (const number of numbers(0, 15)) file.accept(notice(number));
    expect(readFileSync(`${path}.2`, 'utf8')).toBe('oldest\n');
    await file.close();
    const none = open('none', { keep: 0 });
    for (const number of numbers(0, 100)) none.file.accept(notice(number));
    await none.file.close();
    expect(readdirSync(folder.join('none'))).toEqual(['events.jsonl']);
  });

  it('cuts off a torn last line, and says so', async () => {
    const { file, path } = open('torn', { maxBytes: 1e6 });
    file.accept(notice('whole'));
    await file.close();
    appendFileSync(path, `{"kind":"object","long":"${'x'.repeat(200_000)}`);
    const again = open('torn', { maxBytes: 1e6 });
    again.file.accept(notice('next'));
    await again.file.close();
    expect(messages(path)).toEqual(['whole', 'next']);
    expect(again.notices).toEqual([
      expect.stringMatching(/events\.jsonl: an unfinished last line of 200025 bytes was cut off/),
    ]);
    writeFileSync(path, 'no line at all');
    await open('torn').file.close();
    expect(readFileSync(path, 'utf8')).toBe('');
  });

  it('begins anew where logrotate moved the file away, or somebody removed its folder', async () => {
    const { file, path, notices } = open('moved');
    file.accept(notice('1'));
    renameSync(path, `${path}-20261201`);
    file.accept(notice('2'));
    rmSync(folder.join('moved'), { recursive: true });
    file.accept(notice('3'));
    await file.close();
    expect(messages(path)).toEqual(['3']);
    expect(notices).toEqual([]);
  });

  it.skipIf(!existsSync('/dev/full'))('survives a full disk, and writes what waited', async () => {
    mkdirSync(folder.join('full'));
    symlinkSync('/dev/full', folder.join('full', 'events.jsonl'));
    const { file, path, notices } = open('full', { retrySeconds: 0.05, maxBytes: 1e6 });
    for (const number of numbers(0, 5)) file.accept(notice(number));
    expect(notices).toEqual([
      `cannot write ${path}: no space left on the disk; events wait until it can be written again`,
    ]);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(notices).toHaveLength(1);
    rmSync(path);
    await eventually(() => notices.length === 2);
    expect(notices[1]).toBe(`${path} is written again`);
    file.accept(notice('5'));
    await file.close();
    expect(messages(path)).toEqual(numbers(0, 6));
  });

  it.skipIf(!existsSync('/dev/full'))(
    'holds a bounded number of lines, and says how many it lost',
    async () => {
      mkdirSync(folder.join('bound'));
      symlinkSync('/dev/full', folder.join('bound', 'events.jsonl'));
      const { file, path, notices } = open('bound', {
        maxWaitingBytes: 700,
        retrySeconds: 60,
        maxBytes: 1e6,
      });
      for (const number of numbers(0, 100)) file.accept(notice(number));
      rmSync(path);
      await file.close();
      const kept = messages(path);
      expect(kept).toEqual(numbers(100 - kept.length, 100));
      expect(kept.length).toBeGreaterThan(5);
      expect(notices.at(-1)).toBe(`${path}: ${100 - kept.length} events could not be written and are lost`);
    },
  );

  it('leaves no half line where the disk takes half of one', { timeout: 60_000 }, async () => {
    const path = folder.join('half', 'events.jsonl');
    // No file may grow beyond 8 KiB, in the middle of a line.
    const child = spawn('bash', ['-c', `ulimit -f 8; exec "$@"`, 'bash', process.execPath, CHILD, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = 0;
    child.stdout.on('data', (chunk) => {
      said += String(chunk).split('\n').length - 1;
    });
    await eventually(() => said > 1000, 30);
    child.kill('SIGKILL');
    await once(child, 'close');
    const text = readFileSync(path, 'utf8');
    expect(text.length).toBeGreaterThan(8192 - 100);
    expect(text.endsWith('\n')).toBe(true);
    expect(messages(path)).toEqual(numbers(0, messages(path).length));
  });

  it('names a place that cannot be written at the start', () => {
    writeFileSync(folder.join('file'), '');
    expect(() => open('file')).toThrow(/cannot write .*events\.jsonl: /);
  });

  it('loses no line that was taken when the process is killed', { timeout: 60_000 }, async () => {
    for (const delayMs of [0, 20, 60]) {
      const path = folder.join(`killed-${delayMs}`, 'events.jsonl');
      const child = spawn(process.execPath, [CHILD, path], { stdio: ['ignore', 'pipe', 'inherit'] });
      let said = '';
      child.stdout.on('data', (chunk) => {
        said += chunk;
      });
      while (said.split('\n').length <= 11) await once(child.stdout, 'data');
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      child.kill('SIGKILL');
      await once(child, 'close');
      const taken = said.split('\n').length - 1;
      createEventsFile({ path, maxBytes: 1e6, keep: 1e6, onNotice: () => undefined });
      const places = readdirSync(folder.join(`killed-${delayMs}`))
        .map((name) => Number(name.split('.')[2] ?? 0))
        .sort((a, b) => b - a);
      const all = places.flatMap((place) => messages(place === 0 ? path : `${path}.${place}`));
      expect(all).toEqual(numbers(0, all.length));
      expect(all.length - taken).toBeGreaterThanOrEqual(0);
      expect(all.length - taken).toBeLessThanOrEqual(1);
      expect(taken).toBeGreaterThan(10);
    }
  });
});
