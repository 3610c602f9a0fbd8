// The samples are run as a user would run them: built, in a process of their own, with nothing given and with a
// real model where there is one.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { testData } from '../support/test-data.ts';

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function runSample(name: string, words: readonly string[] = [], interruptAt?: RegExp): Promise<Ended> {
  const main = fileURLToPath(new URL(`../../dist/samples/${name}/main.js`, import.meta.url));
  const child = spawn(process.execPath, [main, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (interruptAt?.test(stdout)) child.kill('SIGINT');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** Mean count, expected count and deviation of the score in each line of the people counter. */
function secondsOf(stdout: string) {
  const line =
    /^ *(\d+) s +(\S+) +([\d.]+) \(\d+\.\.\d+\) +expected ([\d.]+) ±[\d.]+ +score (\S+) +edges (.+)$/gm;
  return [...stdout.matchAll(line)].map(([, at, name, count, expected, score, edges]) => ({
    at: Number(at),
    name,
    count: Number(count),
    expected: Number(expected),
    score,
    edges,
  }));
}

/** σ/size, picture, class and the four edges `62±35.4` in each line of the list. */
function boxesOf(stdout: string) {
  const line = /^ *([\d.]+) % +(\S+) +(.+?) +(\d\.\d\d) +(\S+ \S+ \S+ \S+)$/gm;
  return [...stdout.matchAll(line)].map(([, share, picture, name, , edges]) => ({
    share: Number(share),
    picture,
    name,
    sigmas: (edges ?? '').split(' ').map((edge) => Number(edge.split('±')[1])),
  }));
}

const nanodet = testData('models/nanodet_m_320.onnx');
const yolox = testData('models/yolox_nano.onnx');
const pictures = testData('images');
const walkers = testData('video/ken_dos_people_cars.mp4');
const dataNote = nanodet && yolox && pictures && walkers ? '' : ' (skipped: no test data)';

describe(`people-counter${ffmpegNote}`, () => {
  it.skipIf(!ffmpegAvailable)('shows on its stand-in how light fades and doubt grows', async () => {
    const { code, stdout, stderr } = await runSample('people-counter');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toContain('stand-in');
    const seconds = secondsOf(stdout);
    expect(seconds.map(({ at }) => at)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    const [first, last] = [seconds[0]!, seconds[7]!];
    expect(first.count).toBeGreaterThan(last.count);
    expect(first.expected).toBeGreaterThan(2 * last.expected);
    expect(Number(last.score?.slice(1))).toBeGreaterThan(Number(first.score?.slice(1)));
    expect(first.edges).toBe('-');
  });

  it.skipIf(!ffmpegAvailable || dataNote !== '')(`sees two walkers in a real video${dataNote}`, async () => {
    const { code, stdout } = await runSample('people-counter', [nanodet!, walkers!]);
    expect(code).toBe(0);
    const seconds = secondsOf(stdout);
    expect(seconds.map(({ at, name }) => `${at} ${name}`)).toEqual(['0 person', '1 person', '2 person']);
    for (const { count, score, edges } of seconds) {
      expect(count).toBeGreaterThan(0.5);
      expect(count).toBeLessThanOrEqual(2);
      expect(score).toBe('-');
      expect(edges).toMatch(/^±\d+\.\d px$/);
    }
  });

  it.skipIf(!ffmpegAvailable || dataNote !== '')(
    `names the classes where one is unknown${dataNote}`,
    async () => {
      const { code, stderr } = await runSample('people-counter', [nanodet!, walkers!, 'persn']);
      expect(code).toBe(2);
      expect(stderr).toMatch(/does not know 'persn', but: person, bicycle/);
    },
  );
});

describe(`people-counter interrupted${ffmpegNote}`, () => {
  it.skipIf(!ffmpegAvailable)('ends by itself, with the code of an interrupted program', async () => {
    const { code, stdout, stderr } = await runSample('people-counter', [], / 0 s /);
    expect(stderr).toBe('');
    expect(code).toBe(130);
    expect(secondsOf(stdout).length).toBeLessThan(8);
  });
});

describe('uncertain-boxes', () => {
  it('lists the boxes of its stand-in, the least certain first', async () => {
    const { code, stdout, stderr } = await runSample('uncertain-boxes');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const boxes = boxesOf(stdout);
    expect(boxes).toHaveLength(12);
    const shares = boxes.map(({ share }) => share);
    expect(shares).toEqual([...shares].sort((a, b) => b - a));
    for (const { sigmas } of boxes) for (const sigma of sigmas) expect(sigma).toBeGreaterThan(1);
  });

  it.skipIf(dataNote !== '')(`lists real boxes whose four edges differ${dataNote}`, async () => {
    const { code, stdout } = await runSample('uncertain-boxes', [nanodet!, pictures!]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+ boxes in 5 pictures/);
    const boxes = boxesOf(stdout);
    expect(boxes).toHaveLength(12);
    expect(boxes.filter(({ sigmas }) => new Set(sigmas).size > 1).length).toBeGreaterThan(6);
  });

  it.skipIf(dataNote !== '')(
    `refuses a model without edges in words, without a stack${dataNote}`,
    async () => {
      const { code, stdout, stderr } = await runSample('uncertain-boxes', [yolox!, pictures!]);
      expect(code).toBe(5);
      expect(stdout).toBe('');
      expect(stderr).toMatch(/yolox_nano\.onnx gives no variance of its boxes/);
      expect(stderr).not.toMatch(/^ +at /m);
    },
  );

  it('says which file is missing', async () => {
    const { code, stderr } = await runSample('uncertain-boxes', ['absent.onnx', '.']);
    expect(code).toBe(5);
    expect(stderr).toContain('absent.onnx');
  });
});
