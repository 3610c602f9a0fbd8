// Every kind of picture that people have: the right pixels at the right size, or words that name the fault.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DataError } from '#core';
import { openPicture, readPicture } from '#data/images';
import { fromRgb, noisePixels, rectanglePixels, whiteBox, withOrientation } from './pictures.ts';

const SIZE = { width: 64, height: 64 };
const WHITE = { x1: 16, y1: 8, x2: 48, y2: 24 };
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'edge-detect-pictures-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function errorOf(promise: Promise<unknown>): Promise<DataError> {
  const fault = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(fault).toBeInstanceOf(DataError);
  return fault as DataError;
}

describe('EXIF orientation', () => {
  const size = { width: 96, height: 64 };
  const white = { x1: 8, y1: 8, x2: 40, y2: 24 };
  const turned: Record<number, typeof white> = {
    1: white,
    2: { x1: 56, y1: 8, x2: 88, y2: 24 },
    3: { x1: 56, y1: 40, x2: 88, y2: 56 },
    4: { x1: 8, y1: 40, x2: 40, y2: 56 },
    5: { x1: 8, y1: 8, x2: 24, y2: 40 },
    6: { x1: 40, y1: 8, x2: 56, y2: 40 },
    7: { x1: 40, y1: 56, x2: 56, y2: 88 },
    8: { x1: 8, y1: 56, x2: 24, y2: 88 },
  };

  for (const [orientation, box] of Object.entries(turned)) {
    it(`turns ${orientation} once`, async () => {
      const jpeg = await fromRgb(rectanglePixels(size, white), size).jpeg({ quality: 95 }).toBuffer();
      const bytes = withOrientation(jpeg, Number(orientation));
      expect((await sharp(bytes).metadata()).orientation).toBe(Number(orientation));
      const picture = await readPicture(bytes);
      expect(picture.size).toEqual(Number(orientation) >= 5 ? { width: 64, height: 96 } : size);
      expect(whiteBox(picture.rgb, picture.size)).toEqual(box);
      const half = { width: picture.size.width / 2, height: picture.size.height / 2 };
      expect(whiteBox(await picture.resizeTo(half), half)).toEqual({
        x1: box.x1 / 2,
        y1: box.y1 / 2,
        x2: box.x2 / 2,
        y2: box.y2 / 2,
      });
    });
  }
});

describe('kinds of pixels', () => {
  const rgb = rectanglePixels(SIZE, WHITE);
  const picture = () => fromRgb(rgb, SIZE);
  const sixteen = (background: number) => {
    const values = Uint16Array.from(rgb, (value) => (value === 255 ? 0xffff : background));
    return { values, grey: values.filter((_, i) => i % 3 === 0) };
  };
  const sixteenBitPng = (values: Uint16Array, channels: 1 | 3) =>
    sharp(values, { raw: { ...SIZE, channels } })
      .toColourspace(channels === 1 ? 'grey16' : 'rgb16')
      .png()
      .toBuffer();

  const kinds: Record<string, () => Promise<Buffer>> = {
    'rgb PNG': () => picture().png().toBuffer(),
    'grey PNG': () => picture().toColourspace('b-w').png().toBuffer(),
    'palette PNG': () => picture().png({ palette: true }).toBuffer(),
    '1-bit PNG': () => picture().threshold(128).png({ palette: true, colours: 2 }).toBuffer(),
    'PNG with alpha': () => picture().ensureAlpha(0.1).png().toBuffer(),
    'grey JPEG': () => picture().toColourspace('b-w').jpeg().toBuffer(),
    'CMYK JPEG': () => picture().toColourspace('cmyk').jpeg({ quality: 95 }).toBuffer(),
    'progressive JPEG': () => picture().jpeg({ progressive: true }).toBuffer(),
    'lossless WebP': () => picture().webp({ lossless: true }).toBuffer(),
    GIF: () => picture().gif().toBuffer(),
    TIFF: () => picture().tiff({ compression: 'lzw' }).toBuffer(),
    '1-bit TIFF': () =>
      picture().toColourspace('b-w').tiff({ bitdepth: 1, compression: 'ccittfax4' }).toBuffer(),
    AVIF: () => picture().avif({ quality: 90 }).toBuffer(),
    '16-bit grey PNG': () => sixteenBitPng(sixteen(0x1800).grey, 1),
    '16-bit RGB PNG': () => sixteenBitPng(sixteen(0x1800).values, 3),
  };

  for (const [kind, make] of Object.entries(kinds)) {
    it(`reads ${kind}`, async () => {
      const found = await readPicture(await make());
      expect(found.size).toEqual(SIZE);
      expect(found.rgb.length).toBe(64 * 64 * 3);
      expect(whiteBox(found.rgb, SIZE)).toEqual(WHITE);
      expect(found.warnings).toEqual([]);
      const background = kind.startsWith('1-bit') ? 0 : 24;
      expect(Math.abs(found.rgb[0]! - background)).toBeLessThanOrEqual(kind.startsWith('CMYK') ? 30 : 3);
    });
  }

  it('scales 16 bits by 255 / 65535 and not by a cut or a clamp', async () => {
    const ramp = Uint16Array.from({ length: 64 * 64 }, (_, i) => i * 16);
    for (const channels of [1, 3] as const) {
      const values =
        channels === 1
          ? ramp
          : Uint16Array.from({ length: ramp.length * 3 }, (_, i) => ramp[Math.floor(i / 3)]!);
      const { rgb: found } = await readPicture(await sixteenBitPng(values, channels));
      for (let i = 0; i < ramp.length; i++) {
        if (Math.abs(found[i * 3]! - (ramp[i]! * 255) / 65535) > 0.51) {
          expect.fail(`value ${ramp[i]} became ${found[i * 3]}`);
        }
      }
    }
  });

  it('says that 12-bit values in a 16-bit file look dark', async () => {
    const values = Uint16Array.from({ length: 64 * 64 }, (_, i) => i);
    const { warnings } = await readPicture(await sixteenBitPng(values, 1), { name: 'thermal.png' });
    expect(warnings.join()).toMatch(/thermal\.png.*reach only 4095 of 65535/);
  });

  it('keeps the colours of a transparent picture: alpha is dropped', async () => {
    const rgba = new Uint8Array(64 * 64 * 4);
    for (let i = 0; i < rgba.length; i += 4) rgba.set([200, 40, 10, 0], i);
    const png = await sharp(rgba, { raw: { ...SIZE, channels: 4 } })
      .png()
      .toBuffer();
    const found = await readPicture(png);
    expect([...found.rgb.subarray(0, 3)]).toEqual([200, 40, 10]);
    const small = await found.resizeTo({ width: 20, height: 10 });
    expect([...small.subarray(0, 3)]).toEqual([200, 40, 10]);
  });

  it('keeps red, green and blue in their places', async () => {
    for (const colour of [
      [200, 40, 10],
      [40, 200, 10],
      [10, 40, 200],
    ]) {
      const solid = Uint8Array.from({ length: 64 * 64 * 3 }, (_, i) => colour[i % 3]!);
      const jpeg = await fromRgb(solid, SIZE).jpeg({ quality: 100, chromaSubsampling: '4:4:4' }).toBuffer();
      const { rgb: found } = await readPicture(jpeg);
      for (const channel of [0, 1, 2]) expect(Math.abs(found[channel]! - colour[channel]!)).toBeLessThan(4);
    }
  });

  it('applies the colour profile of the file', async () => {
    const solid = Uint8Array.from({ length: 64 * 64 * 3 }, (_, i) => [200, 40, 10][i % 3]!);
    const png = await fromRgb(solid, SIZE).png().withIccProfile('p3').toBuffer();
    expect([...(await sharp(png, { ignoreIcc: true }).raw().toBuffer()).subarray(0, 3)]).toEqual([
      184, 56, 31,
    ]);
    const { rgb, resizeTo } = await readPicture(png);
    for (const pixels of [rgb, await resizeTo({ width: 10, height: 10 })]) {
      for (const i of [0, 1, 2]) expect(Math.abs(pixels[i]! - solid[i]!)).toBeLessThan(4);
    }
  });
});

describe('pictures scaled for the network', () => {
  it('have the right box for every kind, whichever way they are decoded', async () => {
    const size = { width: 640, height: 480 };
    const rgb = rectanglePixels(size, { x1: 160, y1: 80, x2: 480, y2: 240 });
    const kinds = {
      jpeg: fromRgb(rgb, size).jpeg({ quality: 95 }),
      png: fromRgb(rgb, size).png(),
      alpha: fromRgb(rgb, size).ensureAlpha(0.5).png(),
      grey: fromRgb(rgb, size).toColourspace('b-w').jpeg({ quality: 95 }),
      sixteen: fromRgb(rgb, size).toColourspace('rgb16').png(),
      turned: fromRgb(rgb, size).webp({ lossless: true }).withMetadata({ orientation: 3 }),
    };
    for (const [kind, made] of Object.entries(kinds)) {
      for (const divisor of [1, 4, 8, 16]) {
        const to = { width: 640 / divisor, height: 480 / divisor };
        const { rgb: small } = await (await openPicture(await made.toBuffer())).resizeTo(to);
        expect(small.length).toBe(to.width * to.height * 3);
        const [x1, y1] = kind === 'turned' ? [160, 240] : [160, 80];
        const box = {
          x1: x1 / divisor,
          y1: y1 / divisor,
          x2: (x1 + 320) / divisor,
          y2: (y1 + 160) / divisor,
        };
        expect(whiteBox(small, to), `${kind} / ${divisor}`).toEqual(box);
      }
    }
  });

  it('are refused where a part is missing, and read without the end mark', async () => {
    const size = { width: 256, height: 256 };
    const jpeg = await fromRgb(noisePixels(size), size).jpeg().toBuffer();
    const to = { width: 32, height: 32 };
    const read = async (bytes: Buffer) => (await openPicture(bytes, { name: 'a.jpg' })).resizeTo(to);
    for (const part of [0.3, 0.7]) {
      expect((await errorOf(read(jpeg.subarray(0, jpeg.length * part)))).message).toMatch(/a\.jpg: damaged/);
    }
    expect((await read(jpeg.subarray(0, -2))).warnings.join()).toMatch(/a\.jpg: the end mark/);
  });
});

describe('pictures of several frames or pages', () => {
  const frames = [0, 8, 16].map((y) => rectanglePixels(SIZE, { x1: 16, y1: 8 + y, x2: 48, y2: 24 + y }));
  const tall = Buffer.concat(frames);

  for (const format of ['gif', 'webp', 'tiff'] as const) {
    it(`shows the first one of ${format}`, async () => {
      const raw = { width: 64, height: 192, channels: 3, pageHeight: 64 } as const;
      const bytes = await sharp(tall, { raw })
        .toFormat(format, { lossless: true, delay: [50, 50, 50] })
        .toBuffer();
      expect((await sharp(bytes).metadata()).pages).toBe(3);
      const picture = await readPicture(bytes);
      expect(picture.size).toEqual(SIZE);
      expect(whiteBox(picture.rgb, SIZE)).toEqual(WHITE);
    });
  }

  it('shows the first picture of an MPO, which is a JPEG with others behind it', async () => {
    const [first, second] = await Promise.all(
      frames.slice(0, 2).map((frame) => fromRgb(frame, SIZE).jpeg().toBuffer()),
    );
    const picture = await readPicture(Buffer.concat([first!, second!]));
    expect(whiteBox(picture.rgb, SIZE)).toEqual(WHITE);
    expect(picture.warnings).toEqual([]);
  });
});

describe('damage', () => {
  const size = { width: 256, height: 256 };
  let jpeg: Buffer;
  beforeAll(async () => {
    jpeg = await fromRgb(noisePixels(size), size).jpeg().toBuffer();
  });

  it('reads junk after the end mark without a word', async () => {
    const picture = await readPicture(Buffer.concat([jpeg, Buffer.alloc(200, 7)]));
    expect(picture.warnings).toEqual([]);
    expect(picture.size).toEqual(size);
  });

  it('reads a JPEG without its end mark, with a warning that names the file', async () => {
    const whole = await readPicture(jpeg);
    const picture = await readPicture(jpeg.subarray(0, -2), { name: 'cut.jpg' });
    expect(picture.warnings.join()).toMatch(/cut\.jpg: the end mark/);
    expect(Buffer.compare(picture.rgb, whole.rgb)).toBe(0);
  });

  for (const part of [0.3, 0.7]) {
    it(`refuses a JPEG and a PNG cut at ${part * 100} %`, async () => {
      const png = await fromRgb(noisePixels(size), size).png().toBuffer();
      for (const [name, bytes] of [
        ['a.jpg', jpeg],
        ['a.png', png],
      ] as const) {
        const path = join(folder, `${part}-${name}`);
        writeFileSync(path, bytes.subarray(0, bytes.length * part));
        const before = readFileSync(path);
        const fault = await errorOf(readPicture(path));
        expect(fault.message).toMatch(new RegExp(`${name}: damaged: .*\\w`));
        expect(fault.exitCode).toBe(4);
        expect(Buffer.compare(readFileSync(path), before)).toBe(0);
      }
    });
  }

  it('refuses half a JPEG also where somebody put an end mark behind it', async () => {
    const fault = await errorOf(
      readPicture(Buffer.concat([jpeg.subarray(0, jpeg.length / 2), jpeg.subarray(-2)])),
    );
    expect(fault.message).toMatch(/damaged/);
  });

  it('reads a picture with a changed byte and passes the complaint of the decoder on', async () => {
    const progressive = await fromRgb(noisePixels(size), size).jpeg({ progressive: true }).toBuffer();
    const middle = progressive.length >> 1;
    progressive[middle] = progressive[middle]! ^ 0x55;
    const picture = await readPicture(progressive, { name: 'changed.jpg' });
    expect(picture.warnings.join()).toMatch(/changed\.jpg: read, but the decoder complains: Vips/);
  });

  it('reads by content where the name says another format', async () => {
    const path = join(folder, 'really-a-png.jpg');
    writeFileSync(path, await fromRgb(rectanglePixels(SIZE, WHITE), SIZE).png().toBuffer());
    const picture = await readPicture(path);
    expect(picture.format).toBe('png');
    expect(whiteBox(picture.rgb, SIZE)).toEqual(WHITE);
  });

  it('says what it found instead of a picture', async () => {
    writeFileSync(join(folder, 'empty.jpg'), '');
    writeFileSync(join(folder, 'page.jpg'), '<!DOCTYPE html><html>not found</html>');
    writeFileSync(
      join(folder, 'drawing.png'),
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
    );
    writeFileSync(join(folder, 'binary.png'), Buffer.from([1, 2, 3, 4]));
    const cases = {
      'empty.jpg': /is empty/,
      'page.jpg': /starts with the text "<!DOCTYPE/,
      'drawing.png': /holds svg/,
      'binary.png': /bytes 01020304/,
    };
    for (const [name, words] of Object.entries(cases)) {
      const fault = await errorOf(readPicture(join(folder, name)));
      expect(fault.message).toContain(name);
      expect(fault.message).toMatch(words);
      expect(fault.hint).toMatch(/JPEG, PNG/);
    }
    expect((await errorOf(readPicture(folder))).message).toMatch(/not a file/);
    expect((await errorOf(readPicture(join(folder, 'absent.png')))).message).toMatch(/does not exist/);
  });

  it('refuses pixels whose range is not known', async () => {
    const tags = [
      [256, 1],
      [257, 1],
      [258, 32],
      [259, 1],
      [262, 1],
      [273, 134],
      [277, 1],
      [278, 1],
      [279, 4],
      [339, 3],
    ];
    const floats = Buffer.alloc(138);
    floats.write('II*', 0, 'latin1');
    floats.writeUInt32LE(8, 4);
    floats.writeUInt16LE(tags.length, 8);
    for (const [i, [tag, value]] of tags.entries()) {
      floats.writeUInt16LE(tag!, 10 + i * 12);
      floats.writeUInt16LE(3, 12 + i * 12);
      floats.writeUInt32LE(1, 14 + i * 12);
      floats.writeUInt16LE(value!, 18 + i * 12);
    }
    expect((await errorOf(readPicture(floats))).message).toMatch(/type float, expected 8 or 16/);
  });
});

describe('huge pictures', () => {
  it('refuses more pixels than allowed before taking memory, naming size and option', async () => {
    const size = { width: 20000, height: 14000 };
    const path = join(folder, 'aerial.png');
    await sharp({ create: { ...size, channels: 3, background: '#405060' }, limitInputPixels: false })
      .png({ compressionLevel: 1 })
      .toFile(path);
    const before = process.memoryUsage.rss();
    const fault = await errorOf(readPicture(path));
    expect(fault.message).toMatch(/aerial\.png: 20000x14000 are 280000000 pixels/);
    expect(fault.hint).toMatch(/max_pixels=280000000/);
    expect(process.memoryUsage.rss() - before).toBeLessThan(100e6);
    await expect(
      readPicture(await fromRgb(rectanglePixels(SIZE, WHITE), SIZE).png().toBuffer(), { maxPixels: 4095 }),
    ).rejects.toThrow(/4096 pixels/);
  });
});

describe('BMP', () => {
  const palette = Buffer.alloc(1024);
  palette.set([24, 24, 24, 0, 255, 255, 255, 0]);

  function bmp(bits: 8 | 24 | 32, topDown: boolean): Buffer {
    const rowBytes = Math.ceil((64 * bits) / 32) * 4;
    const paletteBytes = bits === 8 ? 1024 : 0;
    const header = Buffer.alloc(54);
    header.write('BM', 0, 'latin1');
    header.writeUInt32LE(54 + paletteBytes, 10);
    header.writeUInt32LE(40, 14);
    header.writeInt32LE(64, 18);
    header.writeInt32LE(topDown ? -64 : 64, 22);
    header.writeUInt16LE(1, 26);
    header.writeUInt16LE(bits, 28);
    const pixels = Buffer.alloc(rowBytes * 64);
    const rgb = rectanglePixels(SIZE, WHITE);
    for (let y = 0; y < 64; y++) {
      for (let x = 0; x < 64; x++) {
        const value = rgb[(y * 64 + x) * 3]!;
        const offset = (topDown ? y : 63 - y) * rowBytes + (x * bits) / 8;
        if (bits === 8) pixels[offset] = value === 255 ? 1 : 0;
        else pixels.fill(value, offset, offset + bits / 8);
      }
    }
    return Buffer.concat([header, palette.subarray(0, paletteBytes), pixels]);
  }

  for (const bits of [8, 24, 32] as const) {
    it(`reads ${bits} bits in both row orders`, async () => {
      for (const topDown of [false, true]) {
        const picture = await readPicture(bmp(bits, topDown));
        expect(picture.format).toBe('bmp');
        expect(whiteBox(picture.rgb, picture.size)).toEqual(WHITE);
        expect(picture.rgb[0]).toBe(24);
      }
    });
  }

  it('names what is wrong with others', async () => {
    const whole = bmp(24, false);
    expect((await errorOf(readPicture(whole.subarray(0, 5000), { name: 'a.bmp' }))).message).toMatch(
      /a\.bmp: damaged: 5000 bytes, expected 12342/,
    );
    whole.writeUInt32LE(1, 30);
    expect((await errorOf(readPicture(whole))).message).toMatch(/compression 1; expected/);
    await expect(readPicture(bmp(24, true), { maxPixels: 100 })).rejects.toThrow(/4096 pixels/);
  });
});

describe('file names', () => {
  const names = [
    'with space.png',
    'größe-写真.png',
    '50%.png',
    '#1.png',
    '-dash.png',
    'new\nline.png',
    'glob[1]*?{a}.png',
    `${'a'.repeat(246)}.png`,
    'UPPER.PNG',
    'quote\'".png',
    'back\\slash.png',
  ];

  it('reads every odd file name', async () => {
    const bytes = await fromRgb(rectanglePixels(SIZE, WHITE), SIZE).png().toBuffer();
    for (const name of names) {
      writeFileSync(join(folder, name), bytes);
      expect((await readPicture(join(folder, name))).size, name).toEqual(SIZE);
    }
  });
});
