import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { SourceError } from '#core';
import { NutDemuxer } from '../../../runtime/sources/nut.ts';
import { runFfmpeg } from '../../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';

interface Found {
  readonly ptsSeconds: number;
  readonly data: Uint8Array;
}

function demux(chunks: Iterable<Uint8Array>): { frames: Found[]; size: string } {
  const frames: Found[] = [];
  let size = '';
  const demuxer = new NutDemuxer({
    onStream: ({ width, height }) => {
      size += `${width}x${height}`;
    },
    allocate: (byteCount) => new Uint8Array(byteCount).fill(0xaa),
    onFrame: ({ ptsSeconds, data }) => frames.push({ ptsSeconds, data }),
  });
  for (const chunk of chunks) demuxer.push(chunk);
  return { frames, size };
}

function* cut(bytes: Uint8Array, lengths: readonly number[]): Generator<Uint8Array> {
  let offset = 0;
  for (let turn = 0; offset < bytes.length; turn += 1) {
    const end = Math.min(bytes.length, offset + (lengths[turn % lengths.length] ?? 1));
    yield bytes.subarray(offset, end);
    offset = end;
  }
}

const NUT = ['-c:v', 'rawvideo', '-enc_time_base', '1:1000000', '-f', 'nut', '-write_index', '0', 'pipe:1'];

describe.skipIf(!ffmpegAvailable)(`NutDemuxer${ffmpegNote}`, () => {
  const streams: {
    title: string;
    nut: Uint8Array;
    raw: Uint8Array;
    frameBytes: number;
    count: number;
    size: string;
  }[] = [];
  beforeAll(() => {
    for (const [title, width, height, format, picture] of [
      ['rgb24', 64, 48, 'rgb24', 'testsrc2'],
      ['odd and tiny: frames small enough to leave their first bytes out', 5, 3, 'rgb24', 'color=0x000001'],
      ['yuv420p', 64, 48, 'yuv420p', 'testsrc2'],
    ] as const) {
      const separator = picture.includes('=') ? ':' : '=';
      const source = [
        '-f',
        'lavfi',
        '-i',
        `${picture}${separator}size=${width}x${height}:rate=25`,
        '-frames:v',
        '30',
        '-pix_fmt',
        format,
      ];
      const jitter = [
        '-vf',
        `settb=1/1000000,setpts=PTS+1000*N*N,scale=${width}:${height}`,
        '-vsync',
        'passthrough',
      ];
      const nut = runFfmpeg(...source, ...jitter, ...NUT);
      const raw = runFfmpeg(...source, ...jitter, '-f', 'rawvideo', 'pipe:1');
      streams.push({ title, nut, raw, frameBytes: raw.length / 30, count: 30, size: `${width}x${height}` });
    }
  });

  it('gives every byte and every time, however the stream is cut', () => {
    for (const { nut, raw, frameBytes, count, size, title } of streams) {
      const cuts = fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 20_000 })), {
        minLength: 1,
      });
      fc.assert(
        fc.property(cuts, (lengths) => {
          const found = demux(cut(nut, lengths));
          expect(found.size, title).toBe(size);
          expect(found.frames.length, title).toBe(count);
          found.frames.forEach(({ ptsSeconds, data }, index) => {
            expect(ptsSeconds).toBeCloseTo(index * 0.04 + 0.001 * index * index, 6);
            expect(
              Buffer.compare(data, raw.subarray(index * frameBytes, (index + 1) * frameBytes)),
              title,
            ).toBe(0);
          });
        }),
        { numRuns: 40 },
      );
    }
  });

  it('gives nothing of a frame that was cut, and waits for the rest', () => {
    const { nut, count } = streams[0]!;
    expect(demux([nut.subarray(0, nut.length - 1)]).frames.length).toBe(count - 1);
  });

  it('ends in words, in bounded memory, whatever bytes come', () => {
    const { nut } = streams[0]!;
    const damage = fc.array(fc.tuple(fc.nat(2000), fc.integer({ min: 1, max: 255 })), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(damage, (places) => {
        const bytes = nut.slice();
        for (const [place, mask] of places) bytes[place] = (bytes[place] ?? 0) ^ mask;
        let asked = 0;
        const demuxer = new NutDemuxer({
          allocate: (byteCount) => {
            asked = Math.max(asked, byteCount);
            return new Uint8Array(Math.min(byteCount, 1 << 20));
          },
          onFrame: () => {},
        });
        try {
          for (const chunk of cut(bytes, [997])) demuxer.push(chunk);
        } catch (error) {
          expect(error).toBeInstanceOf(SourceError);
        }
        expect(asked).toBeLessThanOrEqual(1 << 29);
      }),
      { numRuns: 400 },
    );
  });

  it('refuses what is no NUT stream at its first bytes', () => {
    expect(() => demux([new TextEncoder().encode('nutty')])).toThrow(/does not begin like a NUT stream/);
  });

  it('holds times of this century in µs', () => {
    const start = 1_790_000_000.123456;
    const nut = runFfmpeg(
      '-f',
      'lavfi',
      '-i',
      'color=size=8x8:rate=25',
      '-frames:v',
      '60',
      '-vf',
      `setpts=PTS+${start}/TB,settb=1/1000000`,
      '-vsync',
      'passthrough',
      '-copyts',
      ...NUT,
    );
    const { frames } = demux([nut]);
    expect(frames.length).toBe(60);
    for (const [index, { ptsSeconds }] of frames.entries()) {
      expect(Math.abs(ptsSeconds - start - index * 0.04)).toBeLessThan(0.021);
    }
  });
});
