// Cuts the NUT stream that ffmpeg writes into raw frames with their time stamps, straight into the caller's buffers.
// Frame and time travel together, so neither a pause nor a dropped frame can pair them wrongly.
import {
  ByteCursor,
  damagedNut,
  FRAME_FLAG,
  type FrameCode,
  type NutMain,
  type NutStream,
  parseMain,
  parseStream,
} from './nut-headers.ts';

const FILE_ID = 'nut/multimedia container\0';
const MAIN_CODE = 0x4e4d7a561f5f04adn;
const STREAM_CODE = 0x4e5311405bf2f9dbn;
const SYNC_CODE = 0x4e4be4adeeca4569n;
const PACKET_LETTER = 0x4e;
/** Headers of raw video take a few hundred bytes; more means that this is no NUT stream of ours. */
const LARGEST_HEADER = 65_536;
const LARGEST_FRAME = 1 << 29;
const LARGEST_ELIDED_FRAME = 4096;
const MOST_RESERVED_FIELDS = 64;

export interface NutFrame {
  readonly ptsSeconds: number;
  readonly data: Uint8Array;
}

export interface NutHandlers {
  /** The stream is known, before its first frame. */
  readonly onStream?: (stream: NutStream) => void;
  /** A buffer of exactly this many bytes for the next frame. */
  readonly allocate: (byteCount: number) => Uint8Array;
  readonly onFrame: (frame: NutFrame) => void;
}

/** A stream with one video in it, as `-f nut` writes it. Feed it chunks of any length. */
export class NutDemuxer {
  readonly #handlers: NutHandlers;
  /** Bytes of a header whose end has not come yet. */
  #pending = new Uint8Array(0);
  #identified = false;
  #main: NutMain | undefined;
  #stream: NutStream | undefined;
  #lastPts = 0;
  #frame: { readonly ptsSeconds: number; readonly data: Uint8Array } | undefined;
  #filled = 0;

  constructor(handlers: NutHandlers) {
    this.#handlers = handlers;
  }

  /** @throws SourceError where the bytes are no NUT stream or claim sizes beyond reason */
  push(chunk: Uint8Array): void {
    let offset = 0;
    while (offset < chunk.length) {
      offset = this.#frame === undefined ? this.#readHeader(chunk, offset) : this.#fill(chunk, offset);
    }
  }

  #fill(chunk: Uint8Array, offset: number): number {
    const frame = this.#frame!;
    const end = Math.min(chunk.length, offset + frame.data.length - this.#filled);
    frame.data.set(chunk.subarray(offset, end), this.#filled);
    this.#filled += end - offset;
    if (this.#filled === frame.data.length) this.#finishFrame();
    return end;
  }

  #finishFrame(): void {
    const frame = this.#frame!;
    this.#frame = undefined;
    this.#handlers.onFrame(frame);
  }

  /** Reads one header if it is there as a whole. Returns the offset behind what was used. */
  #readHeader(chunk: Uint8Array, offset: number): number {
    const waiting = this.#pending.length;
    const bytes = waiting === 0 ? chunk.subarray(offset) : joined(this.#pending, chunk.subarray(offset));
    const used = this.#parse(bytes);
    if (used === undefined) {
      if (bytes.length > LARGEST_HEADER) throw damagedNut('a header without an end');
      this.#pending = bytes.slice();
      return chunk.length;
    }
    this.#pending = new Uint8Array(0);
    // What waited was too short by itself, so at least one byte of this chunk was used.
    return offset + used - waiting;
  }

  /** Number of bytes that the header at the start takes, or undefined where more are needed. */
  #parse(bytes: Uint8Array): number | undefined {
    if (!this.#identified) return this.#parseFileId(bytes);
    return bytes[0] === PACKET_LETTER ? this.#parsePacket(bytes) : this.#parseFrame(bytes);
  }

  #parseFileId(bytes: Uint8Array): number | undefined {
    const length = Math.min(bytes.length, FILE_ID.length);
    for (let index = 0; index < length; index += 1) {
      if (bytes[index] !== FILE_ID.charCodeAt(index)) throw damagedNut('it does not begin like a NUT stream');
    }
    if (bytes.length < FILE_ID.length) return undefined;
    this.#identified = true;
    return FILE_ID.length;
  }

  #parsePacket(bytes: Uint8Array): number | undefined {
    const cursor = new ByteCursor(bytes);
    const code = startCode(cursor.bytes(8));
    const forward = cursor.number();
    if (forward > LARGEST_HEADER) throw damagedNut(`a header of ${forward} bytes`);
    if (forward > LARGEST_ELIDED_FRAME) cursor.bytes(4); // a long header has a checksum of its length
    const start = cursor.position;
    cursor.bytes(forward);
    if (cursor.short) return undefined;
    this.#takePacket(code, new ByteCursor(bytes.subarray(0, start + forward), start));
    return start + forward;
  }

  #takePacket(code: bigint, cursor: ByteCursor): void {
    if (code === MAIN_CODE) {
      this.#main = parseMain(cursor);
    } else if (code === STREAM_CODE) {
      if (this.#main === undefined) throw damagedNut('a stream header before the main header');
      const known = this.#stream !== undefined; // headers are repeated in a long stream
      this.#stream = parseStream(cursor, this.#main);
      if (!known) this.#handlers.onStream?.(this.#stream);
    } else if (code === SYNC_CODE) {
      this.#takeSyncPoint(cursor);
    } // info and index packets say nothing that is needed
  }

  #takeSyncPoint(cursor: ByteCursor): void {
    if (this.#main === undefined || this.#stream === undefined) return;
    const coded = cursor.number();
    const { timeBases } = this.#main;
    const from = timeBases[coded % timeBases.length]!;
    const { timeBase } = this.#stream;
    const ticks = Math.floor(coded / timeBases.length);
    const factor = (from.numerator * timeBase.denominator) / (from.denominator * timeBase.numerator);
    this.#lastPts = Math.floor(ticks * factor);
  }

  #parseFrame(bytes: Uint8Array): number | undefined {
    const main = this.#main;
    const stream = this.#stream;
    const cursor = new ByteCursor(bytes);
    const code = main?.frameCodes[cursor.byte()];
    if (main === undefined || stream === undefined || code === undefined) {
      throw damagedNut('a frame before the headers');
    }
    const header = readFrameHeader(cursor, code);
    if (cursor.short) return undefined;
    if (header.streamId !== stream.id) throw damagedNut(`a frame of stream ${header.streamId}`);
    if (header.byteCount > LARGEST_FRAME) throw damagedNut(`a frame of ${header.byteCount} bytes`);
    const pts = ptsOf(header, stream, this.#lastPts);
    this.#lastPts = pts;
    const elided =
      header.byteCount > LARGEST_ELIDED_FRAME ? undefined : main.elidedHeaders[header.headerIndex];
    const data = this.#handlers.allocate(header.byteCount);
    if (elided !== undefined) data.set(elided.subarray(0, data.length));
    const { numerator, denominator } = stream.timeBase;
    this.#frame = { ptsSeconds: (pts * numerator) / denominator, data };
    this.#filled = Math.min(data.length, elided?.length ?? 0);
    if (this.#filled === data.length) this.#finishFrame();
    return cursor.position;
  }
}

interface FrameHeader {
  readonly streamId: number;
  /** As coded, or undefined where the table gives the step from the frame before. */
  readonly codedPts: number | undefined;
  readonly ptsDelta: number;
  readonly byteCount: number;
  readonly headerIndex: number;
}

function readFrameHeader(cursor: ByteCursor, code: FrameCode): FrameHeader {
  let { flags } = code;
  if (flags & FRAME_FLAG.invalid) throw damagedNut('an impossible frame code');
  if (flags & FRAME_FLAG.coded) flags ^= cursor.number();
  if (flags & FRAME_FLAG.sideData) throw damagedNut('a frame with side data');
  const streamId = flags & FRAME_FLAG.streamId ? cursor.number() : code.stream;
  const codedPts = flags & FRAME_FLAG.codedPts ? cursor.number() : undefined;
  const sizeMsb = flags & FRAME_FLAG.sizeMsb ? cursor.number() : 0;
  if (flags & FRAME_FLAG.matchTime) cursor.signed();
  const headerIndex = flags & FRAME_FLAG.headerIndex ? cursor.number() : code.headerIndex;
  const reserved = flags & FRAME_FLAG.reserved ? cursor.number() : code.reservedCount;
  if (reserved > MOST_RESERVED_FIELDS) throw damagedNut(`${reserved} reserved fields`);
  for (let index = 0; index < reserved; index += 1) cursor.number();
  if (flags & FRAME_FLAG.checksum) cursor.bytes(4);
  const byteCount = code.sizeLsb + code.sizeMultiplier * sizeMsb;
  return { streamId, codedPts, ptsDelta: code.ptsDelta, byteCount, headerIndex };
}

/** A coded time is either whole (offset by 2^shift) or its low bits, to be completed from the frame before. */
function ptsOf(header: FrameHeader, stream: NutStream, lastPts: number): number {
  if (header.codedPts === undefined) return lastPts + header.ptsDelta;
  const range = 2 ** stream.ptsShift;
  if (header.codedPts >= range) return header.codedPts - range;
  const lowest = lastPts - Math.floor((range - 1) / 2);
  const aboveLowest = (header.codedPts - lowest) % range;
  return lowest + (aboveLowest < 0 ? aboveLowest + range : aboveLowest);
}

function startCode(bytes: Uint8Array): bigint {
  let code = 0n;
  for (const byte of bytes) code = (code << 8n) | BigInt(byte);
  return code;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
