// Reads one picture file: found by path, known by its content, never written to.
import { readFile, stat } from 'node:fs/promises';
import { DataError, type Size } from '#core';
import { type DecodedPixels, decodePixels, readHeader } from './decode.ts';

/** 268402689 = 0x3FFF squared: the largest picture that is read unless more is allowed. */
export const DEFAULT_MAX_PIXELS = 0x3fff * 0x3fff;

/** How large a picture may be, and what messages call it. */
export interface ReadPictureOptions {
  /** Pictures with more pixels are refused before memory is taken. */
  readonly maxPixels?: number;
  /** How messages call the picture; the path where one is given. */
  readonly name?: string;
}

/** A picture whose size is known and whose pixels are not decoded yet. */
export interface OpenPicture {
  readonly name: string;
  /** As displayed: turned by the EXIF orientation, first frame or page only. */
  readonly size: Size;
  /** What the content says, whatever the file is called: `jpeg`, `png`, `bmp`, … */
  readonly format: string;
  /** The whole picture: 3 bytes of memory per pixel. */
  decode(): Promise<DecodedPixels>;
  /** The picture stretched to exactly this size; give it the letterbox's `content`. */
  resizeTo(size: Size): Promise<DecodedPixels>;
}

/** A whole picture: alpha dropped, grey copied to three planes, 16 bits scaled by 255 / 65535, profile applied. */
export interface Picture extends DecodedPixels {
  readonly name: string;
  readonly size: Size;
  readonly format: string;
  /** rgb24 [size.height, size.width, 3], from the file again: large JPEG files are shrunk while decoding. */
  resizeTo(size: Size): Promise<Uint8Array>;
}

/**
 * Opens a picture by its content. `decode` and `resizeTo` throw DataError where it lacks a part of its content.
 * @throws DataError where the file is missing, no picture, too large, or of an unknown kind
 */
export async function openPicture(
  source: string | Uint8Array,
  { maxPixels = DEFAULT_MAX_PIXELS, name }: ReadPictureOptions = {},
): Promise<OpenPicture> {
  const shownName = name ?? (typeof source === 'string' ? source : 'picture');
  const bytes = typeof source === 'string' ? await readBytes(source, shownName) : source;
  const header = await readHeader(bytes, shownName, maxPixels);
  return {
    name: shownName,
    size: header.size,
    format: header.format,
    decode: () => decodePixels(bytes, shownName, header),
    resizeTo: (size) => decodePixels(bytes, shownName, header, size),
  };
}

/**
 * Reads a whole picture by its content.
 * @throws DataError where the file is missing, no picture, too large, of an unknown kind, or damaged
 */
export async function readPicture(
  source: string | Uint8Array,
  options: ReadPictureOptions = {},
): Promise<Picture> {
  const { name, size, format, decode, resizeTo } = await openPicture(source, options);
  const pixels = await decode();
  return { name, size, format, ...pixels, resizeTo: async (to) => (await resizeTo(to)).rgb };
}

async function readBytes(path: string, name: string): Promise<Uint8Array> {
  try {
    // A pipe or a device with a picture's name would keep the reader waiting for ever.
    if (!(await stat(path)).isFile()) {
      throw new DataError(`${name}: not a file`, {
        hint: 'name a picture, or a folder of pictures as the source',
      });
    }
    return await readFile(path);
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    const reasons: Record<string, string> = {
      ENOENT: 'the file does not exist',
      EACCES: 'no permission to read it',
      ELOOP: 'its links lead in a circle',
      ERR_FS_FILE_TOO_LARGE: 'the file is larger than 2 GiB',
    };
    throw new DataError(`${name}: cannot be read: ${reasons[code] ?? code}`, {
      hint: 'check the path and its permissions',
      cause,
    });
  }
}
