// A clip drawn by ffmpeg for the demo without data: a bright square that crosses a dark picture while dusk falls.
import { DeviceError } from '#core';
import { buildArguments, type Ffmpeg, fileUrl, spawnChild } from './ffmpeg/index.ts';

/** Size in px, rate and length of what `drawDuskClip` draws. */
export const DUSK_CLIP = { width: 640, height: 384, framesPerSecond: 25, seconds: 8 } as const;

/** The square is at full brightness for a second, then fades to about a third. */
export async function drawDuskClip(ffmpeg: Ffmpeg, path: string): Promise<void> {
  const { width, height, framesPerSecond, seconds } = DUSK_CLIP;
  const square = `color=c=white:s=128x128:r=${framesPerSecond}:d=${seconds},fade=t=out:st=1:d=11`;
  const night = `color=c=0x101010:s=${width}x${height}:r=${framesPerSecond}:d=${seconds}`;
  const args = buildArguments({
    inputs: [
      { url: night, options: ['-f', 'lavfi'] },
      { url: square, options: ['-f', 'lavfi'] },
    ],
    filterGraph: `[0:v][1:v]overlay=x='64+48*t':y='128+32*sin(t)':eval=frame,format=yuv420p[out]`,
    outputs: [{ target: fileUrl(path), options: ['-map', '[out]', '-c:v', 'mpeg4', '-q:v', '3'] }],
  });
  const child = spawnChild(ffmpeg.path, ['-y', ...args]);
  child.stdout.resume();
  const { code, reason } = await child.exited;
  if (code !== 0) {
    throw new DeviceError(`ffmpeg could not draw the demo clip: ${reason}`, {
      hint: 'check the free space in the temporary folder',
    });
  }
}
