// `edge-detect devices`: what is installed and usable here; with profile=, how to set up a board that is not at hand.
import { EdgeDetectError } from '#core';
import {
  advise,
  type DevicesReport,
  devicesLines,
  findProfile,
  type Probe,
  readHost,
  readMachine,
  readPowerMode,
  recipeLines,
  recipeOf,
} from '#devices';
import { type Gstreamer, locateFfmpeg, locateGstreamer, probeProviders } from '#runtime';
import type { Config } from '../config.ts';
import { defined } from '../open.ts';
import { print, printJson } from '../output.ts';
import { environmentLibrary } from '../runtime-choice.ts';

export async function devices(config: Config): Promise<void> {
  const profile = config.text('profile');
  if (profile !== undefined) {
    const recipe = recipeOf(findProfile(profile));
    if (config.flag('json')) printJson(recipe);
    else for (const line of recipeLines(recipe)) print(line);
    return;
  }
  const report = await readReport(config);
  if (config.flag('json')) printJson(report);
  else for (const line of devicesLines(report)) print(line);
}

async function readReport(config: Config): Promise<DevicesReport> {
  const ortLibrary = config.text('ort_library') ?? environmentLibrary();
  const [host, machine, providers, ffmpeg, gstreamer] = await Promise.all([
    readHost(),
    readMachine({ environment: process.env, folder: process.cwd(), ...defined('ortLibrary', ortLibrary) }),
    probeProviders(defined('ortLibrary', ortLibrary)),
    probeFfmpeg(config.text('ffmpeg')),
    findGstreamer(),
  ]);
  const powerMode = machine.jetson === undefined ? undefined : await readPowerMode();
  const extras = {
    ...defined('powerMode', powerMode),
    ...defined('elements', 'elements' in gstreamer ? gstreamer.elements : undefined),
  };
  const programs = [ffmpeg, 'elements' in gstreamer ? describeGstreamer(gstreamer) : gstreamer];
  return { host, machine, advice: advise(machine, extras), providers, programs };
}

async function probeFfmpeg(path: string | undefined): Promise<Probe> {
  try {
    const ffmpeg = await locateFfmpeg(defined('ffmpeg', path));
    const [encoders, hwaccels] = await Promise.all([ffmpeg.encoders(), ffmpeg.hwaccels()]);
    const video = ['libx264', 'h264_nvenc', 'h264_v4l2m2m', 'h264_vaapi', 'mpeg4'].filter((name) =>
      encoders.has(name),
    );
    const accelerated = hwaccels.length === 0 ? '' : `; hwaccels ${hwaccels.join(', ')}`;
    return {
      name: 'ffmpeg',
      status: 'available',
      detail: `${ffmpeg.versionText}; encoders ${video.join(', ')}${accelerated}`,
    };
  } catch (error) {
    return missing('ffmpeg', error);
  }
}

async function findGstreamer(): Promise<Gstreamer | Probe> {
  try {
    return await locateGstreamer();
  } catch (error) {
    return missing('gstreamer', error);
  }
}

/** Those that a Jetson's sources need, and how the pictures reach this program. */
const TELLING = [
  'nvarguscamerasrc',
  'nvv4l2decoder',
  'nvvidconv',
  'nvv4l2h264enc',
  'gdppay',
  'rtspsrc',
  'avdec_h264',
];

function describeGstreamer({ version, elements }: Gstreamer): Probe {
  const [here, absent] = [true, false].map((wanted) =>
    TELLING.filter((name) => elements.has(name) === wanted),
  );
  const without = absent?.length === 0 ? '' : `; without ${absent?.join(', ')}`;
  return {
    name: 'gstreamer',
    status: 'available',
    detail: `${version}; elements ${here?.join(', ')}${without}`,
  };
}

function missing(name: string, error: unknown): Probe {
  if (!(error instanceof EdgeDetectError)) throw error;
  return { name, status: 'missing', reason: error.message, hint: error.hint };
}
