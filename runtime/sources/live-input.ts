// The arguments with which ffmpeg opens each kind of live source.
import { ConfigError } from '#core';
import type { CommandInput, Ffmpeg } from '../ffmpeg/index.ts';
import { hwaccelArguments } from './hwaccel.ts';

export interface LiveInputOptions {
  /** How RTSP carries its packets. TCP loses none and passes firewalls. */
  readonly rtspTransport?: 'tcp' | 'udp' | 'udp_multicast' | 'http';
  /** Waits for all frames of the decoder's threads: more throughput for 4K, some frames later. */
  readonly latency?: 'low' | 'normal';
  readonly hwaccel?: string;
  /** Codec for a hwaccel preset that names a decoder. */
  readonly codec?: string;
  /** ffmpeg's name of the format (`mpjpeg`, `h264`), where it does not find out by itself. */
  readonly inputFormat?: string;
  /** For a camera of this computer. */
  readonly videoSize?: string;
  readonly framesPerSecond?: number;
  /** An HLS playlist, whatever its address looks like. */
  readonly playlist?: boolean;
}

export interface LiveInput {
  readonly input: CommandInput;
  /** Where frames get their time: from their arrival (µs clock of this computer), or from the stream. */
  readonly clock: 'arrival' | 'stream';
  /** A hardware decoder is asked for. */
  readonly hardware: boolean;
}

/** A silent connection is given up even if this process was killed: the child must not stay for ever. µs. */
const BACKSTOP = '5000000';
/** Longer than the watchdog's time for a start: a sender may come late. */
const PATIENT_BACKSTOP = '20000000';
/** A transport stream has no header: ffmpeg would listen for 5 s whether more streams turn up. µs. */
const SHORT_ANALYSIS = ['-analyzeduration', '1500000'];
const LOW_LATENCY = ['-fflags', 'nobuffer', '-flags', 'low_delay'];
/** ffmpeg would watch the first 20 pictures to learn their rate, which nobody here asks for. */
const START_AT_ONCE = ['-fpsprobesize', '0'];
const ARRIVAL = ['-use_wallclock_as_timestamps', '1'];

/**
 * @param spec a URL, `/dev/video0`, `v4l2:///dev/video0` or the number of a camera
 * @throws ConfigError where cameras of this system are not supported
 */
export function liveInput(spec: string, ffmpeg: Ffmpeg, options: LiveInputOptions): LiveInput {
  const hardware = options.hwaccel !== undefined && options.hwaccel !== 'none';
  return { ...timedInput(spec, ffmpeg, options), hardware };
}

type TimedInput = Pick<LiveInput, 'input' | 'clock'>;

function timedInput(spec: string, ffmpeg: Ffmpeg, options: LiveInputOptions): TimedInput {
  const decoding = hwaccelArguments(options.hwaccel, options.codec);
  const latency = options.latency === 'normal' ? LOW_LATENCY.slice(0, 2) : LOW_LATENCY;
  const format = options.inputFormat === undefined ? [] : ['-f', options.inputFormat];
  const device = cameraDevice(spec);
  if (device !== undefined) return cameraInput(device, [...latency, ...decoding], options);
  const protocol = protocolOf(spec);
  // An HLS playlist comes in bursts of seconds: `-re` spreads them out, so that "newest" has a meaning.
  if (options.playlist ?? isPlaylist(spec)) {
    const rest = ['-re', '-rw_timeout', BACKSTOP, ...decoding, ...format];
    return { clock: 'stream', input: { url: spec, options: rest } };
  }
  const connection = connectionOptions(protocol, ffmpeg, options);
  return {
    clock: 'arrival',
    input: {
      url: spec,
      options: [...connection, ...START_AT_ONCE, ...latency, ...ARRIVAL, ...decoding, ...format],
    },
  };
}

function connectionOptions(protocol: string, ffmpeg: Ffmpeg, options: LiveInputOptions): readonly string[] {
  switch (protocol) {
    case 'rtsp':
    case 'rtsps':
      return ['-rtsp_transport', options.rtspTransport ?? 'tcp', ffmpeg.dialect.rtspTimeout, BACKSTOP];
    case 'http':
    case 'https':
    case 'rtmp':
    case 'rtmps':
      return ['-rw_timeout', BACKSTOP];
    case 'tcp':
      return ['-rw_timeout', BACKSTOP, ...SHORT_ANALYSIS];
    case 'udp':
      return ['-timeout', PATIENT_BACKSTOP, ...SHORT_ANALYSIS];
    default:
      return SHORT_ANALYSIS;
  }
}

export function protocolOf(spec: string): string {
  return /^([a-z][a-z0-9+.-]*):/i.exec(spec)?.[1]?.toLowerCase() ?? '';
}

export function isPlaylist(spec: string): boolean {
  return /^https?:/i.test(spec) && /\.m3u8(?:$|[?#])/i.test(spec);
}

/** Path or number of a camera of this computer, or undefined. */
export function cameraDevice(spec: string): string | undefined {
  if (/^\d{1,3}$/.test(spec)) return spec;
  if (/^\/dev\/(?:video|v4l\/)/.test(spec)) return spec;
  return /^v4l2:(?:\/\/)?(\/dev\/.+)$/.exec(spec)?.[1];
}

function cameraInput(device: string, general: readonly string[], options: LiveInputOptions): TimedInput {
  const { videoSize, framesPerSecond, inputFormat } = options;
  const mode = [
    ...(framesPerSecond === undefined ? [] : ['-framerate', String(framesPerSecond)]),
    ...(videoSize === undefined ? [] : ['-video_size', videoSize]),
  ];
  switch (process.platform) {
    case 'linux': {
      const url = /^\d+$/.test(device) ? `/dev/video${device}` : device;
      const picture = inputFormat === undefined ? [] : ['-input_format', inputFormat];
      return {
        clock: 'arrival',
        input: { url, options: ['-f', 'v4l2', ...picture, ...mode, ...ARRIVAL, ...general] },
      };
    }
    case 'darwin':
      return {
        clock: 'arrival',
        input: { url: device, options: ['-f', 'avfoundation', ...mode, ...ARRIVAL, ...general] },
      };
    default:
      throw new ConfigError(
        `source=${device}: cameras of this computer can be read on Linux and macOS only`,
        {
          hint: 'let another program publish the camera as rtsp://, and name that address',
        },
      );
  }
}
