// Written copies keep their pixels and carry no second turn; labels can be drawn.

import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import {
  encodedFormatOf,
  encodePicture,
  isPicturePath,
  isUnreadablePicturePath,
  readPicture,
  renderSvg,
} from '#data/images';
import { fromRgb, rectanglePixels, whiteBox, withOrientation } from './pictures.ts';

describe('encodePicture', () => {
  const size = { width: 96, height: 64 };
  const rgb = rectanglePixels(size, { x1: 8, y1: 8, x2: 40, y2: 24 });

  it('writes a turned picture without a second turn', async () => {
    const turned = await readPicture(
      withOrientation(await fromRgb(rgb, size).jpeg({ quality: 95 }).toBuffer(), 6),
    );
    for (const format of ['jpeg', 'png', 'webp'] as const) {
      const bytes = await encodePicture(turned.rgb, turned.size, format);
      const metadata = await sharp(bytes).metadata();
      expect(metadata.format).toBe(format);
      expect(metadata.orientation).toBeUndefined();
      const back = await readPicture(bytes);
      expect(back.size).toEqual({ width: 64, height: 96 });
      expect(whiteBox(back.rgb, back.size)).toEqual({ x1: 40, y1: 8, x2: 56, y2: 40 });
    }
  });

  it('writes PNG without loss and JPEG of high quality', async () => {
    const png = await readPicture(await encodePicture(rgb, size, 'png'));
    expect(Buffer.compare(png.rgb, rgb)).toBe(0);
    const jpeg = await readPicture(await encodePicture(rgb, size, 'jpeg'));
    expect(Math.max(...jpeg.rgb.map((value, i) => Math.abs(value - rgb[i]!)))).toBeLessThan(30);
  });

  it('goes by the ending of the original, in any case', () => {
    expect(['a.JPG', 'a.jpeg', 'a.Png', 'a.webp', 'a.bmp', 'a'].map(encodedFormatOf)).toEqual([
      'jpeg',
      'jpeg',
      'png',
      'webp',
      undefined,
      undefined,
    ]);
  });
});

describe('file endings', () => {
  it('count in any case', () => {
    for (const name of [
      'a.png',
      'a.PNG',
      'a.Jpg',
      'a.JPEG',
      'a.webp',
      'a.tif',
      'a.TIFF',
      'a.bmp',
      'dir.x/a.MPO',
    ]) {
      expect(isPicturePath(name), name).toBe(true);
    }
    for (const name of ['Thumbs.db', '.DS_Store', 'notes.txt', 'png', 'a.png.txt']) {
      expect(isPicturePath(name), name).toBe(false);
      expect(isUnreadablePicturePath(name), name).toBe(false);
    }
    expect(isUnreadablePicturePath('IMG_0001.HEIC')).toBe(true);
  });
});

describe('renderSvg', () => {
  it('gives rgba of the size that the SVG names', async () => {
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="5"><rect width="3" height="5" fill="#f00"/></svg>';
    const { width, height, rgba } = await renderSvg(svg);
    expect([width, height, rgba.length]).toEqual([7, 5, 7 * 5 * 4]);
    expect([...rgba.subarray(0, 4)]).toEqual([255, 0, 0, 255]);
    expect(rgba[6 * 4 + 3]).toBe(0);
  });
});
