// The short way for one picture, on graphs that the project builds itself, through the worker from `dist`.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DataError } from '#core';
import { encodePicture } from '#data/images';
import { serialize, standInDetector } from '#onnx';
import { detectPicture, type OpenDetector, openDetector } from '#runtime';

/** 640 x 320 px, black, with a white rectangle: x 320..480, y 80..240. */
async function whiteOnBlack(): Promise<Uint8Array> {
  const [width, height] = [640, 320];
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 80; y < 240; y++) rgb.fill(255, (y * width + 320) * 3, (y * width + 480) * 3);
  return encodePicture(rgb, { width, height }, 'png');
}

describe('one picture', () => {
  let folder: string;
  let detector: OpenDetector;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'edge-detect-picture-'));
    const model = join(folder, 'stand-in.onnx');
    await writeFile(model, serialize(standInDetector({ width: 320, height: 192 })));
    detector = await openDetector(model);
  });

  afterAll(async () => {
    await detector?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('is read from bytes and gives boxes in its own px', async () => {
    const { detections, size, limitReached, warnings, timing } = await detectPicture(
      detector,
      await whiteOnBlack(),
    );
    expect(size).toEqual({ width: 640, height: 320 });
    expect(detections).toHaveLength(1);
    const { box, className, score } = detections[0]!;
    expect(className).toBe('white');
    expect(score).toBeCloseTo(0.9, 5);
    // Halved to fit: edges are exact to one px of the input, two of the picture.
    const expected = [320, 80, 480, 240];
    for (const [side, value] of [box.x1, box.y1, box.x2, box.y2].entries()) {
      expect(Math.abs(value - (expected[side] ?? Number.NaN))).toBeLessThanOrEqual(2);
    }
    expect(limitReached).toBe(false);
    expect(warnings).toEqual([]);
    expect(timing.inferMs).toBeGreaterThan(0);
  });

  it('is read from a path', async () => {
    const path = join(folder, 'white.png');
    await writeFile(path, await whiteOnBlack());
    expect((await detectPicture(detector, path)).detections).toHaveLength(1);
  });

  it('is named in the error where it cannot be read', async () => {
    await expect(detectPicture(detector, join(folder, 'absent.png'))).rejects.toThrow(
      /absent\.png.*not exist/,
    );
    const damaged = detectPicture(detector, Buffer.from('no picture at all'), { name: 'upload 7' });
    await expect(damaged).rejects.toThrow(DataError);
    await expect(damaged).rejects.toThrow(/upload 7/);
  });
});
