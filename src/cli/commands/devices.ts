// `edge-detect devices`: what is installed and usable here.
import { EdgeDetectError } from '#core';
import { type DevicesReport, devicesLines, type Probe, readHost } from '#devices';
import { locateFfmpeg, probeProviders } from '#runtime';
import type { Config } from '../config.ts';
import { defined } from '../open.ts';
import { print, printJson } from '../output.ts';

export async function devices(config: Config): Promise<void> {
  const report: DevicesReport = {
    host: await readHost(),
    providers: await probeProviders(),
    programs: [await probeFfmpeg(config.text('ffmpeg'))],
  };
  if (config.flag('json')) printJson(report);
  else for (const line of devicesLines(report)) print(line);
}

async function probeFfmpeg(path: string | undefined): Promise<Probe> {
  try {
    const ffmpeg = await locateFfmpeg(defined('ffmpeg', path));
    const encoders = await ffmpeg.encoders();
    const video = ['libx264', 'h264_nvenc', 'h264_v4l2m2m', 'h264_vaapi', 'mpeg4'].filter((name) =>
      encoders.has(name),
    );
    return {
      name: 'ffmpeg',
      status: 'available',
      detail: `${ffmpeg.versionText}; encoders ${video.join(', ')}`,
    };
  } catch (error) {
    if (!(error instanceof EdgeDetectError)) throw error;
    return { name: 'ffmpeg', status: 'missing', reason: error.message, hint: error.hint };
  }
}
