// Cuts the stream that GStreamer's gdppay writes into pictures with their time stamps (the GStreamer Data Protocol 1.0):
// packets of a 62-byte header, big endian, and a body. Time and picture travel together, as they do in NUT.
import { SourceError } from '#core';

const HEADER_BYTES = 62;
const BUFFER = 1;
const CAPS = 2;
const NO_TIME = 0xffff_ffff_ffff_ffffn;
/** GST_BUFFER_FLAG_CORRUPTED as it stands in the header. */
const CORRUPTED = 1 << 8;
const HEADER_HAS_CHECKSUM = 1;
/** Caps, tags and events are lines of text. */
const LARGEST_TEXT = 1 << 20;
const LARGEST_FRAME = 1 << 29;

export interface GdpFrame {
  /** Nanoseconds of the pipeline's clock; undefined where the producer gave no time. */
  readonly ptsNs: bigint | undefined;
  /** The decoder knows that the picture is damaged. */
  readonly corrupted: boolean;
  readonly data: Uint8Array;
}

export interface GdpHandlers {
  /** The format of the pictures that follow, as GStreamer writes it: `video/x-raw, format=(string)RGB, width=(int)640, …`. */
  readonly onCaps: (caps: string) => void;
  /** A buffer of exactly this many bytes for the next frame. */
  readonly allocate: (byteCount: number) => Uint8Array;
  readonly onFrame: (frame: GdpFrame) => void;
}

interface Packet {
  readonly type: number;
  readonly ptsNs: bigint | undefined;
  readonly flags: number;
  readonly body: Uint8Array;
}

/** One stream of raw pictures as `gdppay` writes it. Feed it chunks of any length. */
export class GdpDemuxer {
  readonly #handlers: GdpHandlers;
  readonly #header = new Uint8Array(HEADER_BYTES);
  readonly #view = new DataView(this.#header.buffer);
  /** Bytes of the header, then of the body, that have come. */
  #filled = 0;
  #packet: Packet | undefined;

  constructor(handlers: GdpHandlers) {
    this.#handlers = handlers;
  }

  /** @throws SourceError where the bytes are no such stream or claim sizes beyond reason */
  push(chunk: Uint8Array): void {
    let offset = 0;
    while (offset < chunk.length) {
      const target = this.#packet?.body ?? this.#header;
      const end = Math.min(chunk.length, offset + target.length - this.#filled);
      target.set(chunk.subarray(offset, end), this.#filled);
      this.#filled += end - offset;
      offset = end;
      if (this.#filled === target.length) this.#advance();
    }
  }

  #advance(): void {
    this.#filled = 0;
    this.#packet = this.#packet === undefined ? this.#parseHeader() : this.#finish(this.#packet);
    if (this.#packet?.body.length === 0) this.#packet = this.#finish(this.#packet);
  }

  #parseHeader(): Packet {
    const view = this.#view;
    const major = view.getUint8(0);
    if (major !== 1) throw damagedGdp(`version ${major}, expected 1`);
    if (
      view.getUint8(2) & HEADER_HAS_CHECKSUM &&
      view.getUint16(58) !== checksum(this.#header.subarray(0, 58))
    )
      throw damagedGdp('a header whose checksum is wrong');
    const type = view.getUint16(4);
    const byteCount = view.getUint32(6);
    const isFrame = type === BUFFER;
    if (byteCount > (isFrame ? LARGEST_FRAME : LARGEST_TEXT))
      throw damagedGdp(`a packet of ${byteCount} bytes`);
    const pts = view.getBigUint64(10);
    return {
      type,
      ptsNs: pts === NO_TIME ? undefined : pts,
      flags: view.getUint16(42),
      body: isFrame ? this.#handlers.allocate(byteCount) : new Uint8Array(byteCount),
    };
  }

  /** Events and tags say nothing that is needed. */
  #finish({ type, ptsNs, flags, body }: Packet): undefined {
    if (type === BUFFER) {
      this.#handlers.onFrame({ ptsNs, corrupted: (flags & CORRUPTED) !== 0, data: body });
    } else if (type === CAPS) {
      this.#handlers.onCaps(new TextDecoder('latin1').decode(body).replaceAll('\0', ''));
    }
  }
}

/** CRC-16 of CCITT (x¹⁶ + x¹² + x⁵ + 1, begun with ones, inverted), as gdppay adds it to each header. */
export function checksum(bytes: Uint8Array): number {
  let register = 0xffff;
  for (const byte of bytes) {
    register ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1)
      register = register & 0x8000 ? ((register << 1) ^ 0x1021) & 0xffff : (register << 1) & 0xffff;
  }
  return register ^ 0xffff;
}

export function damagedGdp(what: string): SourceError {
  return new SourceError(`the frames from GStreamer cannot be read: ${what}`, {
    hint: 'check that gst-launch-1.0 is GStreamer 1.x and that no wrapper script writes into its pipes',
  });
}
