import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeviceError } from '#core';
import { dialectOf, locateFfmpeg } from '../../../runtime/ffmpeg/locate.ts';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'locate-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function program(name: string, answer: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\ncat <<'END'\n${answer}\nEND\n`);
  await chmod(path, 0o755);
  return path;
}

describe('dialectOf', () => {
  it.each([
    [58, 76, '-stimeout', '-vsync'], // ffmpeg 4.4
    [59, 16, '-timeout', '-vsync'], // 5.0
    [59, 27, '-timeout', '-fps_mode'], // 5.1
    [62, 3, '-timeout', '-fps_mode'], // 8
  ])('libavformat %i.%i', (major, minor, rtspTimeout, passthrough) => {
    expect(dialectOf({ major, minor })).toEqual({ rtspTimeout, passthrough: [passthrough, 'passthrough'] });
  });
});

describe('locateFfmpeg', () => {
  it('reads the version of a snapshot build that has no release number', async () => {
    const path = await program(
      'snapshot',
      'ffmpeg version N-47683-g0e8eb07980\nlibavformat    58. 24.101 / 58. 24.101',
    );
    const found = await locateFfmpeg({ environment: { PATH: process.env['PATH'], FFMPEG_PATH: path } });
    expect(found).toMatchObject({
      path,
      libavformat: { major: 58, minor: 24 },
      dialect: { rtspTimeout: '-stimeout' },
    });
    expect(found.versionText).toBe('ffmpeg version N-47683-g0e8eb07980');
  });

  it('names the package where ffmpeg is missing', async () => {
    const attempt = locateFfmpeg({ ffmpeg: join(folder, 'absent'), environment: {} });
    await expect(attempt).rejects.toThrow(DeviceError);
    await expect(attempt).rejects.toMatchObject({
      message: expect.stringContaining('was not found'),
      hint: expect.stringContaining('apt-get install ffmpeg'),
    });
  });

  it('refuses a program that is not ffmpeg', async () => {
    await expect(locateFfmpeg({ ffmpeg: await program('other', 'hello') })).rejects.toThrow('no libavformat');
  });

  it.skipIf(!ffmpegAvailable)(`lists the encoders of the real one${ffmpegNote}`, async () => {
    const encoders = await (await locateFfmpeg()).encoders();
    expect(encoders).toContain('rawvideo');
    expect(encoders).not.toContain('=');
  });
});
