// Opens everything that moves: files, pipes, network streams and cameras. Says which of them end and which do not.
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { type Size, SourceError, UsageError } from '#core';
import { type CommandInput, type Ffmpeg, fileUrl, locateFfmpeg, redactCredentials } from '../ffmpeg/index.ts';
import { Decoder, type DecoderOptions } from './decoder.ts';
import type { FrameDecoder, StartDecoder } from './frame-decoder.ts';
import { isGstreamerSource, liveSettings, openGstreamer } from './gstreamer.ts';
import type { Gstreamer } from './gstreamer-locate.ts';
import { httpKind } from './http-kind.ts';
import { LiveSource } from './live.ts';
import { cameraDevice, isPlaylist, type LiveInputOptions, liveInput, protocolOf } from './live-input.ts';
import { expectFile, type ProbeInput, probeVideo } from './probe.ts';
import { parseRawFormat, ReplayableInput } from './raw-pipe.ts';
import type { FrameSource } from './source.ts';
import { NOT_COPIED, type StreamCopy } from './stream-copy.ts';
import { type VideoSettings, VideoSource } from './video-file.ts';

export interface OpenVideoOptions extends LiveInputOptions {
  /** As `locateFfmpeg` found it; looked for if it is not given. */
  readonly ffmpeg?: Ffmpeg;
  /** Who decodes: `gstreamer` for files and RTSP uses a Jetson's decoder where it is installed. Default `ffmpeg`. */
  readonly decoder?: 'ffmpeg' | 'gstreamer';
  /** As `locateGstreamer` found it; looked for where it is needed. */
  readonly gstreamer?: Gstreamer;
  /** Name in results; the address without credentials if it is not given. */
  readonly name?: string;
  /** Overrules what is found out about an address: `video` reads every frame, `live` connects again. */
  readonly kind?: 'video' | 'live';
  /** Every n-th frame (`vid_stride`). */
  readonly stride?: number;
  readonly deinterlace?: boolean;
  readonly squarePixels?: boolean;
  readonly exactColour?: boolean;
  readonly buffer?: 'newest' | 'all';
  readonly stallSeconds?: number;
  readonly startSeconds?: number;
  /** Live: tries in a row without a picture before the source gives up; never if not given. */
  readonly retries?: number;
  /** Live: spares a second connection at the start where the pictures are not 16:9. */
  readonly expectedSize?: Size;
  /** For `-`: raw frames as `rgb24:640x480@25`; an encoded video if not given. */
  readonly raw?: string;
  /** Live: takes the encoded stream, too, from the same connection. */
  readonly copy?: StreamCopy;
  /** For `-`: read instead of standard input. */
  readonly stdin?: Readable;
  readonly signal?: AbortSignal;
}

/** Names of files that are read as videos. A GIF is a moving picture to most people, but a picture to this program. */
const VIDEO_EXTENSIONS =
  /\.(?:3gp|264|265|asf|avi|divx|f4v|flv|h264|h265|hevc|ivf|m2ts|m4v|mjpe?g|mkv|mov|mp4|mpe?g|mts|mxf|nut|ogv|ts|vob|webm|wmv|y4m)$/i;

const LIVE_PROTOCOLS = new Set(['rtsp', 'rtsps', 'rtmp', 'rtmps', 'udp', 'tcp', 'srt', 'rtp']);

export function isVideoPath(path: string): boolean {
  return VIDEO_EXTENSIONS.test(path);
}

/** True for what `openVideoSource` opens by its form alone: addresses, cameras and `-`. */
export function isVideoAddress(spec: string): boolean {
  const protocol = protocolOf(spec);
  return (
    spec === '-' ||
    protocol === 'csi' ||
    cameraDevice(spec) !== undefined ||
    LIVE_PROTOCOLS.has(protocol) ||
    /^https?$/.test(protocol)
  );
}

/**
 * @param spec a file, `-`, a URL, `/dev/video0`, the number of a camera, or `csi://0` for a Jetson's CSI camera
 * @throws SourceError, DeviceError (no ffmpeg), ConfigError or UsageError. A live source that is absent now does not
 *   throw: it is reported and tried again while frames are read
 */
export async function openVideoSource(spec: string, options: OpenVideoOptions = {}): Promise<FrameSource> {
  expectStride(options.stride);
  if (isGstreamerSource(spec, options)) {
    options.copy?.refuse('GStreamer decodes it, and gives no copy of the stream');
    return openGstreamer(spec, options);
  }
  const opener: Opener = {
    spec,
    options,
    ffmpeg: options.ffmpeg ?? (await locateFfmpeg()),
    name: options.name ?? redactCredentials(spec),
  };
  if (spec === '-') return openPipe(opener);
  if (cameraDevice(spec) !== undefined) return openLive(opener);
  const protocol = protocolOf(spec);
  if (protocol === 'http' || protocol === 'https') return openHttp(opener);
  if (LIVE_PROTOCOLS.has(protocol)) return options.kind === 'video' ? openAddress(opener) : openLive(opener);
  return openFile(opener);
}

interface Opener {
  readonly spec: string;
  readonly options: OpenVideoOptions;
  readonly ffmpeg: Ffmpeg;
  readonly name: string;
}

async function openFile({ spec, ...opener }: Opener): Promise<FrameSource> {
  const path = resolve(spec.replace(/^file:(?:\/\/)?/, ''));
  await expectFile(path);
  return openVideo(opener, { url: fileUrl(path) });
}

async function openHttp(opener: Opener): Promise<FrameSource> {
  const { spec, options } = opener;
  if (options.kind === 'live') return openLive(opener);
  if (options.kind === 'video') return openAddress(opener);
  const path = spec.replace(/[?#].*$/, '');
  // A `.mjpg` or `.ts` on a web server may well be endless, so its answer decides.
  if (isVideoPath(path) && !/\.(?:mjpe?g|ts)$/i.test(path)) return openAddress(opener);
  const kind = await httpKind(spec, options.signal);
  if (kind === 'playlist-live') return openLive(opener, true);
  return kind === 'file' || kind === 'playlist-vod' ? openAddress(opener) : openLive(opener);
}

function openAddress(opener: Opener): Promise<FrameSource> {
  return openVideo(opener, { url: opener.spec, options: addressOptions(opener) });
}

function addressOptions({ spec, options }: Opener): readonly string[] {
  const format = options.inputFormat === undefined ? [] : ['-f', options.inputFormat];
  return /^https?:/i.test(spec) ? ['-rw_timeout', '15000000', ...format] : format;
}

async function openVideo(opener: Omit<Opener, 'spec'>, input: CommandInput): Promise<FrameSource> {
  const { ffmpeg, name, options } = opener;
  const probed: ProbeInput = { ...input, name, ...(options.signal && { signal: options.signal }) };
  return new VideoSource({
    ...videoSettings(options),
    ffmpeg,
    name,
    input,
    info: await probeVideo(ffmpeg, probed),
  });
}

async function openPipe({ ffmpeg, options }: Opener): Promise<FrameSource> {
  const name = options.name ?? 'standard input';
  const pipe = new ReplayableInput(options.stdin ?? process.stdin);
  const feed: VideoSettings['feed'] = (stdin) => pipe.replay(stdin);
  const settings = { ...videoSettings(options), ffmpeg, name, feed };
  if (options.raw !== undefined) return new VideoSource({ ...settings, ...parseRawFormat(options.raw) });
  const format = options.inputFormat === undefined ? [] : ['-f', options.inputFormat];
  const input: CommandInput = { url: 'pipe:0', options: format };
  const info = await probeVideo(ffmpeg, {
    ...input,
    name,
    feed: (stdin) => pipe.peek(stdin),
    ...(options.signal && { signal: options.signal }),
  }).catch((error: unknown) => {
    throw pipe.isEmpty && error instanceof SourceError ? nothingCame(name) : error;
  });
  return new VideoSource({ ...settings, input, info });
}

function nothingCame(name: string): SourceError {
  return new SourceError(`${name}: nothing came in`, {
    hint: 'send a video into it, as in: ffmpeg -i VIDEO -c copy -f mpegts - | edge-detect stream source=-',
  });
}

function videoSettings(options: OpenVideoOptions): Omit<VideoSettings, 'ffmpeg' | 'name' | 'input' | 'info'> {
  const { stride, deinterlace, squarePixels, exactColour, hwaccel } = options;
  return {
    ...(stride !== undefined && { stride }),
    ...(deinterlace !== undefined && { deinterlace }),
    ...(squarePixels !== undefined && { squarePixels }),
    ...(exactColour !== undefined && { exactColour }),
    ...(hwaccel !== undefined && { hwaccel }),
  };
}

function openLive({ spec, options, ffmpeg, name }: Opener, playlist = isPlaylist(spec)): FrameSource {
  const { stride, deinterlace, squarePixels, exactColour } = videoSettings(options);
  const { input, clock, hardware } = liveInput(spec, ffmpeg, { ...options, playlist });
  const hearAnswer = /^rtsps?:/i.test(spec);
  const graph = {
    ...(stride !== undefined && { stride }),
    ...(deinterlace !== undefined && { deinterlace }),
    ...(squarePixels !== undefined && { squarePixels }),
    ...(exactColour !== undefined && { exactColour }),
    fromKeyFrame: true,
  };
  return new LiveSource({
    ...liveSettings(options),
    name,
    clock,
    headerTellsSize: squarePixels !== true,
    startDecoder: withCopy(
      cameraDevice(spec) !== undefined,
      options.copy,
      (copy, request, handlers) =>
        new Decoder(
          { ffmpeg, input, hardware, hearAnswer, ...graph, ...request, ...(copy && { copy }) },
          handlers,
        ),
    ),
  });
}

/** A stream that cannot be copied is read without: a camera without clips is better than none. */
function withCopy(
  isDevice: boolean,
  wanted: StreamCopy | undefined,
  start: (copy: DecoderOptions['copy'], ...rest: Parameters<StartDecoder>) => FrameDecoder,
): StartDecoder {
  let target = wanted;
  if (isDevice) {
    target?.refuse('a camera of this machine gives pictures, and no encoded stream');
    target = undefined;
  }
  return (request, handlers) =>
    start(target?.begin(), request, {
      ...handlers,
      onEnd: (end) => {
        const [refusal] = NOT_COPIED.exec(end.exit.lastWords) ?? [];
        if (target !== undefined && refusal !== undefined) {
          target.refuse('MP4 cannot hold its stream');
          target = undefined;
        }
        handlers.onEnd(end);
      },
    });
}

function expectStride(stride: number | undefined): void {
  if (stride === undefined || (Number.isInteger(stride) && stride >= 1)) return;
  throw new UsageError(`vid_stride=${stride}: expected a whole number of 1 or more`, {
    hint: 'vid_stride=2 takes every other frame',
  });
}
