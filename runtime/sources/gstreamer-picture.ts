// How GStreamer lays a raw picture out in memory, and how it becomes rows without gaps.
import type { Size } from '#core';
import { damagedGdp } from './gstreamer-gdp.ts';

/** One plane as it comes and as it is handed on. Offsets and strides in bytes. */
interface Plane {
  readonly from: number;
  readonly stride: number;
  readonly to: number;
  readonly rowBytes: number;
  readonly rows: number;
}

export interface PictureLayout {
  /** As handed on: a yuv420p picture loses an odd last row or column. */
  readonly size: Size;
  readonly bytesAsSent: number;
  readonly bytesPacked: number;
  readonly planes: readonly Plane[];
}

/**
 * @param caps `video/x-raw, format=(string)RGB, width=(int)640, height=(int)360, …`; RGB and I420 are understood
 * @throws SourceError for other formats
 */
export function pictureLayout(caps: string): PictureLayout {
  const format = /\bformat=\(string\)"?(\w+)/.exec(caps)?.[1];
  const width = Number(/\bwidth=\(int\)(\d+)/.exec(caps)?.[1]);
  const height = Number(/\bheight=\(int\)(\d+)/.exec(caps)?.[1]);
  if (!(width > 0 && height > 0)) throw damagedGdp(`pictures without a size (${caps.slice(0, 120)})`);
  if (format === 'RGB') return rgbLayout({ width, height });
  if (format === 'I420') return yuvLayout({ width, height });
  throw damagedGdp(`pictures of the format ${format}, expected RGB or I420`);
}

/** Rows begin at multiples of four bytes. */
function rgbLayout(size: Size): PictureLayout {
  const rowBytes = size.width * 3;
  const stride = roundUp(rowBytes, 4);
  const plane = { from: 0, stride, to: 0, rowBytes, rows: size.height };
  return {
    size,
    bytesAsSent: stride * size.height,
    bytesPacked: rowBytes * size.height,
    planes: [plane],
  };
}

function yuvLayout(sent: Size): PictureLayout {
  const width = Math.max(2, sent.width - (sent.width % 2));
  const height = Math.max(2, sent.height - (sent.height % 2));
  const rows = roundUp(sent.height, 2);
  const lumaStride = roundUp(sent.width, 4);
  const chromaStride = roundUp(roundUp(sent.width, 2) / 2, 4);
  const chromaSent = (chromaStride * rows) / 2;
  const chroma = { stride: chromaStride, rowBytes: width / 2, rows: height / 2 };
  const lumaPacked = width * height;
  return {
    size: { width, height },
    bytesAsSent: lumaStride * rows + 2 * chromaSent,
    bytesPacked: (lumaPacked * 3) / 2,
    planes: [
      { from: 0, stride: lumaStride, to: 0, rowBytes: width, rows: height },
      { ...chroma, from: lumaStride * rows, to: lumaPacked },
      { ...chroma, from: lumaStride * rows + chromaSent, to: lumaPacked + lumaPacked / 4 },
    ],
  };
}

/** True where the bytes are handed on as they came. */
export function isPacked({ bytesAsSent, bytesPacked }: PictureLayout): boolean {
  return bytesAsSent === bytesPacked;
}

export function pack({ planes }: PictureLayout, sent: Uint8Array, packed: Uint8Array): void {
  for (const { from, stride, to, rowBytes, rows } of planes) {
    for (let row = 0; row < rows; row += 1) {
      const start = from + row * stride;
      packed.set(sent.subarray(start, start + rowBytes), to + row * rowBytes);
    }
  }
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
