// Sources that GStreamer reads: a Jetson's CSI camera, and RTSP and files where decoder=gstreamer asks for it.
import { resolve } from 'node:path';
import { ConfigError, type Size, UsageError } from '#core';
import { fileUrl, locateFfmpeg, redactCredentials } from '../ffmpeg/index.ts';
import { GstreamerDecoder } from './gstreamer-decoder.ts';
import { expectElements, type Gstreamer, locateGstreamer } from './gstreamer-locate.ts';
import { type GstreamerInput, hasHardwareDecoder, pipelineElements } from './gstreamer-pipeline.ts';
import { type LiveSettings, LiveSource } from './live.ts';
import { cameraDevice, protocolOf } from './live-input.ts';
import type { OpenVideoOptions } from './open-video.ts';
import { expectFile, probeVideo } from './probe.ts';
import type { FrameSource } from './source.ts';
import { VideoSource } from './video-file.ts';

const CSI_SIZE: Size = { width: 1920, height: 1080 };
const CSI_RATE = 30;

/** True for `csi://…`, and for everything where `decoder` says so. */
export function isGstreamerSource(spec: string, { decoder }: OpenVideoOptions): boolean {
  return decoder === 'gstreamer' || protocolOf(spec) === 'csi';
}

/**
 * Pictures are decoded and scaled by Jetson's elements where both nvv4l2decoder and nvvidconv are installed, else in
 * software. Behaves as the sources of ffmpeg do: watchdog, reconnection, newest picture, counted drops.
 * @throws DeviceError naming a missing element and its package; ConfigError for options that GStreamer does not have here
 */
export async function openGstreamer(spec: string, options: OpenVideoOptions): Promise<FrameSource> {
  expectNoFfmpegOptions(spec, options);
  const protocol = protocolOf(spec);
  if (protocol === 'csi') return openCsi(spec, options);
  if (protocol === 'rtsp' || protocol === 'rtsps') return openRtsp(spec, options);
  if (spec === '-' || cameraDevice(spec) !== undefined || (protocol !== '' && protocol !== 'file')) {
    throw new ConfigError(
      `decoder=gstreamer reads files, rtsp:// and csi:// only, and the source is ${redactCredentials(spec)}`,
      { hint: 'leave decoder= away: ffmpeg reads it' },
    );
  }
  return openGstreamerFile(spec, options);
}

/** What all live sources take from the options. */
export function liveSettings(
  options: OpenVideoOptions,
): Omit<LiveSettings, 'name' | 'clock' | 'startDecoder'> {
  const { buffer, stallSeconds, startSeconds, retries, expectedSize } = options;
  return {
    ...(buffer !== undefined && { buffer }),
    ...(stallSeconds !== undefined && { stallSeconds }),
    ...(startSeconds !== undefined && { startSeconds }),
    ...(retries !== undefined && { retries }),
    ...(expectedSize !== undefined && { expectedSize }),
  };
}

async function openCsi(spec: string, options: OpenVideoOptions): Promise<FrameSource> {
  const input = parseCsi(spec);
  // nvarguscamerasrc gives pictures that only nvvidconv can take.
  return live(options.name ?? spec, { ...options, expectedSize: input.size }, input, true);
}

async function openRtsp(url: string, options: OpenVideoOptions): Promise<FrameSource> {
  const transport = options.rtspTransport ?? 'tcp';
  return live(options.name ?? redactCredentials(url), options, { kind: 'rtsp', url, transport });
}

async function live(
  name: string,
  options: OpenVideoOptions,
  input: GstreamerInput,
  mustBeHardware = false,
): Promise<FrameSource> {
  const { gstreamer, hardware } = await ready(options, input, mustBeHardware);
  const stride = options.stride === undefined ? {} : { stride: options.stride };
  return new LiveSource({
    ...liveSettings(options),
    name,
    // The pipeline's times begin anywhere; their distances are those of the camera.
    clock: 'stream',
    startDecoder: (request, handlers) =>
      new GstreamerDecoder({ gstreamer, input, hardware, ...stride }, request, handlers),
  });
}

async function openGstreamerFile(spec: string, options: OpenVideoOptions): Promise<FrameSource> {
  const path = resolve(spec.replace(/^file:(?:\/\/)?/, ''));
  await expectFile(path);
  const ffmpeg = options.ffmpeg ?? (await locateFfmpeg());
  const name = options.name ?? redactCredentials(spec);
  const url = fileUrl(path);
  const info = await probeVideo(ffmpeg, { url, name, ...(options.signal && { signal: options.signal }) });
  const input: GstreamerInput = { kind: 'file', path, turned: info.turned };
  const { gstreamer, hardware } = await ready(options, input);
  const stride = options.stride === undefined ? {} : { stride: options.stride };
  const { startSeconds } = info;
  return new VideoSource({
    ...stride,
    ffmpeg,
    name,
    info,
    input: { url },
    startDecoder: (request, handlers) =>
      new GstreamerDecoder({ gstreamer, input, hardware, startSeconds, ...stride }, request, handlers),
  });
}

async function ready(
  options: OpenVideoOptions,
  input: GstreamerInput,
  mustBeHardware = false,
): Promise<{ readonly gstreamer: Gstreamer; readonly hardware: boolean }> {
  const gstreamer = options.gstreamer ?? (await locateGstreamer());
  const hardware = mustBeHardware || hasHardwareDecoder(gstreamer);
  expectElements(gstreamer, pipelineElements({ input, hardware }));
  return { gstreamer, hardware };
}

function expectNoFfmpegOptions(spec: string, options: OpenVideoOptions): void {
  const foreign = (
    [
      ['hwaccel', options.hwaccel !== undefined && options.hwaccel !== 'none'],
      ['deinterlace', options.deinterlace === true],
      ['square_pixels', options.squarePixels === true],
    ] as const
  ).find(([, asked]) => asked)?.[0];
  if (foreign === undefined) return;
  const why = protocolOf(spec) === 'csi' ? 'a CSI camera is read by GStreamer' : 'decoder=gstreamer';
  throw new ConfigError(`${foreign}= is an option of ffmpeg, and ${why}`, {
    hint: `leave ${foreign}= away`,
  });
}

/**
 * `csi://0`, `csi://1?size=1280x720&fps=60&flip=2`
 * @throws UsageError for anything else
 */
export function parseCsi(spec: string): Extract<GstreamerInput, { kind: 'csi' }> {
  const match = /^csi:\/\/(\d{1,2})\/?(?:\?(.*))?$/i.exec(spec);
  if (match === null) throw csiUsage(spec, 'expected csi:// and the number of the sensor');
  const values = new URLSearchParams(match[2] ?? '');
  const unknown = [...values.keys()].find((key) => !['size', 'fps', 'flip'].includes(key));
  if (unknown !== undefined) throw csiUsage(spec, `there is no key ${unknown}; there are size, fps and flip`);
  const size = /^(\d{2,5})x(\d{2,5})$/.exec(values.get('size') ?? `${CSI_SIZE.width}x${CSI_SIZE.height}`);
  if (size === null) throw csiUsage(spec, `size=${values.get('size')} is not of the form 1920x1080`);
  const framesPerSecond = Number(values.get('fps') ?? CSI_RATE);
  if (!Number.isInteger(framesPerSecond) || framesPerSecond < 1 || framesPerSecond > 1000)
    throw csiUsage(spec, `fps=${values.get('fps')} is not a whole number from 1 to 1000`);
  const flip = Number(values.get('flip') ?? 0);
  // Quarter turns (1, 3, 5, 7) would change the size.
  if (![0, 2, 4, 6].includes(flip))
    throw csiUsage(spec, 'flip is 0, 2 (upside down), 4 (left to right) or 6 (top to bottom)');
  return {
    kind: 'csi',
    sensor: Number(match[1]),
    size: { width: Number(size[1]), height: Number(size[2]) },
    framesPerSecond,
    flip,
  };
}

function csiUsage(spec: string, what: string): UsageError {
  return new UsageError(`source=${spec}: ${what}`, {
    hint: 'write source=csi://0 or source="csi://0?size=1280x720&fps=60&flip=2"',
  });
}
