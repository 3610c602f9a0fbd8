// Finds the GStreamer that is installed here, and which of its elements are.
import { type ExecFileException, execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DeviceError } from '#core';

/** A gst-launch-1.0 that was found and answered. */
export interface Gstreamer {
  readonly launchPath: string;
  /** `1.22.0` */
  readonly version: string;
  /** Names of all elements. Asked for once, since each question starts a program. */
  readonly elements: ReadonlySet<string>;
}

/** Where elements come from on Debian, Ubuntu and JetPack. */
const PACKAGES: readonly (readonly [pattern: RegExp, debianPackage: string])[] = [
  [/^nv/, 'nvidia-l4t-gstreamer'],
  [/^(?:gdppay|h26[45]parse)$/, 'gstreamer1.0-plugins-bad'],
  [/^(?:rtspsrc|rtp|qtdemux|videoflip)/, 'gstreamer1.0-plugins-good'],
  [/^avdec_/, 'gstreamer1.0-libav'],
  [/^(?:video(?:convert|scale)|decodebin|parsebin)$/, 'gstreamer1.0-plugins-base'],
  [/./, 'libgstreamer1.0-0'],
];

const INSTALL =
  'sudo apt-get install gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-libav';

/**
 * @param launchPath path or name of gst-launch-1.0; else GST_LAUNCH_PATH, else from PATH. gst-inspect-1.0 lies beside it
 * @throws DeviceError where there is none or it does not run
 */
export async function locateGstreamer(
  launchPath = process.env['GST_LAUNCH_PATH'] || 'gst-launch-1.0',
): Promise<Gstreamer> {
  const [banner, listing] = await Promise.all([
    output(launchPath, ['--version']),
    output(inspectBeside(launchPath), []),
  ]);
  const version = /GStreamer (\d+\.\d+\.\d+)/.exec(banner)?.[1];
  if (version === undefined) {
    throw new DeviceError(`${launchPath} does not answer like gst-launch-1.0`, { hint: INSTALL });
  }
  return { launchPath, version, elements: parseElements(listing) };
}

/** `videoscale:  videoscale: Video scaler`; lines of typefinders and plugins have another form. */
function parseElements(listing: string): ReadonlySet<string> {
  return new Set([...listing.matchAll(/^\S+: +([^\s:]+): /gm)].map((match) => match[1] ?? ''));
}

/**
 * Before a pipeline is started: gst-launch-1.0 itself names one missing element at a time, and no package.
 * @throws DeviceError naming what is missing and the packages
 */
export function expectElements({ elements }: Gstreamer, needed: readonly string[]): void {
  const missing = [...new Set(needed)].filter((name) => !elements.has(name));
  if (missing.length === 0) return;
  const names = missing.join(', ');
  const noun = missing.length === 1 ? 'element' : 'elements';
  throw new DeviceError(`GStreamer has no ${noun} ${names} here`, { hint: elementHint(missing) });
}

/** Which packages bring these elements. */
export function elementHint(missing: readonly string[]): string {
  const packages = new Set(
    missing.map((name) => PACKAGES.find(([pattern]) => pattern.test(name))?.[1] ?? ''),
  );
  const command = `sudo apt-get install ${[...packages].join(' ')}`;
  return packages.has('nvidia-l4t-gstreamer')
    ? `${command} (JetPack only; in a container, mount the host's plugins: --runtime nvidia)`
    : command;
}

function inspectBeside(launchPath: string): string {
  if (!launchPath.includes('/')) return 'gst-inspect-1.0';
  const beside = join(dirname(launchPath), 'gst-inspect-1.0');
  return existsSync(beside) ? beside : 'gst-inspect-1.0';
}

function output(path: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    // The first run on a machine scans all plugins, which takes many seconds on a board.
    execFile(path, args, { timeout: 60_000, maxBuffer: 16 << 20 }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(notUsable(path, error));
    });
  });
}

function notUsable(path: string, cause: ExecFileException): DeviceError {
  const why = cause.code === 'ENOENT' ? 'was not found' : `does not run (${cause.message.trim()})`;
  return new DeviceError(`GStreamer is needed for this source, and ${path} ${why}`, {
    hint: INSTALL,
    cause,
  });
}
