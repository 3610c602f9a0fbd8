import { createReadStream, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SourceError } from '#core';
import { openVideoSource } from '../../../runtime/sources/open-video.ts';
import { ClipFolder, probedTimes, runFfmpeg } from '../../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';
import { livingChildren } from '../../support/processes.ts';
import { readAll } from '../../support/read-frames.ts';

describe.skipIf(!ffmpegAvailable)(`standard input${ffmpegNote}`, () => {
  let clips: ClipFolder;
  beforeAll(() => {
    clips = new ClipFolder();
  });
  afterAll(() => {
    clips.remove();
    expect(livingChildren()).toEqual([]);
  });

  it.each(['ts', 'mkv'])('reads an encoded video (%s) to its end', async (kind) => {
    const path = clips.h264(`piped.${kind}`, '320x180', 25, 200);
    const source = await openVideoSource('-', { stdin: createReadStream(path, { highWaterMark: 5000 }) });
    expect(source).toMatchObject({ name: 'standard input', kind: 'video' });
    const { frames, events } = await readAll(source);
    expect(frames.map(({ ptsSeconds }) => ptsSeconds)).toEqual(probedTimes(path));
    expect(events).toMatchObject([{ kind: 'open', size: { width: 320, height: 180 } }]);
  });

  it('reads raw frames', async () => {
    const raw = runFfmpeg(
      '-f',
      'lavfi',
      '-i',
      'testsrc2=size=160x90:rate=20',
      '-frames:v',
      '15',
      '-pix_fmt',
      'rgb24',
      '-f',
      'rawvideo',
      'pipe:1',
    );
    const source = await openVideoSource('-', { stdin: Readable.from(raw), raw: 'rgb24:160x90@20' });
    const { frames } = await readAll(source);
    expect(frames.map(({ ptsSeconds }) => ptsSeconds)).toEqual(frames.map((_, index) => index / 20));
    expect(frames.length).toBe(15);
    const first = raw.subarray(0, 160 * 90 * 3);
    const distance = first.reduce(
      (sum, value, index) => sum + Math.abs(value - frames[0]!.content[index]!),
      0,
    );
    expect(distance / first.length).toBeLessThan(6); // sharp coloured edges, through 4:2:0
  });

  it.each<[string, () => Readable, RegExp]>([
    ['nothing', () => Readable.from([]), /standard input: nothing came in/],
    ['a text', () => Readable.from(['hello\n'.repeat(1000)]), /standard input: this is not a readable video/],
    [
      'an mp4 with its index at the end',
      () => Readable.from(readFileSync(clips.h264('tail.mp4', '320x180', 25, 60))),
      /standard input: no frame could be decoded/,
    ],
  ])('says what is wrong with %s', async (_title, input, words) => {
    const attempt = (async () => readAll(await openVideoSource('-', { stdin: input() })))();
    await expect(attempt).rejects.toThrow(SourceError);
    await expect(attempt).rejects.toThrow(words);
  });
});
