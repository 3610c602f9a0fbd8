// Draws small SVG pictures (text for labels) into pixels.
import { loadSharp } from './load-sharp.ts';

export interface RenderedSvg {
  readonly width: number;
  readonly height: number;
  /** rgba [height, width, 4], not premultiplied. */
  readonly rgba: Uint8Array;
}

/** Renders SVG text of our own making; never pass a user's file. */
export async function renderSvg(svg: string): Promise<RenderedSvg> {
  const sharp = await loadSharp();
  const { data, info } = await sharp(Buffer.from(svg))
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, rgba: data };
}
