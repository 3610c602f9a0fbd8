// Finds the ffmpeg that is installed here and learns which names it has for the options that changed over the years.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DeviceError } from '#core';

/** Where to look for ffmpeg; without anything, FFMPEG_PATH and PATH. */
export interface LocateOptions {
  /** Path or name of the program; before FFMPEG_PATH and `ffmpeg` on PATH. */
  readonly ffmpeg?: string;
  /** Before FFPROBE_PATH, a neighbour of the ffmpeg found, and `ffprobe` on PATH. */
  readonly ffprobe?: string;
  readonly environment?: NodeJS.ProcessEnv;
}

/** An ffmpeg that was found and answered. */
export interface Ffmpeg {
  readonly path: string;
  readonly probePath: string;
  /** First line of `-version`; release builds, snapshots and forks write it differently. */
  readonly versionText: string;
  /** Version of libavformat: the number that is comparable between builds. */
  readonly libavformat: { readonly major: number; readonly minor: number };
  readonly dialect: FfmpegDialect;
  /** Names of the encoders that this build has. Runs ffmpeg when first asked. */
  encoders(): Promise<ReadonlySet<string>>;
  /** Names for `-hwaccel` that this build knows; whether the hardware is there is not said. Runs ffmpeg. */
  hwaccels(): Promise<readonly string[]>;
}

/** Options whose name depends on the version. */
export interface FfmpegDialect {
  /** Gives up a silent RTSP connection after so many µs (ffmpeg counts about four times as long). */
  readonly rtspTimeout: '-timeout' | '-stimeout';
  /** Every frame once, with its own time. */
  readonly passthrough: readonly string[];
}

const INSTALL_HINT =
  'install it (Debian, Ubuntu, Jetson: apt-get install ffmpeg; macOS: brew install ffmpeg), or set FFMPEG_PATH';

/** @throws DeviceError where ffmpeg is missing or does not run */
export async function locateFfmpeg(options: LocateOptions = {}): Promise<Ffmpeg> {
  const environment = options.environment ?? process.env;
  const path = options.ffmpeg ?? nonEmpty(environment['FFMPEG_PATH']) ?? 'ffmpeg';
  const banner = await output(path, ['-version'], environment);
  const version = /libavformat\s+(\d+)\.\s*(\d+)/.exec(banner);
  if (version === null) {
    throw new DeviceError(`${path} does not answer like ffmpeg: no libavformat in the output of -version`, {
      hint: INSTALL_HINT,
    });
  }
  const libavformat = { major: Number(version[1]), minor: Number(version[2]) };
  let encoders: Promise<ReadonlySet<string>> | undefined;
  return {
    path,
    probePath: options.ffprobe ?? nonEmpty(environment['FFPROBE_PATH']) ?? neighbour(path) ?? 'ffprobe',
    versionText: banner.split('\n', 1)[0]?.trim() ?? '',
    libavformat,
    dialect: dialectOf(libavformat),
    encoders: () => {
      encoders ??= output(path, ['-hide_banner', '-encoders'], environment).then(parseEncoders);
      return encoders;
    },
    hwaccels: async () => parseHwaccels(await output(path, ['-hide_banner', '-hwaccels'], environment)),
  };
}

/** `-timeout` means "listen" before libavformat 59 (ffmpeg 5.0); `-fps_mode` came with 59.27 (5.1), `-vsync` goes with 9. */
export function dialectOf({ major, minor }: Ffmpeg['libavformat']): FfmpegDialect {
  const hasFpsMode = major > 59 || (major === 59 && minor >= 27);
  return {
    rtspTimeout: major >= 59 ? '-timeout' : '-stimeout',
    passthrough: hasFpsMode ? ['-fps_mode', 'passthrough'] : ['-vsync', 'passthrough'],
  };
}

function parseEncoders(listing: string): ReadonlySet<string> {
  const names = listing.matchAll(/^ [VAS][A-Z.]{5} (\S+)/gm);
  return new Set([...names].map((match) => match[1] ?? '').filter((name) => name !== '' && name !== '='));
}

function parseHwaccels(listing: string): readonly string[] {
  const names = listing.split('\n').slice(1);
  return [...new Set(names.map((line) => line.trim()).filter((name) => name !== ''))];
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

function neighbour(ffmpegPath: string): string | undefined {
  if (!/[/\\]/.test(ffmpegPath)) return undefined;
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const path = join(dirname(ffmpegPath), `ffprobe${suffix}`);
  return existsSync(path) ? path : undefined;
}

function output(path: string, args: readonly string[], environment: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(path, args, { env: environment, timeout: 20_000, maxBuffer: 4 << 20 }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(notUsable(path, error));
    });
  });
}

function notUsable(path: string, cause: Error): DeviceError {
  const code = 'code' in cause ? cause.code : undefined;
  const why =
    code === 'ENOENT'
      ? 'was not found'
      : code === 'EACCES'
        ? 'is not executable'
        : `does not run (${cause.message.trim()})`;
  return new DeviceError(`ffmpeg is needed for video, and ${path} ${why}`, { hint: INSTALL_HINT, cause });
}
