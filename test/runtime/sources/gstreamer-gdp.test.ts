import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SourceError } from '#core';
import { checksum, GdpDemuxer } from '../../../runtime/sources/gstreamer-gdp.ts';
import { isPacked, pack, pictureLayout } from '../../../runtime/sources/gstreamer-picture.ts';

const NO_TIME = 0xffff_ffff_ffff_ffffn;

interface Written {
  readonly type: number;
  readonly ptsNs?: bigint;
  readonly flags?: number;
  readonly body: Uint8Array;
}

/** As gdppay writes it; checked against the bytes of a real gdppay below. */
function packet({ type, ptsNs = NO_TIME, flags = 0, body }: Written): Uint8Array {
  const bytes = new Uint8Array(62 + body.length);
  const view = new DataView(bytes.buffer);
  bytes.set([1, 0, 1, 0]);
  view.setUint16(4, type);
  view.setUint32(6, body.length);
  view.setBigUint64(10, ptsNs);
  view.setUint16(42, flags);
  view.setUint16(58, checksum(bytes.subarray(0, 58)));
  bytes.set(body, 62);
  return bytes;
}

function demux(chunks: Iterable<Uint8Array>) {
  const frames: { ptsNs: bigint | undefined; corrupted: boolean; data: Uint8Array }[] = [];
  const caps: string[] = [];
  const demuxer = new GdpDemuxer({
    onCaps: (text) => caps.push(text),
    allocate: (byteCount) => new Uint8Array(byteCount).fill(0xaa),
    onFrame: (frame) => frames.push(frame),
  });
  for (const chunk of chunks) demuxer.push(chunk);
  return { frames, caps };
}

const CAPS = 'video/x-raw, format=(string)RGB, width=(int)2, height=(int)1\0';
const STREAM: readonly Written[] = [
  { type: 64 + 10254, body: Buffer.from('GstEventStreamStart, group-id=(uint)2;\0') },
  { type: 2, body: Buffer.from(CAPS) },
  { type: 1, ptsNs: 80_000_000n, flags: 64, body: Uint8Array.of(1, 2, 3, 4, 5, 6, 0, 0) },
  { type: 64 + 110, body: new Uint8Array(0) },
  { type: 1, ptsNs: 3_600_000_000_000_000n, flags: 256, body: Uint8Array.of(9, 8, 7, 6, 5, 4, 0, 0) },
];

describe('GdpDemuxer', () => {
  it('gives the same frames however the bytes are cut', () => {
    const bytes = Buffer.concat(STREAM.map(packet));
    const whole = demux([bytes]);
    expect(whole.caps).toEqual([CAPS.slice(0, -1)]);
    expect(whole.frames.map(({ ptsNs, corrupted, data }) => [ptsNs, corrupted, [...data]])).toEqual([
      [80_000_000n, false, [1, 2, 3, 4, 5, 6, 0, 0]],
      [3_600_000_000_000_000n, true, [9, 8, 7, 6, 5, 4, 0, 0]],
    ]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1 }), (lengths) => {
        const chunks: Uint8Array[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const end = at + lengths[turn % lengths.length]!;
          chunks.push(bytes.subarray(at, end));
          at = end;
        }
        expect(demux(chunks)).toEqual(whole);
      }),
    );
  });

  it('reads a header as gdppay of GStreamer 1.22 wrote it, checksum included', () => {
    // The first picture of `videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=2,height=1 ! gdppay`.
    const written = Buffer.from(
      '0100010000010000000800000000000000000000000001fca055000000000000000000000000000000010040ffffffffffffffff000000000000ce6c00000080ff0000000000',
      'hex',
    );
    expect(checksum(written.subarray(0, 58))).toBe(0xce6c);
    const { frames } = demux([written]);
    expect(frames).toEqual([
      { ptsNs: 0n, corrupted: false, data: Uint8Array.of(0, 0x80, 0xff, 0, 0, 0, 0, 0) },
    ]);
  });

  it('refuses what is no such stream, and every header with a wrong bit', () => {
    expect(() =>
      demux([Buffer.from('nut/multimedia container, and more bytes than one header takes up.')]),
    ).toThrow(/version 110, expected 1/);
    const good = packet({ type: 2, body: Buffer.from(CAPS) });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60 * 8 - 1 }), (bit) => {
        fc.pre(bit !== 2 * 8 && bit !== 2 * 8 + 1 && bit >> 3 !== 1); // minor version; "has a checksum" itself
        const bad = good.slice();
        bad[bit >> 3]! ^= 1 << (bit & 7);
        expect(() => demux([bad])).toThrow(SourceError);
      }),
    );
  });

  it('refuses a packet of a size beyond reason instead of taking the memory', () => {
    const huge = packet({ type: 1, body: new Uint8Array(0) });
    const view = new DataView(huge.buffer);
    view.setUint32(6, 0xf000_0000);
    view.setUint16(58, checksum(huge.subarray(0, 58)));
    expect(() => demux([huge])).toThrow(/a packet of 4026531840 bytes/);
  });
});

describe('pictureLayout', () => {
  const caps = (format: string, width: number, height: number) =>
    `video/x-raw, format=(string)${format}, width=(int)${width}, height=(int)${height}, framerate=(fraction)25/1`;

  it('knows that rows of RGB begin at multiples of four bytes', () => {
    expect(isPacked(pictureLayout(caps('RGB', 640, 360)))).toBe(true);
    const layout = pictureLayout(caps('RGB', 3, 2));
    expect(layout).toMatchObject({ bytesAsSent: 24, bytesPacked: 18 });
    const packed = new Uint8Array(18);
    pack(
      layout,
      Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0, 0, 0),
      packed,
    );
    expect([...packed]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  });

  it('takes an odd last row and column of I420 away', () => {
    const layout = pictureLayout(caps('I420', 7, 3));
    expect(layout).toMatchObject({ size: { width: 6, height: 2 }, bytesAsSent: 48, bytesPacked: 18 });
    const sent = Uint8Array.from({ length: 48 }, (_, index) => index);
    const packed = new Uint8Array(18);
    pack(layout, sent, packed);
    expect([...packed]).toEqual([0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 32, 33, 34, 40, 41, 42]);
  });

  it('refuses other formats by name', () => {
    expect(() => pictureLayout(caps('NV12', 8, 8))).toThrow(/format NV12, expected RGB or I420/);
    expect(() => pictureLayout('audio/x-raw, rate=(int)8000')).toThrow(/pictures without a size/);
  });
});
