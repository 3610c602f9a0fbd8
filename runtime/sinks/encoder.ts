// An ffmpeg child that turns painted frames into a file that plays, whatever ends the run.
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { DataError, DeviceError } from '#core';
import { buildArguments, type Ffmpeg, fileUrl, type SupervisedChild, spawnChild } from '../ffmpeg/index.ts';
import { NUT_TICKS_PER_SECOND, nutFrameHeader, nutHeader } from './nut-writer.ts';

export interface EncoderOptions {
  readonly ffmpeg: Ffmpeg;
  /** `.mp4`, `.mkv`, `.mov`, or `.m3u8` for HLS. */
  readonly path: string;
  readonly width: number;
  readonly height: number;
  /** A live recording is written in fragments, so that a power cut loses only the last seconds. */
  readonly live: boolean;
}

export interface Encoder {
  /**
   * Resolves when ffmpeg has taken the frame, so that its memory may be used again.
   * @param seconds time since the first frame; a step back is moved to just after the frame before
   * @throws DataError with ffmpeg's reason, where it ended early (a full disk, say)
   */
  write(data: Uint8Array, seconds: number): Promise<void>;
  /** Ends the file in order and waits until it is complete. Safe to call twice. */
  close(): Promise<void>;
}

const CONTAINERS = ['.mp4', '.mov', '.mkv', '.m3u8'];
const HLS_SEGMENT_SECONDS = 2;
/** A power cut costs a live recording no more than this. */
const LIVE_FRAGMENT_SECONDS = 2;

/** @throws DataError for an ending that is not known, DeviceError where ffmpeg has no encoder for it */
export async function openEncoder(options: EncoderOptions): Promise<Encoder> {
  const { ffmpeg, path, width, height } = options;
  const codec = await videoCodec(ffmpeg);
  const args = buildArguments({
    inputs: [{ url: 'pipe:0', options: ['-f', 'nut'] }],
    outputs: [{ target: fileUrl(path), options: outputOptions(options, codec) }],
  });
  const child = spawnChild(ffmpeg.path, ['-y', ...args], { stdin: 'pipe' });
  const { stdin } = child;
  if (stdin === undefined) throw new Error('the encoder was started without an input');
  child.stdout.resume();
  await put(child, stdin, path, nutHeader(width, height));
  let previousTicks = -1;
  let closing: Promise<void> | undefined;
  return {
    async write(data, seconds) {
      const ticks = Math.max(previousTicks + 1, Math.round(seconds * NUT_TICKS_PER_SECOND));
      previousTicks = ticks;
      stdin.write(nutFrameHeader(ticks, data.length));
      await put(child, stdin, path, data);
    },
    close() {
      closing ??= finish(child, stdin, path);
      return closing;
    },
  };
}

async function put(child: SupervisedChild, stdin: Writable, path: string, bytes: Uint8Array): Promise<void> {
  const failure = await new Promise<Error | null | undefined>((resolve) => stdin.write(bytes, resolve));
  if (failure) throw await encodingError(child, path);
}

async function finish(child: SupervisedChild, stdin: Writable, path: string): Promise<void> {
  if (!stdin.destroyed) {
    stdin.end();
    await Promise.race([once(stdin, 'close'), child.exited]);
  }
  const { code } = await child.exited;
  if (code !== 0) throw await encodingError(child, path);
}

async function encodingError(child: SupervisedChild, path: string): Promise<DataError> {
  const { reason, code } = await child.exited;
  return new DataError(`cannot write ${path}: ${reason === '' ? `ffmpeg ended with code ${code}` : reason}`, {
    hint: 'check the free space and the permissions of the folder, or choose another place with output=',
  });
}

async function videoCodec(ffmpeg: Ffmpeg): Promise<readonly string[]> {
  const encoders = await ffmpeg.encoders();
  if (encoders.has('libx264')) return ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '23'];
  if (encoders.has('libopenh264')) return ['-c:v', 'libopenh264', '-b:v', '4M'];
  if (encoders.has('mpeg4')) return ['-c:v', 'mpeg4', '-q:v', '4'];
  throw new DeviceError(`${ffmpeg.path} has no encoder for video (libx264, libopenh264 or mpeg4)`, {
    hint: 'install a full ffmpeg (apt-get install ffmpeg), or write JSON lines only',
  });
}

function outputOptions({ ffmpeg, path, live }: EncoderOptions, codec: readonly string[]): string[] {
  const timing = [...ffmpeg.dialect.passthrough, '-enc_time_base', '1:90000'];
  const common = ['-an', '-pix_fmt', 'yuv420p', ...codec, ...timing];
  switch (CONTAINERS.find((ending) => path.toLowerCase().endsWith(ending))) {
    case '.mp4':
    case '.mov': {
      const whole = ['-movflags', '+faststart'];
      const fragments = ['-movflags', '+frag_keyframe+empty_moov+default_base_moof', '-flush_packets', '1'];
      const saving = live ? [...keyFramesEvery(LIVE_FRAGMENT_SECONDS), ...fragments] : whole;
      // An edit list would hide the last frame, whose duration nobody knows.
      return [...common, '-video_track_timescale', '90000', '-use_editlist', '0', ...saving];
    }
    case '.mkv':
      return common;
    case '.m3u8': {
      const window = live
        ? ['-hls_list_size', '5', '-hls_flags', 'delete_segments']
        : ['-hls_list_size', '0'];
      return [
        ...common,
        ...keyFramesEvery(HLS_SEGMENT_SECONDS),
        '-f',
        'hls',
        '-hls_time',
        String(HLS_SEGMENT_SECONDS),
        ...window,
      ];
    }
    default:
      throw new DataError(
        `cannot write video to ${path}: its ending is not one of ${CONTAINERS.join(', ')}`,
        {
          hint: 'write output=name.mp4, for example',
        },
      );
  }
}

function keyFramesEvery(seconds: number): readonly string[] {
  return ['-force_key_frames', `expr:gte(t,n_forced*${seconds})`];
}
