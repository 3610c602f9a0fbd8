// Annotated copies: the painted picture under the original's name, turned once, nothing overwritten.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readPicture } from '#data/images';
import { createAnnotatedPictures } from '../../../runtime/sinks/annotated-pictures.ts';
import { createPainter } from '../../../runtime/sinks/paint/index.ts';
import { CAR, result } from './results.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'edge-detect-annotated-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const full = () =>
  ({ format: 'rgb24', width: 200, height: 100, data: new Uint8Array(60_000).fill(50) }) as const;

it('writes each picture under its name, in its format', async () => {
  const sink = createAnnotatedPictures({ folder, painter: createPainter() });
  for (const source of ['a/x.JPG', 'b/x.jpg', 'a/x.png', 'a/scan.bmp'])
    await sink.write(result({ source, full: full() }));
  await sink.close();
  expect(readdirSync(folder).sort()).toEqual(['scan.png', 'x-2.jpg', 'x.JPG', 'x.png']);
  expect((await readPicture(join(folder, 'x.JPG'))).format).toBe('jpeg');
  const png = await readPicture(join(folder, 'x.png'));
  expect(png.size).toEqual({ width: 200, height: 100 });
  expect([...png.rgb.subarray(0, 3)]).toEqual([50, 50, 50]);
  const edge = (50 * 200 + 110) * 3; // on the right edge of the box
  expect([...png.rgb.subarray(edge, edge + 3)]).not.toEqual([50, 50, 50]);
  expect(sink.outputs).toEqual([folder]);
});

it('says that it needs the whole frame', async () => {
  const sink = createAnnotatedPictures({ folder, painter: createPainter() });
  await expect(sink.write(result({ source: 'a.jpg', detections: [CAR] }))).rejects.toThrow(
    /whole frame in rgb24, found none/,
  );
});

it('names the folder that is gone', async () => {
  const sink = createAnnotatedPictures({ folder: join(folder, 'gone'), painter: createPainter() });
  await expect(sink.write(result({ source: 'a.jpg', full: full() }))).rejects.toThrow(
    /cannot write .*gone.*folder does not exist/,
  );
});
