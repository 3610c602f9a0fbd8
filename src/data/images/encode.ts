// Writes rgb24 as a picture file, in the format of the original where that format is usual.
import { extname } from 'node:path';
import type { Size } from '#core';
import { loadSharp } from './load-sharp.ts';

export type EncodedFormat = 'jpeg' | 'png' | 'webp';

const FORMAT_BY_EXTENSION: Readonly<Record<string, EncodedFormat>> = {
  '.jpg': 'jpeg',
  '.jpeg': 'jpeg',
  '.jpe': 'jpeg',
  '.jfif': 'jpeg',
  '.png': 'png',
  '.webp': 'webp',
};

/** Format for a copy of this picture, or undefined where its ending is none that is written (then take `png`). */
export function encodedFormatOf(path: string): EncodedFormat | undefined {
  return FORMAT_BY_EXTENSION[extname(path).toLowerCase()];
}

/**
 * Encodes rgb24 [height, width, 3]: JPEG and WebP at quality 95, PNG without loss. The pixels are taken as turned
 * already, and the file carries no orientation, so that no viewer turns it again.
 */
export async function encodePicture(rgb: Uint8Array, size: Size, format: EncodedFormat): Promise<Uint8Array> {
  const sharp = await loadSharp();
  const picture = sharp(rgb, {
    raw: { width: size.width, height: size.height, channels: 3 },
    limitInputPixels: false,
  });
  switch (format) {
    case 'jpeg':
      return picture.jpeg({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer();
    case 'png':
      return picture.png().toBuffer();
    case 'webp':
      return picture.webp({ quality: 95 }).toBuffer();
    default:
      return format satisfies never;
  }
}
