// Turns the bytes of a picture file into rgb24 as a viewer would show it, or says what is wrong with the file.

import type { FailOnOptions, Metadata, Sharp } from 'sharp';
import { DataError, type Size } from '#core';
import { decodeBmp, isBmp, readBmpSize } from './bmp.ts';
import { loadSharp } from './load-sharp.ts';
import { EXACT_BILINEAR, resizeRgb, shrunkSize } from './resize.ts';
import { looksLikePicture } from './signature.ts';

export interface PictureHeader {
  /** As displayed: turned by the EXIF orientation. */
  readonly size: Size;
  /** What the content says, whatever the file is called: `jpeg`, `png`, `bmp`, … */
  readonly format: string;
  readonly sixteenBit: boolean;
  readonly hasAlpha: boolean;
}

export interface DecodedPixels {
  /** rgb24 [height, width, 3]. */
  readonly rgb: Uint8Array;
  /** Faults that did not stop the reading; each names the picture. */
  readonly warnings: readonly string[];
}

const FORMATS = new Set(['jpeg', 'png', 'webp', 'gif', 'tiff', 'heif']);
const JPEG_END_MARK = Uint8Array.of(0xff, 0xd9);

/**
 * What is known before any pixel is decoded.
 * @throws DataError where the bytes are no picture, too many pixels, or of an unknown depth
 */
export async function readHeader(bytes: Uint8Array, name: string, maxPixels: number): Promise<PictureHeader> {
  if (bytes.length === 0) throw notAPicture(name, 'the file is empty');
  if (isBmp(bytes)) {
    const size = readBmpSize(bytes, name);
    expectPixelCount(size, name, maxPixels);
    return { size, format: 'bmp', sixteenBit: false, hasAlpha: false };
  }
  const metadata = await readMetadata(bytes, name);
  const { autoOrient, format, hasAlpha } = metadata;
  const size = { width: autoOrient.width, height: autoOrient.height };
  expectPixelCount(size, name, maxPixels);
  if (metadata.compression === 'hevc') {
    throw new DataError(`${name}: HEIC pictures (HEVC) cannot be read`, {
      hint: 'convert the picture to JPEG, PNG or AVIF first',
    });
  }
  return { size, format, sixteenBit: metadata.depth === 'ushort', hasAlpha };
}

/**
 * The pixels, of the whole picture or scaled to exactly `resize`. Scaling is bilinear and smoothed where it shrinks;
 * a JPEG is shrunk while it is decoded, so that a large one costs little.
 * @throws DataError where the picture is damaged
 */
export async function decodePixels(
  bytes: Uint8Array,
  name: string,
  header: PictureHeader,
  resize?: Size,
): Promise<DecodedPixels> {
  if (header.format === 'bmp' || header.sixteenBit || header.hasAlpha) {
    // Alpha would darken the px that it hides when they are scaled, and 16 bits are scaled to 8 first.
    const whole = await decodeWhole(bytes, name, header);
    return resize === undefined ? whole : { ...whole, rgb: await resizeRgb(whole.rgb, header.size, resize) };
  }
  const size = resize && shrunkSize(header.size, resize);
  const read = await decodeOrExplain(bytes, name, header.format, (whole, failOn) =>
    decodeEightBit(whole, failOn, size),
  );
  return size && resize ? { ...read, rgb: await resizeRgb(read.rgb, size, resize) } : read;
}

async function decodeWhole(bytes: Uint8Array, name: string, header: PictureHeader): Promise<DecodedPixels> {
  if (header.format === 'bmp') return { rgb: decodeBmp(bytes, name), warnings: [] };
  if (!header.sixteenBit) return decodeOrExplain(bytes, name, header.format, decodeEightBit);
  let peak = 0;
  const { rgb, warnings } = await decodeOrExplain(bytes, name, header.format, async (whole, failOn) => {
    const scaled = scaleSixteenBit(await decodeSixteenBit(whole, failOn));
    peak = scaled.peak;
    return scaled.rgb;
  });
  if (peak === 0 || peak >= 0x4000) return { rgb, warnings };
  // 10, 12 and 14-bit sensors write their counts unscaled into 16 bits; guessing their range would change other files.
  const dark =
    `${name}: a 16-bit picture whose values reach only ${peak} of 65535, so it looks dark to the network; ` +
    'scale its values up if it comes from a sensor of fewer bits';
  return { rgb, warnings: [...warnings, dark] };
}

async function readMetadata(bytes: Uint8Array, name: string): Promise<Metadata> {
  const sharp = await loadSharp();
  const metadata = await sharp(bytes, { limitInputPixels: false, failOn: 'none' })
    .metadata()
    .catch((cause: unknown) => {
      throw looksLikePicture(bytes) ? damaged(name, cause) : notAPicture(name, describeContent(bytes), cause);
    });
  if (!FORMATS.has(metadata.format)) throw notAPicture(name, `it holds ${metadata.format}`);
  if (metadata.depth !== 'uchar' && metadata.depth !== 'ushort') {
    throw new DataError(`${name}: pixels are of type ${metadata.depth}, expected 8 or 16 bits without sign`, {
      hint: 'convert the picture to 8 or 16 bits: the range of other types is not known',
    });
  }
  return metadata;
}

function expectPixelCount(size: Size, name: string, maxPixels: number): void {
  const pixels = size.width * size.height;
  if (pixels <= maxPixels) return;
  throw new DataError(
    `${name}: ${size.width}x${size.height} are ${pixels} pixels, more than the limit of ${maxPixels}`,
    {
      hint: `raise it with max_pixels=${pixels} (about ${Math.ceil((pixels * 3) / 1e6)} MB of memory), or cut the picture into tiles`,
    },
  );
}

type Decode = (bytes: Uint8Array, failOn: FailOnOptions) => Promise<Uint8Array>;

/**
 * Strictly first. What then fails is read again with the end mark of a JPEG added (a missing one loses nothing), then
 * without minding the decoder's warnings: only a picture that lacks a part of its content is refused.
 */
async function decodeOrExplain(
  bytes: Uint8Array,
  name: string,
  format: string,
  decode: Decode,
): Promise<DecodedPixels> {
  try {
    return { rgb: await decode(bytes, 'warning'), warnings: [] };
  } catch (strictFault) {
    const reason = decoderWords(strictFault);
    if (format === 'jpeg') {
      const rgb = await decode(Buffer.concat([bytes, JPEG_END_MARK]), 'warning').catch(() => undefined);
      if (rgb)
        return { rgb, warnings: [`${name}: the end mark of the JPEG file is missing; read all the same`] };
    }
    const partMissing = /premature end|unexpected end/i.test(reason);
    const rgb = partMissing ? undefined : await decode(bytes, 'error').catch(() => undefined);
    if (rgb) return { rgb, warnings: [`${name}: read, but the decoder complains: ${reason}`] };
    throw damaged(name, strictFault);
  }
}

/** The first page, turned, without alpha, in sRGB: an embedded colour profile is applied, since no copy carries it. */
async function openFirstPage(bytes: Uint8Array, failOn: FailOnOptions): Promise<Sharp> {
  const sharp = await loadSharp();
  return sharp(bytes, { failOn, limitInputPixels: false, autoOrient: true, page: 0, pages: 1 }).removeAlpha();
}

async function decodeEightBit(bytes: Uint8Array, failOn: FailOnOptions, resize?: Size): Promise<Uint8Array> {
  const picture = (await openFirstPage(bytes, failOn)).toColourspace('srgb').raw();
  return (resize === undefined ? picture : picture.resize({ ...resize, ...EXACT_BILINEAR })).toBuffer();
}

async function decodeSixteenBit(bytes: Uint8Array, failOn: FailOnOptions): Promise<Uint16Array> {
  const buffer = await (await openFirstPage(bytes, failOn))
    .toColourspace('rgb16')
    .raw({ depth: 'ushort' })
    .toBuffer();
  return new Uint16Array(buffer.buffer, buffer.byteOffset, buffer.length / 2);
}

function scaleSixteenBit(values: Uint16Array): { readonly rgb: Uint8Array; readonly peak: number } {
  const rgb = new Uint8Array(values.length);
  let peak = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    if (value > peak) peak = value;
    rgb[i] = Math.round(value / 257); // 65535 / 255 = 257
  }
  return { rgb, peak };
}

function damaged(name: string, cause: unknown): DataError {
  return new DataError(`${name}: damaged: ${decoderWords(cause)}`, {
    hint: 'restore the file from its origin, or take it out of the source',
    cause,
  });
}

function notAPicture(name: string, found: string, cause?: unknown): DataError {
  return new DataError(`${name}: not a picture that can be read: ${found}`, {
    hint: 'expected the content of a JPEG, PNG, WebP, GIF, TIFF, BMP or AVIF file, whatever its name',
    cause,
  });
}

/** The first bytes, so that the user recognises a text file, an HTML page or a wrong download. */
function describeContent(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 24));
  const text = head.toString('latin1');
  return /^[\t\n\r -~]*$/.test(text)
    ? `it starts with the text ${JSON.stringify(text)}`
    : `it starts with the bytes ${head.subarray(0, 8).toString('hex')}`;
}

/** The decoder's last words without its repeated lines. */
function decoderWords(fault: unknown): string {
  const text = fault instanceof Error ? fault.message : String(fault);
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('source:') && !/failOn setting/.test(line));
  // Its words lie in one place for all threads, so that of two pictures that fail at once one may have none.
  return [...new Set(lines)].slice(0, 2).join('; ') || 'its content is broken or cut off';
}
