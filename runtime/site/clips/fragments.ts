// Cuts a fragmented MP4 stream into what can be kept and put together again: its head, and fragments of a second.

/** One `moof` with its `mdat`. */
export interface Fragment {
  readonly bytes: Buffer;
  /** Begins with a picture that needs none before it. */
  readonly isKey: boolean;
  /** As the stream says it. */
  readonly durationMs: number;
}

export interface FragmentHandlers {
  /** `ftyp` and `moov`, before the first fragment. */
  readonly onHead: (bytes: Buffer) => void;
  readonly onFragment: (fragment: Fragment) => void;
}

/** A second of the heaviest cameras has 4 MB or so. */
const LARGEST_BOX = 64 << 20;
const HEADER_BYTES = 8;

export class FragmentReader {
  readonly #handlers: FragmentHandlers;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerFill = 0;
  #box: Buffer | undefined;
  #boxFill = 0;
  #type = '';
  /** `ftyp` until its `moov` has come, `moof` until its `mdat` has. */
  #first: Buffer | undefined;
  /** Ticks a second. */
  #timescale = 1;

  constructor(handlers: FragmentHandlers) {
    this.#handlers = handlers;
  }

  /** @throws RangeError where this is no such stream */
  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#box === undefined) {
        const count = Math.min(HEADER_BYTES - this.#headerFill, chunk.length - at);
        chunk.copy(this.#header, this.#headerFill, at, at + count);
        this.#headerFill += count;
        at += count;
        if (this.#headerFill === HEADER_BYTES) this.#open();
        continue;
      }
      const count = Math.min(this.#box.length - this.#boxFill, chunk.length - at);
      chunk.copy(this.#box, this.#boxFill, at, at + count);
      this.#boxFill += count;
      at += count;
      if (this.#boxFill === this.#box.length) this.#close(this.#box);
    }
  }

  #open(): void {
    const size = this.#header.readUInt32BE(0);
    this.#type = this.#header.toString('latin1', 4, 8);
    if (size <= HEADER_BYTES || size > LARGEST_BOX)
      throw new RangeError(`a box ${JSON.stringify(this.#type)} of ${size} bytes`);
    this.#box = Buffer.allocUnsafeSlow(size);
    this.#header.copy(this.#box);
    this.#boxFill = HEADER_BYTES;
    this.#headerFill = 0;
  }

  #close(box: Buffer): void {
    this.#box = undefined;
    const first = this.#first;
    switch (this.#type) {
      case 'ftyp':
      case 'moof':
        this.#first = box;
        return;
      case 'moov':
        this.#timescale = timescaleOf(box);
        this.#handlers.onHead(first === undefined ? box : Buffer.concat([first, box]));
        break;
      case 'mdat':
        if (first !== undefined)
          this.#handlers.onFragment({
            bytes: Buffer.concat([first, box]),
            isKey: beginsWithKey(first),
            durationMs: (1000 * ticksOf(first)) / this.#timescale,
          });
        break;
      default: // an index at the end
    }
    this.#first = undefined;
  }
}

const NOT_SYNC = 0x10000;

/** What the samples of a fragment have in common, and the table of their own. ISO/IEC 14496-12, 8.8.7 and 8.8.8. */
interface Run {
  readonly count: number;
  readonly duration: number;
  readonly flags: number;
  readonly firstFlags?: number;
  readonly table: Buffer;
  /** Bytes of a row, and where its duration and its flags are; -1 where it has none. */
  readonly row: number;
  readonly durationAt: number;
  readonly flagsAt: number;
}

function* runsOf(moof: Buffer): Generator<Run> {
  for (const traf of boxesIn(moof, 8)) {
    if (traf.type !== 'traf') continue;
    let [duration, flags] = [0, 0];
    for (const { type, bytes } of boxesIn(traf.bytes, 8)) {
      const has = (flag: number) => (bytes.readUInt32BE(8) & flag) !== 0;
      if (type === 'tfhd') {
        const durationAt = 16 + (has(0x1) ? 8 : 0) + (has(0x2) ? 4 : 0);
        const flagsAt = durationAt + (has(0x8) ? 4 : 0) + (has(0x10) ? 4 : 0);
        if (has(0x8)) duration = bytes.readUInt32BE(durationAt);
        if (has(0x20)) flags = bytes.readUInt32BE(flagsAt);
      }
      if (type !== 'trun') continue;
      const firstAt = 16 + (has(0x1) ? 4 : 0);
      const sizeAt = has(0x100) ? 4 : 0;
      const flagsAt = sizeAt + (has(0x200) ? 4 : 0);
      yield {
        count: bytes.readUInt32BE(12),
        duration,
        flags,
        ...(has(0x4) && { firstFlags: bytes.readUInt32BE(firstAt) }),
        table: bytes.subarray(firstAt + (has(0x4) ? 4 : 0)),
        row: flagsAt + (has(0x400) ? 4 : 0) + (has(0x800) ? 4 : 0),
        durationAt: has(0x100) ? 0 : -1,
        flagsAt: has(0x400) ? flagsAt : -1,
      };
    }
  }
}

function beginsWithKey(moof: Buffer): boolean {
  for (const { flags, firstFlags, table, flagsAt } of runsOf(moof)) {
    const first = firstFlags ?? (flagsAt < 0 ? flags : table.readUInt32BE(flagsAt));
    return (first & NOT_SYNC) === 0;
  }
  return false;
}

function ticksOf(moof: Buffer): number {
  let ticks = 0;
  for (const { count, duration, table, row, durationAt } of runsOf(moof))
    for (let at = 0; at < count; at++)
      ticks += durationAt < 0 ? duration : table.readUInt32BE(at * row + durationAt);
  return ticks;
}

/** Of the first track, which is the only one. */
function timescaleOf(moov: Buffer): number {
  const inside = (bytes: Buffer, ...path: readonly string[]): Buffer | undefined => {
    const [first, ...rest] = path;
    if (first === undefined) return bytes;
    for (const box of boxesIn(bytes, 8)) if (box.type === first) return inside(box.bytes, ...rest);
    return undefined;
  };
  const mdhd = inside(moov, 'trak', 'mdia', 'mdhd');
  return Math.max(1, mdhd?.readUInt32BE(mdhd[8] === 1 ? 28 : 20) ?? 1);
}

function* boxesIn(bytes: Buffer, from: number): Generator<{ readonly type: string; readonly bytes: Buffer }> {
  for (let at = from; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32BE(at);
    if (size < 8 || at + size > bytes.length) return;
    yield { type: bytes.toString('latin1', at + 4, at + 8), bytes: bytes.subarray(at, at + size) };
    at += size;
  }
}
