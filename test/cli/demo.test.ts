// The demo as a person with a fresh clone sees it: the sample model on the sample clips, nothing else at hand.
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';
import { ffmpegAvailable } from '../support/ffmpeg-available.ts';

describe.skipIf(!ffmpegAvailable)('the demo', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'demo-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('finds objects of the street in every light, and says how sure it is', async () => {
    const { code, stdout } = await runCli(['demo'], { cwd: folder });
    expect(code).toBe(0);
    const rows = new Map(
      [...stdout.matchAll(/^ +(day|dusk|night) +(\d+) of (\d+) +(\d+) +([\d.]+) +([\d.]+)/gm)].map((row) => [
        row[1],
        {
          found: Number(row[2]),
          objects: Number(row[3]),
          alarms: Number(row[4]),
          score: Number(row[5]),
          std: Number(row[6]),
        },
      ]),
    );
    const [day, dusk, night] = [rows.get('day')!, rows.get('dusk')!, rows.get('night')!];
    expect(day.objects).toBe(2396);
    for (const { found, objects, alarms, score, std } of [day, dusk, night]) {
      expect(found / objects).toBeGreaterThan(0.1);
      expect(alarms).toBeLessThan(1.5 * found);
      expect(score).toBeGreaterThan(0.25);
      expect(std).toBeGreaterThan(0);
      expect(std).toBeLessThan(0.5);
    }
    const files = await readdir(join(folder, 'runs/demo/demo'));
    expect(files.sort()).toEqual(['day.mp4', 'dusk.mp4', 'night.mp4']);
    for (const file of files) {
      expect((await stat(join(folder, 'runs/demo/demo', file))).size).toBeGreaterThan(10_000);
    }
  }, 120_000);

  it('wants model and source together', async () => {
    const { code, stderr } = await runCli(['demo', 'model=x.onnx'], { cwd: folder });
    expect(code).toBe(3);
    expect(stderr).toContain('source= is missing');
  });
});
