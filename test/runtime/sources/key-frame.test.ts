// A live stream that is joined between two key frames: nothing is shown of what a decoder makes up until the next one.
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { createLetterbox, DEFAULT_FIT, measureLight } from '#core';
import { openSource } from '#runtime';
import { ClipFolder } from '../../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';

const NIGHT = fileURLToPath(new URL('../../../samples/clips/night.mp4', import.meta.url));
const SIZE = { width: 320, height: 192 };
const PACKET_BYTES = 188;
/** Of 24 s of video, in 12 s: what ffmpeg has not read yet when its decoder starts is still enough. */
const STEPS = 240;
const STEP_MS = 50;

/** Sends what is left of an MPEG-TS after its beginning was cut off, twice as fast as it was taken. */
function serveLate(path: string, share: number) {
  const all = readFileSync(path);
  const cut = all.subarray(PACKET_BYTES * Math.round((share * all.length) / PACKET_BYTES));
  return createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('close', () => socket.destroy());
    void (async () => {
      for (let step = 0; step < STEPS && !socket.destroyed; step++) {
        const [from, to] = [step, step + 1].map((place) => Math.round((place * cut.length) / STEPS));
        socket.write(cut.subarray(from, to));
        await sleep(STEP_MS);
      }
      socket.end();
    })();
  });
}

describe.skipIf(!ffmpegAvailable)(`a stream joined between two key frames${ffmpegNote}`, () => {
  const clips = new ClipFolder();
  afterAll(() => clips.remove());

  it('begins with the next key frame, so that night is not taken for day', { timeout: 60_000 }, async () => {
    const clip = clips.draw(
      'night.ts',
      ...['-stream_loop', '2', '-i', NIGHT],
      '-c:v',
      'mpeg4',
      '-q:v',
      '4',
      '-g',
      '48',
      '-f',
      'mpegts',
    );
    const server = serveLate(clip, 0.1);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const source = await openSource(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const values: number[] = [];
    try {
      for await (const frame of source.frames({
        fit: (size) => createLetterbox(size, SIZE, DEFAULT_FIT),
        full: false,
        signal: AbortSignal.timeout(50_000),
      })) {
        const { width, height } = frame.letterbox.content;
        values.push(measureLight(frame.content, width, height).value);
        frame.release();
        if (values.length === 12) break;
      }
    } finally {
      server.close();
    }
    expect(values).toHaveLength(12);
    // The frames that are left out measure 1 to 3.5: day.
    expect(Math.max(...values)).toBeLessThan(-1);
  });
});
