// Which file names count as pictures, in any case, and which are pictures that cannot be read here.
import { extname } from 'node:path';

const READABLE = new Set('.jpg .jpeg .jpe .jfif .mpo .png .webp .gif .tif .tiff .bmp .dib .avif'.split(' '));

const KNOWN_UNREADABLE = new Set(
  (
    '.heic .heif .jp2 .j2k .jxl .svg .ico .psd .tga .pgm .ppm .pbm .pnm .pfm .exr .hdr ' +
    '.dng .raw .cr2 .cr3 .nef .arw .orf .rw2 .dcm .fits'
  ).split(' '),
);

/** Whether a file name has the ending of a picture that can be read. The content decides in the end. */
export function isPicturePath(path: string): boolean {
  return READABLE.has(extname(path).toLowerCase());
}

/** Whether a file name has the ending of a picture format that is known but cannot be read here. */
export function isUnreadablePicturePath(path: string): boolean {
  return KNOWN_UNREADABLE.has(extname(path).toLowerCase());
}

/** The endings that are read, for messages: `jpg, jpeg, …`. */
export function pictureExtensions(): string {
  return [...READABLE].map((extension) => extension.slice(1)).join(', ');
}
