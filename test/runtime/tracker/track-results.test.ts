// Tracks over the results of a source, and over a real run: when tracks end, what is reported.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError, createLetterbox, type Detection, type ThresholdPolicy } from '#core';
import { serialize, standInDetector } from '#onnx';
import {
  type DetectionsOptions,
  detections,
  type Frame,
  type FrameResult,
  type FrameSource,
  type OpenDetector,
  openDetector,
} from '#runtime';
import { trackResults } from '../../../runtime/tracker/index.ts';

const SIZE = { width: 640, height: 360 };

function car(x: number, score = 0.8, more: Partial<Detection> = {}): Detection {
  const box = { x1: x, y1: 100, x2: x + 60, y2: 150 };
  return { box, classId: 0, className: 'car', score, rawScore: score, ...more };
}

function result(
  { seconds, ...frame }: Partial<Frame> & { seconds?: number },
  found: readonly Detection[],
): FrameResult {
  const letterbox = createLetterbox(SIZE, { width: 320, height: 192 });
  const size = frame.letterbox?.frame ?? SIZE;
  return {
    frame: {
      source: 'gate',
      index: 0,
      letterbox,
      content: new Uint8Array(),
      release: () => undefined,
      ...(seconds === undefined ? {} : { ptsSeconds: seconds }),
      ...frame,
    },
    size,
    detections: found,
  };
}

const idsOf = ({ detections: found }: FrameResult) => found.map(({ trackId }) => trackId);

describe('tracking the results of a source', () => {
  it('ends tracks where a camera was connected again, and gives no id twice', () => {
    const follow = trackResults({});
    expect(idsOf(follow(result({ seconds: 0, connection: 0 }, [car(0)])))).toEqual([1]);
    expect(idsOf(follow(result({ seconds: 0.1, connection: 0 }, [car(0)])))).toEqual([1]);
    expect(idsOf(follow(result({ seconds: 0.2, connection: 1 }, [car(0)])))).toEqual([2]);
  });

  it('ends tracks where the picture changes its size: px mean something else', () => {
    const follow = trackResults({});
    const letterbox = createLetterbox({ width: 1280, height: 720 }, { width: 320, height: 192 });
    expect(idsOf(follow(result({ seconds: 0 }, [car(0)])))).toEqual([1]);
    expect(idsOf(follow(result({ seconds: 0.1, letterbox }, [car(0)])))).toEqual([2]);
  });

  it('begins each file with id 1', () => {
    const follow = trackResults({});
    follow(result({ source: 'a.mp4', seconds: 0 }, [car(0), car(200)]));
    expect(idsOf(follow(result({ source: 'b.mp4', seconds: 0 }, [car(0)])))).toEqual([1]);
  });

  it('leaves a still picture as it is', () => {
    const found = [car(0), car(200, 0.15)];
    expect(trackResults({})(result({}, found)).detections).toEqual(found);
  });

  it('reports of the boxes of tracks those that a rule accepts, and doubtful ones still hold tracks together', () => {
    const follow = trackResults({ shown: { kind: 'fixed', base: 0.5 } });
    const scores = [0.8, 0.8, 0.2, 0.2, 0.2, 0.8];
    const ids = scores.map((score, n) => idsOf(follow(result({ seconds: n / 25 }, [car(8 * n, score)]))));
    expect(ids).toEqual([[1], [1], [], [], [], [1]]);
  });

  it('knows the variance of a score, and refuses a rule that it cannot follow', () => {
    const unsure = car(0, 0.45, { scoreVariance: 0.2 });
    const shownBy = (shown: ThresholdPolicy) =>
      idsOf(trackResults({ shown })(result({ seconds: 0 }, [unsure, car(300, 0.45)])));
    expect(shownBy({ kind: 'variance', base: 0.5, k: 0.3 })).toEqual([1]);
    expect(shownBy({ kind: 'fixed', base: 0.5 })).toEqual([]);
    expect(() => trackResults({ shown: { kind: 'tail-mass', base: 0.5, probability: 0.5 } })).toThrow(
      ConfigError,
    );
  });
});

describe('tracking in a run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'track-'));
  let detector: OpenDetector;
  beforeAll(async () => {
    const path = join(folder, 'stand-in.onnx');
    writeFileSync(path, serialize(standInDetector({ width: 64, height: 64 })));
    detector = await openDetector(path);
  });
  afterAll(async () => {
    await detector.close();
    rmSync(folder, { recursive: true });
  });

  /** A white square that moves by 2 px a frame, 25 frames a second; without frames 10 to 14. */
  const source = (): FrameSource => ({
    name: 'square',
    kind: 'video',
    async *frames({ fit }) {
      for (let index = 0; index < 22; index++) {
        if (index >= 10 && index < 15) continue;
        const content = new Uint8Array(64 * 64 * 3);
        for (let y = 20; y < 40; y++)
          content.fill(255, (y * 64 + 2 * index) * 3, (y * 64 + 2 * index + 20) * 3);
        const letterbox = fit({ width: 64, height: 64 });
        yield {
          source: 'square',
          index,
          ptsSeconds: index / 25,
          letterbox,
          content,
          release: () => undefined,
        };
      }
    },
    stats: () => ({ frames: 22, dropped: 5, reconnects: 0, damaged: 0 }),
  });

  async function tracked(more: Partial<DetectionsOptions>): Promise<(number | undefined)[][]> {
    const ids: (number | undefined)[][] = [];
    for await (const found of detections({ source: source(), detector, ...more })) ids.push(idsOf(found));
    return ids;
  }

  it('gives what moves one id, over frames that are missing', async () => {
    const ids = await tracked({ track: {} });
    expect(ids).toHaveLength(17);
    expect(ids.every((found) => found.includes(1))).toBe(true);
    expect((await tracked({})).flat().every((id) => id === undefined)).toBe(true);
  });

  it('lets the thresholds of the light choose among boxes of tracks, not among what the tracker sees', async () => {
    const policy = { kind: 'light', states: new Map(), otherwise: { kind: 'fixed', base: 1 } } as const;
    const ladder = { states: ['all'], boundaries: [], margin: 0, holdSeconds: 0 };
    const ids = await tracked({ track: {}, light: { ladder, policy } });
    expect(ids.flat()).toEqual([]);
    // The detector's own rule was left alone.
    expect((await tracked({ track: {} })).every((found) => found.includes(1))).toBe(true);
  });
});
