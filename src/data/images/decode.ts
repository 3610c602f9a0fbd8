// Turns the bytes of a picture file into rgb24 as a viewer would show it, or says what is wrong with the file.

import sharp, { type FailOnOptions, type Metadata } from 'sharp';
import { DataError, type Size } from '#core';
import { decodeBmp, isBmp } from './bmp.ts';
import { looksLikePicture } from './signature.ts';

export interface DecodedPicture {
  /** As displayed: turned by the EXIF orientation. */
  readonly size: Size;
  /** What the content says, whatever the file is called: `jpeg`, `png`, `bmp`, … */
  readonly format: string;
  /** rgb24 [height, width, 3]. */
  readonly rgb: Uint8Array;
  /** Faults that did not stop the reading; each names the picture. */
  readonly warnings: readonly string[];
}

const FORMATS = new Set(['jpeg', 'png', 'webp', 'gif', 'tiff', 'heif']);
const JPEG_END_MARK = Uint8Array.of(0xff, 0xd9);

/** @throws DataError where the bytes are no picture, too many pixels, of an unknown depth, or damaged */
export async function decodePicture(
  bytes: Uint8Array,
  name: string,
  maxPixels: number,
): Promise<DecodedPicture> {
  if (bytes.length === 0) throw notAPicture(name, 'the file is empty');
  if (isBmp(bytes)) {
    return {
      ...decodeBmp(bytes, name, (size) => expectPixelCount(size, name, maxPixels)),
      format: 'bmp',
      warnings: [],
    };
  }
  const metadata = await readMetadata(bytes, name);
  const { autoOrient, format } = metadata;
  const size = { width: autoOrient.width, height: autoOrient.height };
  expectPixelCount(size, name, maxPixels);
  if (metadata.compression === 'hevc') {
    throw new DataError(`${name}: HEIC pictures (HEVC) cannot be read`, {
      hint: 'convert the picture to JPEG, PNG or AVIF first',
    });
  }
  const sixteenBit = metadata.depth === 'ushort';
  const { pixels, warning } = await decodeOrExplain(bytes, name, format, sixteenBit);
  const warnings = warning === undefined ? [] : [warning];
  if (!(pixels instanceof Uint16Array)) return { size, format, rgb: pixels, warnings };
  const { rgb, peak } = scaleSixteenBit(pixels);
  // 10, 12 and 14-bit sensors write their counts unscaled into 16 bits; guessing their range would change other files.
  if (peak > 0 && peak < 0x4000) {
    warnings.push(
      `${name}: a 16-bit picture whose values reach only ${peak} of 65535, so it looks dark to the network; ` +
        'scale its values up if it comes from a sensor of fewer bits',
    );
  }
  return { size, format, rgb, warnings };
}

async function readMetadata(bytes: Uint8Array, name: string): Promise<Metadata> {
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

interface Attempt {
  readonly pixels: Uint8Array | Uint16Array;
  readonly warning?: string;
}

/**
 * Strictly first. What then fails is read again with the end mark of a JPEG added (a missing one loses nothing), then
 * without minding the decoder's warnings: only a picture that lacks a part of its content is refused.
 */
async function decodeOrExplain(
  bytes: Uint8Array,
  name: string,
  format: string,
  sixteenBit: boolean,
): Promise<Attempt> {
  try {
    return { pixels: await decodeWith(bytes, 'warning', sixteenBit) };
  } catch (strictFault) {
    const reason = decoderWords(strictFault);
    if (format === 'jpeg') {
      const completed = Buffer.concat([bytes, JPEG_END_MARK]);
      const pixels = await decodeWith(completed, 'warning', sixteenBit).catch(() => undefined);
      if (pixels)
        return { pixels, warning: `${name}: the end mark of the JPEG file is missing; read all the same` };
    }
    const partMissing = /premature end|unexpected end/i.test(reason);
    const pixels = partMissing
      ? undefined
      : await decodeWith(bytes, 'error', sixteenBit).catch(() => undefined);
    if (pixels) return { pixels, warning: `${name}: read, but the decoder complains: ${reason}` };
    throw damaged(name, strictFault);
  }
}

/** rgb [height, width, 3] of the first page, turned, without alpha; Uint16Array where the file has 16 bits. */
async function decodeWith(
  bytes: Uint8Array,
  failOn: FailOnOptions,
  sixteenBit: boolean,
): Promise<Uint8Array | Uint16Array> {
  // Colour profiles are left aside and alpha is dropped, as in the readers that the training frameworks use.
  const picture = sharp(bytes, {
    failOn,
    limitInputPixels: false,
    autoOrient: true,
    ignoreIcc: true,
    page: 0,
    pages: 1,
  }).removeAlpha();
  if (!sixteenBit) return picture.toColourspace('srgb').raw().toBuffer();
  const buffer = await picture.toColourspace('rgb16').raw({ depth: 'ushort' }).toBuffer();
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
    .filter((line) => line !== '' && !line.startsWith('source:'));
  return [...new Set(lines)].slice(0, 2).join('; ') || text.split('\n')[0] || 'the decoder gives no reason';
}
