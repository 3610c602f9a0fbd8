// Reads the headers of a NUT stream (ffmpeg's own container; field order from the public NUT specification).
import { SourceError } from '#core';

export const FRAME_FLAG = {
  codedPts: 8,
  streamId: 16,
  sizeMsb: 32,
  checksum: 64,
  reserved: 128,
  sideData: 256,
  headerIndex: 1024,
  matchTime: 2048,
  coded: 4096,
  invalid: 8192,
} as const;

/** What the first byte of a frame stands for. */
export interface FrameCode {
  readonly flags: number;
  readonly ptsDelta: number;
  readonly sizeMultiplier: number;
  readonly stream: number;
  readonly sizeLsb: number;
  readonly reservedCount: number;
  readonly headerIndex: number;
}

export interface NutMain {
  /** Seconds per tick, as fractions. */
  readonly timeBases: readonly TimeBase[];
  readonly frameCodes: readonly FrameCode[]; // [256]
  /** Bytes that begin many frames and are left out of them. */
  readonly elidedHeaders: readonly Uint8Array[];
}

export interface TimeBase {
  readonly numerator: number;
  readonly denominator: number;
}

export interface NutStream {
  readonly id: number;
  readonly timeBase: TimeBase;
  readonly ptsShift: number;
  readonly width: number;
  readonly height: number;
}

const INVALID_CODE: FrameCode = {
  flags: FRAME_FLAG.invalid,
  ptsDelta: 0,
  sizeMultiplier: 1,
  stream: 0,
  sizeLsb: 0,
  reservedCount: 0,
  headerIndex: 0,
};
const LETTER_N = 0x4e;
const MOST_TIME_BASES = 16;
const MOST_ELIDED_HEADERS = 128;

export function damagedNut(what: string): SourceError {
  return new SourceError(`the frames from ffmpeg cannot be read: ${what}`, {
    hint: 'check that nothing else writes to its output; if a wrapper script stands for ffmpeg, let it write to standard error',
  });
}

/** Walks over bytes; reading past the end sets `short` and gives zeros, so a caller checks once, at the end. */
export class ByteCursor {
  short = false;
  position: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, position = 0) {
    this.#bytes = bytes;
    this.position = position;
  }

  byte(): number {
    const value = this.#bytes[this.position];
    if (value === undefined) {
      this.short = true;
      return 0;
    }
    this.position += 1;
    return value;
  }

  /** Unsigned number of 7 bits a byte. Exact below 2^53; more is refused by the callers' limits. */
  number(): number {
    let value = 0;
    let next = 0;
    do {
      next = this.byte();
      value = value * 128 + (next & 127);
    } while (next & 128);
    return value;
  }

  signed(): number {
    const coded = this.number() + 1;
    return coded % 2 === 1 ? -Math.floor(coded / 2) : Math.floor(coded / 2);
  }

  bytes(count: number): Uint8Array {
    const end = this.position + count;
    if (end > this.#bytes.length) {
      this.short = true;
      return new Uint8Array(0);
    }
    const part = this.#bytes.subarray(this.position, end);
    this.position = end;
    return part;
  }
}

export function parseMain(cursor: ByteCursor): NutMain {
  const version = cursor.number();
  if (version > 3) cursor.number(); // minor version
  cursor.number(); // stream count
  cursor.number(); // largest distance between sync points
  const timeBaseCount = cursor.number();
  if (timeBaseCount < 1 || timeBaseCount > MOST_TIME_BASES) throw damagedNut(`${timeBaseCount} time bases`);
  const timeBases = Array.from({ length: timeBaseCount }, () => ({
    numerator: cursor.number(),
    denominator: cursor.number(),
  }));
  const frameCodes = parseFrameCodes(cursor);
  const elidedHeaders = parseElidedHeaders(cursor);
  if (cursor.short || timeBases.some(({ numerator, denominator }) => numerator < 1 || denominator < 1)) {
    throw damagedNut('its main header is cut');
  }
  return { timeBases, frameCodes, elidedHeaders };
}

/** The table is written as runs: each run sets only the fields that changed. */
function parseFrameCodes(cursor: ByteCursor): readonly FrameCode[] {
  const codes: FrameCode[] = [];
  let ptsDelta = 0;
  let sizeMultiplier = 1;
  let stream = 0;
  let headerIndex = 0;
  while (codes.length < 256) {
    const flags = cursor.number();
    const fields = cursor.number();
    if (fields > 0) ptsDelta = cursor.signed();
    if (fields > 1) sizeMultiplier = cursor.number();
    if (fields > 2) stream = cursor.number();
    const sizeLsb = fields > 3 ? cursor.number() : 0;
    const reservedCount = fields > 4 ? cursor.number() : 0;
    const count = fields > 5 ? cursor.number() : sizeMultiplier - sizeLsb;
    if (fields > 6) cursor.signed(); // match time delta
    if (fields > 7) headerIndex = cursor.number();
    for (let extra = 8; extra < fields && !cursor.short; extra += 1) cursor.number();
    if (count < 1 || cursor.short) throw damagedNut('its table of frame codes is cut');
    for (let step = 0; step < count && codes.length < 256; step += 1) {
      // The letter N begins a packet and so cannot begin a frame; the run steps over it.
      if (codes.length === LETTER_N) codes.push(INVALID_CODE);
      codes.push({
        flags,
        ptsDelta,
        sizeMultiplier,
        stream,
        sizeLsb: sizeLsb + step,
        reservedCount,
        headerIndex,
      });
    }
  }
  return codes;
}

function parseElidedHeaders(cursor: ByteCursor): readonly Uint8Array[] {
  const headers = [new Uint8Array(0)];
  const count = cursor.number();
  if (count > MOST_ELIDED_HEADERS) throw damagedNut(`${count} elided headers`);
  for (let index = 0; index < count; index += 1) headers.push(cursor.bytes(cursor.number()).slice());
  return headers;
}

export function parseStream(cursor: ByteCursor, { timeBases }: NutMain): NutStream {
  const id = cursor.number();
  const streamClass = cursor.number();
  cursor.bytes(cursor.number()); // fourcc
  const timeBase = timeBases[cursor.number()];
  const ptsShift = cursor.number();
  cursor.number(); // longest pts distance
  cursor.number(); // decode delay
  cursor.number(); // stream flags
  cursor.bytes(cursor.number()); // codec data
  const width = cursor.number();
  const height = cursor.number();
  if (cursor.short || timeBase === undefined || streamClass !== 0 || ptsShift > 16) {
    throw damagedNut('its stream header is not that of a video');
  }
  return { id, timeBase, ptsShift, width, height };
}
