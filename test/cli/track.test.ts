// Tracking as a user asks for it: the sample model on a sample clip.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonLines, runCli } from '../support/cli.ts';
import { ffmpegAvailable } from '../support/ffmpeg-available.ts';

const sample = (name: string) => fileURLToPath(new URL(`../../samples/${name}`, import.meta.url));
const MODEL = `model=${sample('model/edge-n-street.onnx')}`;
const CLIP = `source=${sample('clips/day.mp4')}`;

interface Line {
  readonly frame: number;
  readonly detections: readonly {
    readonly name: string;
    readonly confidence: number;
    readonly track_id?: number;
  }[];
}

describe.skipIf(!ffmpegAvailable)('track=True', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'track-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function lines(words: readonly string[]): Promise<readonly Line[]> {
    const { code, stdout, stderr } = await runCli([...words, MODEL, CLIP, 'max_frames=24'], { cwd: folder });
    expect(stderr).not.toContain('error');
    expect(code).toBe(0);
    return jsonLines<Line>(stdout);
  }

  it('gives every box the id of its track, in JSON lines and CSV alike', async () => {
    const found = await lines(['track', 'save_csv=True']);
    expect(found).toHaveLength(24);
    for (const { detections } of found) {
      const ids = detections.map((detection) => detection.track_id);
      expect(ids.every((id) => Number.isInteger(id) && id! >= 1)).toBe(true);
      expect(new Set(ids).size).toBe(ids.length);
    }
    // The white car in the middle of the road is there from first to last, under one id and one name.
    const first = found[0]!.detections[0]!;
    expect(first).toMatchObject({ name: 'car', track_id: 1 });
    expect(
      found.filter(({ detections }) => detections.some(({ track_id: id }) => id === 1)).length,
    ).toBeGreaterThan(20);
    // Boxes that are not sure enough for conf=0.25 hold tracks together.
    expect(Math.min(...found.flatMap(({ detections }) => detections.map((d) => d.confidence)))).toBeLessThan(
      0.25,
    );
    const [head, row] = (await readFile(join(folder, 'runs/detect/predict/predictions.csv'), 'utf8')).split(
      '\n',
    );
    expect(head!.endsWith(',track_id')).toBe(true);
    expect(row!.endsWith(',1')).toBe(true);
  }, 60_000);

  it('with conf= gives of the same tracks the boxes above it', async () => {
    const all = await lines(['track']);
    const sure = await lines(['stream', 'track=True', 'conf=0.4']);
    const of = (found: readonly Line[]) =>
      found.flatMap(({ frame, detections }) =>
        detections.filter((d) => d.confidence > 0.4).map((d) => `${frame} ${d.track_id} ${d.confidence}`),
      );
    expect(of(sure)).toEqual(of(all));
    expect(sure.flatMap(({ detections }) => detections).every((d) => d.confidence > 0.4)).toBe(true);
    expect(of(sure).length).toBeGreaterThan(20);
  }, 60_000);

  it('is refused where it could not work, and so are its options without it', async () => {
    const faults = [
      { words: ['stream', 'track_buffer=60'], says: /track_buffer= has no effect here: it needs track=True/ },
      { words: ['track', 'threshold=tail-mass'], says: /tail-mass cannot choose among the boxes of tracks/ },
      {
        words: ['track', 'track_low_thresh=0.5'],
        says: /track_low_thresh=0\.5 is above track_high_thresh=0\.25/,
      },
      { words: ['track', 'match_thresh=2'], says: /match_thresh=2: expected a number from 0 to 1/ },
    ];
    for (const { words, says } of faults) {
      const { code, stderr } = await runCli([...words, MODEL, CLIP], { cwd: folder });
      expect(stderr).toMatch(says);
      expect(code).toBe(3);
    }
    const other = await runCli(['predict', 'track=True', MODEL, CLIP], { cwd: folder });
    expect(other.stderr).toMatch(/predict has no option track=\n.*stream/);
    expect(other.code).toBe(2);
  }, 60_000);
});
