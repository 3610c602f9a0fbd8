// Writes raw yuv420p frames with their time stamps as a NUT stream, the form in which ffmpeg takes both over one pipe.
// Field names and values: NUT Open Container Format, version 3. One stream, every frame a key frame of full size.

const START_CODES = {
  main: [0x4e, 0x4d, 0x7a, 0x56, 0x1f, 0x5f, 0x04, 0xad],
  stream: [0x4e, 0x53, 0x11, 0x40, 0x5b, 0xf2, 0xf9, 0xdb],
  syncPoint: [0x4e, 0x4b, 0xe4, 0xad, 0xee, 0xca, 0x45, 0x69],
} as const;

const FLAG_KEY = 1;
const FLAG_CODED_PTS = 8;
const FLAG_SIZE_MSB = 32;
const FLAG_CHECKSUM = 64;
const FRAME_FLAGS = FLAG_KEY | FLAG_CODED_PTS | FLAG_SIZE_MSB | FLAG_CHECKSUM;

/** A stored time stamp below this would be read as its low bits only; full ones are stored with this added. */
const PTS_SHIFT = 7;

/** Packets longer than this carry a checksum of their header; ours are far shorter. */
const MAX_HEADER = 4096;

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x80000000 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  return crc >>> 0;
});

/** CRC-32 with polynomial 0x04C11DB7, not reflected, start 0, no final inversion. */
function crc32(bytes: readonly number[]): number {
  return bytes.reduce((crc, byte) => ((crc << 8) ^ (CRC_TABLE[((crc >>> 24) ^ byte) & 255] ?? 0)) >>> 0, 0);
}

/** Seven bits per byte, high ones first, the top bit set on all but the last. */
function variable(value: number): number[] {
  const bytes = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.unshift((rest % 128) | 128);
  }
  return bytes;
}

function uint32(value: number): number[] {
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
}

function packet(startCode: readonly number[], payload: readonly number[]): number[] {
  const length = payload.length + 4;
  if (length > MAX_HEADER)
    throw new Error('a NUT header of more than 4096 bytes needs a checksum of its own');
  return [...startCode, ...variable(length), ...payload, ...uint32(crc32(payload))];
}

/** Time stamps are counted in these. */
export const NUT_TICKS_PER_SECOND = 1_000_000;

/** What comes before the first frame. */
export function nutHeader(width: number, height: number): Uint8Array {
  const main = [
    ...variable(3), // version
    ...variable(1), // streams
    ...variable(65_536), // largest distance between sync points; there is one at every frame
    ...variable(1), // time bases
    ...variable(1),
    ...variable(NUT_TICKS_PER_SECOND),
    // One entry for all 255 frame codes: flags, six fields: pts delta, size multiplier, stream, size, reserved, count.
    ...variable(FRAME_FLAGS),
    ...variable(6),
    ...[0, 1, 0, 0, 0].flatMap(variable),
    ...variable(255),
    ...variable(0), // no elided headers
  ];
  const stream = [
    ...variable(0), // stream id
    ...variable(0), // video
    ...variable(4),
    ...Buffer.from('I420'),
    ...variable(0), // time base
    ...variable(PTS_SHIFT),
    ...variable(NUT_TICKS_PER_SECOND), // largest step of time without a checksum; every frame has one
    ...[0, 0, 0].flatMap(variable), // decode delay, flags, codec data
    ...variable(width),
    ...variable(height),
    ...[0, 0, 0].flatMap(variable), // sample aspect unknown, colour space unknown
  ];
  return Uint8Array.from([
    ...Buffer.from('nut/multimedia container\0'),
    ...packet(START_CODES.main, main),
    ...packet(START_CODES.stream, stream),
  ]);
}

/** What comes before the `byteLength` bytes of one frame. @param ticks time stamp, a whole number >= 0 */
export function nutFrameHeader(ticks: number, byteLength: number): Uint8Array {
  const sync = packet(START_CODES.syncPoint, [...variable(ticks), ...variable(0)]);
  const frame = [0, ...variable(ticks + (1 << PTS_SHIFT)), ...variable(byteLength)];
  return Uint8Array.from([...sync, ...frame, ...uint32(crc32(frame))]);
}
