// Reads uncompressed BMP files, which sharp does not know: 1, 4, 8 (palette), 24 and 32 bits.
import { DataError, type Size } from '#core';

const FILE_HEADER_BYTES = 14;
const UNCOMPRESSED = 0;
const BIT_FIELDS = 3;
const DEPTHS = [1, 4, 8, 24, 32];

interface BmpHeader {
  readonly size: Size;
  readonly bitsPerPixel: number;
  readonly topDown: boolean;
  readonly pixelOffset: number;
  readonly paletteOffset: number;
}

export function isBmp(bytes: Uint8Array): boolean {
  return bytes.length >= 26 && bytes[0] === 0x42 && bytes[1] === 0x4d && (bytes[14] ?? 0) >= 40;
}

/** @throws DataError where the file is compressed, of another depth, or cut off */
export function readBmpSize(bytes: Uint8Array, name: string): Size {
  return readHeader(bytes, name).size;
}

/**
 * @returns rgb24 [height, width, 3]
 * @throws DataError where the file is compressed, of another depth, or cut off
 */
export function decodeBmp(bytes: Uint8Array, name: string): Uint8Array {
  const header = readHeader(bytes, name);
  const { size, bitsPerPixel, pixelOffset, topDown } = header;
  const rowBytes = Math.ceil((size.width * bitsPerPixel) / 32) * 4;
  const expected = pixelOffset + rowBytes * size.height;
  if (bytes.length < expected) {
    throw new DataError(
      `${name}: damaged: ${bytes.length} bytes, expected ${expected} for ${size.width}x${size.height}`,
      {
        hint: 'restore the file from its origin, or take it out of the source',
      },
    );
  }
  const rgb = new Uint8Array(size.width * size.height * 3);
  for (let y = 0; y < size.height; y++) {
    const row = topDown ? y : size.height - 1 - y;
    const from = bytes.subarray(pixelOffset + row * rowBytes);
    const to = rgb.subarray(y * size.width * 3);
    if (bitsPerPixel >= 24) copyBgrRow(from, to, size.width, bitsPerPixel / 8);
    else copyPaletteRow(from, to, size.width, bitsPerPixel, bytes.subarray(header.paletteOffset));
  }
  return rgb;
}

function readHeader(bytes: Uint8Array, name: string): BmpHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerBytes = view.getUint32(14, true);
  if (view.byteLength < FILE_HEADER_BYTES + headerBytes || headerBytes < 40) {
    throw new DataError(`${name}: damaged: the BMP header is cut off`, {
      hint: 'restore the file from its origin, or take it out of the source',
    });
  }
  const width = view.getInt32(18, true);
  const height = view.getInt32(22, true);
  const bitsPerPixel = view.getUint16(28, true);
  const compression = view.getUint32(30, true);
  const plain =
    compression === UNCOMPRESSED || (compression === BIT_FIELDS && hasUsualMasks(view, bitsPerPixel));
  if (width <= 0 || height === 0 || !plain || !DEPTHS.includes(bitsPerPixel)) {
    throw new DataError(
      `${name}: a BMP of ${width}x${height}, ${bitsPerPixel} bits, compression ${compression}; ` +
        'expected no compression and 1, 4, 8, 24 or 32 bits',
      { hint: 'save the picture as PNG' },
    );
  }
  return {
    size: { width, height: Math.abs(height) },
    bitsPerPixel,
    topDown: height < 0,
    pixelOffset: view.getUint32(10, true),
    paletteOffset: FILE_HEADER_BYTES + headerBytes,
  };
}

/** 32 bits with the channel masks of plain BGRA. */
function hasUsualMasks(view: DataView, bitsPerPixel: number): boolean {
  if (bitsPerPixel !== 32 || view.byteLength < 66) return false;
  const masks = [54, 58, 62].map((offset) => view.getUint32(offset, true));
  return masks[0] === 0xff0000 && masks[1] === 0xff00 && masks[2] === 0xff;
}

function copyBgrRow(from: Uint8Array, to: Uint8Array, width: number, pixelBytes: number): void {
  for (let x = 0; x < width; x++) {
    to[x * 3] = from[x * pixelBytes + 2] ?? 0;
    to[x * 3 + 1] = from[x * pixelBytes + 1] ?? 0;
    to[x * 3 + 2] = from[x * pixelBytes] ?? 0;
  }
}

function copyPaletteRow(
  from: Uint8Array,
  to: Uint8Array,
  width: number,
  bits: number,
  palette: Uint8Array,
): void {
  const perByte = 8 / bits;
  const mask = (1 << bits) - 1;
  for (let x = 0; x < width; x++) {
    const byte = from[Math.floor(x / perByte)] ?? 0;
    const entry = ((byte >> (8 - bits - (x % perByte) * bits)) & mask) * 4;
    to[x * 3] = palette[entry + 2] ?? 0;
    to[x * 3 + 1] = palette[entry + 1] ?? 0;
    to[x * 3 + 2] = palette[entry] ?? 0;
  }
}
