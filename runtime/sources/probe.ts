// Asks ffprobe what a video is before it is decoded, and says in words why something is none.
import { stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { type Size, SourceError } from '#core';
import { type Ffmpeg, redactCredentials, spawnChild } from '../ffmpeg/index.ts';
import { explainTrouble } from './stream-words.ts';

const PROBE_LIMIT_MS = 20_000;

export interface VideoInfo {
  /** As displayed: turned by the rotation that the file carries. */
  readonly size: Size;
  /** A quarter turn lies between the picture as stored and as displayed. */
  readonly turned: boolean;
  /** Width of a pixel over its height, as displayed; 1 where it is not said. */
  readonly pixelAspect: number;
  /** Mean rate; absent where it is not known. */
  readonly framesPerSecond?: number;
  /** As the container says it; damage and edit lists can make fewer come out. */
  readonly frameCount?: number;
  readonly durationSeconds?: number;
  /** Time of the first frame; below zero in some edited files. */
  readonly startSeconds: number;
  readonly timeBase: string;
  readonly codec: string;
  readonly pixelFormat: string;
  /** A still picture in a picture format: not a video of one frame. */
  readonly isImage: boolean;
}

export interface ProbeInput {
  /** As ffmpeg takes it. */
  readonly url: string;
  readonly options?: readonly string[];
  /** For error texts; credentials removed. */
  readonly name: string;
  /** Bytes for `pipe:0`. Ends quietly when ffprobe has seen enough. */
  readonly feed?: (stdin: Writable) => void;
  readonly signal?: AbortSignal;
}

/** @throws SourceError saying what the input is instead of a video */
export async function probeVideo(ffmpeg: Ffmpeg, input: ProbeInput): Promise<VideoInfo> {
  const args = ['-v', 'level+error', '-show_error', '-show_streams', '-show_format', '-of', 'json'];
  const child = spawnChild(ffmpeg.probePath, [...args, ...(input.options ?? []), '-i', input.url], {
    stdin: input.feed === undefined ? 'ignore' : 'pipe',
  });
  const stop = () => void child.stop();
  const timer = setTimeout(stop, PROBE_LIMIT_MS);
  input.signal?.addEventListener('abort', stop, { once: true });
  try {
    if (child.stdin !== undefined) input.feed?.(child.stdin);
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    const { lastWords, signal } = await child.exited;
    input.signal?.throwIfAborted();
    if (signal !== null) throw notAVideo(input.name, 'Connection timed out');
    return readAnswer(text, lastWords, input.name);
  } finally {
    clearTimeout(timer);
    input.signal?.removeEventListener('abort', stop);
  }
}

/** @throws SourceError where the path names nothing that can be read as a file */
export async function expectFile(path: string): Promise<void> {
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw notAVideo(path, cause.code === 'EACCES' ? 'Permission denied' : 'No such file or directory', cause);
  });
  if (found.isDirectory()) throw notAVideo(path, 'Is a directory');
  if (found.isFile() && found.size === 0) {
    throw new SourceError(`${path}: the file is empty`, { hint: 'copy or record it again' });
  }
}

export function notAVideo(name: string, said: string, cause?: unknown): SourceError {
  const { reason, hint } = explainTrouble(said);
  return new SourceError(`${redactCredentials(name)}: ${reason}`, { hint, cause });
}

interface ProbeStream {
  readonly codec_type?: string;
  readonly codec_name?: string;
  readonly pix_fmt?: string;
  readonly width?: number;
  readonly height?: number;
  readonly sample_aspect_ratio?: string;
  readonly avg_frame_rate?: string;
  readonly r_frame_rate?: string;
  readonly time_base?: string;
  readonly start_time?: string;
  readonly duration?: string;
  readonly nb_frames?: string;
  readonly disposition?: { readonly attached_pic?: number };
  readonly tags?: { readonly rotate?: string };
  readonly side_data_list?: readonly { readonly rotation?: number }[];
}

interface ProbeAnswer {
  readonly streams?: readonly ProbeStream[];
  readonly format?: { readonly format_name?: string; readonly duration?: string };
  readonly error?: { readonly string?: string };
}

function readAnswer(text: string, lastWords: string, name: string): VideoInfo {
  const answer = parseAnswer(text);
  const streams = answer.streams ?? [];
  // All lines, because the particular one (moov atom not found) comes before the general one (invalid data).
  const said = `${lastWords} ${answer.error?.string ?? ''}`.trim();
  if (streams.length === 0) throw notAVideo(name, said === '' ? 'Invalid data found' : said);
  const pictures = streams.filter(({ codec_type }) => codec_type === 'video');
  const stream = pictures.find(({ disposition }) => disposition?.attached_pic !== 1);
  if (stream === undefined) throw noVideo(name, pictures.length > 0);
  if (!stream.width || !stream.height) throw notAVideo(name, said === '' ? 'Invalid data found' : said);
  return toInfo(stream, answer);
}

function parseAnswer(text: string): ProbeAnswer {
  try {
    return JSON.parse(text) as ProbeAnswer;
  } catch {
    return {}; // ffprobe was ended or is broken: the caller reports what it said
  }
}

function noVideo(name: string, hasCover: boolean): SourceError {
  const found = hasCover
    ? 'it is a sound recording; its only picture is the cover'
    : 'it has sound but no video stream';
  return new SourceError(`${redactCredentials(name)}: ${found}`, {
    hint: 'name a file with a picture track',
  });
}

function toInfo(stream: ProbeStream, { format }: ProbeAnswer): VideoInfo {
  const turned = isQuarterTurn(stream);
  const { width = 0, height = 0 } = stream;
  const aspect = positiveRatio(stream.sample_aspect_ratio?.replace(':', '/')) ?? 1;
  const framesPerSecond = positiveRatio(stream.avg_frame_rate) ?? positiveRatio(stream.r_frame_rate);
  const frameCount = positive(stream.nb_frames);
  const durationSeconds = positive(stream.duration) ?? positive(format?.duration);
  return {
    size: turned ? { width: height, height: width } : { width, height },
    turned,
    pixelAspect: turned ? 1 / aspect : aspect,
    ...(framesPerSecond !== undefined && { framesPerSecond }),
    ...(frameCount !== undefined && { frameCount }),
    ...(durationSeconds !== undefined && { durationSeconds }),
    startSeconds: Number(stream.start_time ?? 0) || 0,
    timeBase: stream.time_base ?? '',
    codec: stream.codec_name ?? '',
    pixelFormat: stream.pix_fmt ?? '',
    isImage: /^image2|_pipe$/.test(format?.format_name ?? ''),
  };
}

function isQuarterTurn(stream: ProbeStream): boolean {
  const fromMatrix = stream.side_data_list?.find(({ rotation }) => rotation !== undefined)?.rotation;
  const degrees = fromMatrix ?? Number(stream.tags?.rotate ?? 0);
  return Math.abs(Math.round(degrees)) % 180 === 90;
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

/** `30000/1001` */
function positiveRatio(text: string | undefined): number | undefined {
  const [numerator, denominator = '1'] = (text ?? '').split('/');
  return positive(String(Number(numerator) / Number(denominator)));
}
