// Pictures as people have them, through the whole command line: turned, grey, damaged, huge, animated, oddly named.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromRgb, noisePixels, rectanglePixels, withOrientation } from '../data/images/pictures.ts';
import { ffmpegAvailable } from '../support/ffmpeg-available.ts';
import { farthestSide, faultsOfRefusal, RunFolder } from '../support/run-folder.ts';
import { whiteBoxProbe } from '../support/tiny-models.ts';

const folder = new RunFolder();

beforeAll(async () => {
  await folder.writeModel('probe64.onnx', whiteBoxProbe({ width: 64, height: 64 }));
  await folder.writeModel('probe128.onnx', whiteBoxProbe({ width: 128, height: 128 }));
});

afterAll(() => folder.remove());

describe('photos that a phone took sideways', () => {
  const size = { width: 96, height: 64 };
  /** Where 8,8-40,24 lies once the picture is turned. */
  const TURNED = {
    1: [8, 8, 40, 24],
    2: [56, 8, 88, 24],
    3: [56, 40, 88, 56],
    4: [8, 40, 40, 56],
    5: [8, 8, 24, 40],
    6: [40, 8, 56, 40],
    7: [40, 56, 56, 88],
    8: [8, 56, 24, 88],
  } as const;

  it('are turned before everything else, and their annotated copies are not turned again', async () => {
    const rgb = rectanglePixels(size, { x1: 8, y1: 8, x2: 40, y2: 24 });
    const jpeg = await fromRgb(rgb, size).jpeg({ quality: 100 }).toBuffer();
    for (const orientation of Object.keys(TURNED)) {
      await folder.write(`turned/${orientation}.jpg`, withOrientation(jpeg, Number(orientation)));
    }
    const words = ['model=probe128.onnx', 'source=turned', 'save=True', 'name=turned'];
    const { lines } = await folder.predict(...words);
    for (const [index, [x1, y1, x2, y2]] of Object.values(TURNED).entries()) {
      const line = lines[index];
      const tall = index >= 4;
      expect(line).toMatchObject({ source: `turned/${index + 1}.jpg`, width: tall ? 64 : 96 });
      expect(line?.height).toBe(tall ? 96 : 64);
      expect(line?.detections).toHaveLength(1);
      const box = line?.detections[0]?.box ?? { x1: 0, y1: 0, x2: 0, y2: 0 };
      expect(farthestSide(box, { x1, y1, x2, y2 }), `orientation ${index + 1}`).toBeLessThan(1);
      const copy = await sharp(folder.join('runs/detect/turned', `${index + 1}.jpg`)).metadata();
      expect(copy.orientation ?? 1).toBe(1);
      expect([copy.width, copy.height]).toEqual(tall ? [64, 96] : [96, 64]);
    }
  });
});

describe('kinds of pixels', () => {
  const size = { width: 64, height: 64 };
  const rectangle = { x1: 16, y1: 8, x2: 48, y2: 24 };

  it('all show the same rectangle: grey, 16 bits, 1 bit, animated, transparent', async () => {
    const rgb = rectanglePixels(size, rectangle);
    const sixteen = Uint16Array.from(
      rectanglePixels(size, rectangle, 0).filter((_, index) => index % 3 === 0),
      (value) => (value === 255 ? 0xffff : 0x1800),
    );
    const grey16 = sharp(sixteen, { raw: { ...size, channels: 1 } }).toColourspace('grey16');
    const later = rectanglePixels(size, { ...rectangle, y1: 32, y2: 48 });
    const frames = Buffer.concat([rgb, later, later]);
    const moving = sharp(frames, { raw: { ...size, height: 192, channels: 3, pageHeight: 64 } });
    const made = {
      'grey8.png': fromRgb(rgb, size).toColourspace('b-w').png(),
      'grey16.png': grey16.png(),
      'rgb16.png': fromRgb(rgb, size).toColourspace('rgb16').png(),
      'alpha.png': fromRgb(rgb, size).ensureAlpha(0.3).png(),
      'palette1.png': fromRgb(rgb, size).png({ palette: true, colours: 2, dither: 0 }),
      'moving.gif': moving.clone().gif(),
      'moving.webp': moving.clone().webp({ lossless: true }),
      'pages.tif': moving.clone().tiff(),
    };
    for (const [name, picture] of Object.entries(made)) {
      await folder.write(`kinds/${name}`, await picture.toBuffer());
    }
    const { lines } = await folder.predict('model=probe64.onnx', 'source=kinds');
    expect(lines.map(({ source }) => source)).toEqual(
      Object.keys(made)
        .sort()
        .map((name) => `kinds/${name}`),
    );
    for (const line of lines) {
      expect(line, line.source).toMatchObject({ ...size, detections: [{ name: 'white', box: rectangle }] });
    }
  });

  it('say that 12-bit counts in a 16-bit file look dark', async () => {
    const dark = new Uint16Array(64 * 64).fill(0x0fff);
    const picture = sharp(dark, { raw: { ...size, channels: 1 } }).toColourspace('grey16');
    await folder.write('dark.png', await picture.png().toBuffer());
    const { lines, stderr } = await folder.predict('model=probe64.onnx', 'source=dark.png');
    expect(lines[0]?.detections).toEqual([]);
    expect(stderr.match(/dark\.png: a 16-bit picture whose values reach only 4095 of 65535/g)).toHaveLength(
      1,
    );
  });
});

describe('damaged pictures', () => {
  beforeAll(async () => {
    const size = { width: 256, height: 256 };
    const jpeg = await fromRgb(noisePixels(size), size).jpeg().toBuffer();
    const changed = Buffer.from(jpeg);
    changed[jpeg.length >> 1] = (changed[jpeg.length >> 1] ?? 0) ^ 0x55;
    const made = {
      'whole.jpg': jpeg,
      'cut30.jpg': jpeg.subarray(0, jpeg.length * 0.3),
      'cut70.jpg': jpeg.subarray(0, jpeg.length * 0.7),
      'noend.jpg': jpeg.subarray(0, -2),
      'junk.jpg': Buffer.concat([jpeg, Buffer.alloc(200, 7)]),
      'changed.jpg': changed,
      'text.png': 'this is no picture',
      'empty.png': '',
    };
    for (const [name, content] of Object.entries(made)) await folder.write(`damaged/${name}`, content);
  });

  it('are named and left out, the others are read, and no file is touched', async () => {
    const contents = () =>
      readdirSync(folder.join('damaged')).map((name) => readFileSync(folder.join('damaged', name)));
    const before = contents();
    const { lines, stderr } = await folder.predict('model=probe64.onnx', 'source=damaged');
    expect(lines.map(({ source }) => source)).toEqual(
      ['changed', 'junk', 'noend', 'whole'].map((name) => `damaged/${name}.jpg`),
    );
    const warnings = stderr.split('\n').filter((line) => line.startsWith('warning: '));
    expect(warnings).toEqual([
      expect.stringMatching(/^warning: damaged\/cut30\.jpg: damaged: .+; restore the file/),
      expect.stringMatching(/^warning: damaged\/cut70\.jpg: damaged: .+; restore the file/),
      expect.stringMatching(/^warning: damaged\/empty\.png: not a picture .*the file is empty/),
      expect.stringMatching(/^warning: damaged\/text\.png: not a picture .*"this is no picture"/),
    ]);
    expect(stderr).toMatch(
      /damaged\/noend\.jpg: the end mark of the JPEG file is missing; read all the same/,
    );
    expect(stderr).toContain('4 damaged');
    expect(contents()).toEqual(before);
  });

  it('fail the run where there is no other, told once', async () => {
    const words = ['predict', 'model=probe64.onnx', 'source=damaged/cut70.jpg'];
    const result = await folder.run([...words, 'save=False']);
    expect(faultsOfRefusal(result, 4)).toEqual([]);
    expect(result.stderr.match(/cut70\.jpg: damaged/g)).toHaveLength(1);
  });
});

it('a picture above the limit is refused with its size and the option, and the others go on', async () => {
  await folder.write(
    'huge/a.png',
    await fromRgb(new Uint8Array(12288), { width: 64, height: 64 }).png().toBuffer(),
  );
  await folder.write(
    'huge/b.png',
    await fromRgb(new Uint8Array(60000), { width: 200, height: 100 }).png().toBuffer(),
  );
  const { lines, stderr } = await folder.predict('model=probe64.onnx', 'source=huge', 'max_pixels=10000');
  expect(lines.map(({ source }) => source)).toEqual(['huge/a.png']);
  expect(stderr).toMatch(
    /warning: huge\/b\.png: 200x100 are 20000 pixels, .*limit of 10000; .*max_pixels=20000/,
  );
});

describe('names', () => {
  it('of every case are found, clutter is passed over, unreadable formats are counted', async () => {
    const size = { width: 64, height: 64 };
    const rgb = rectanglePixels(size, { x1: 16, y1: 8, x2: 48, y2: 24 });
    const png = await fromRgb(rgb, size).png().toBuffer();
    const jpeg = await fromRgb(rgb, size).jpeg({ quality: 100 }).toBuffer();
    const names = ['a.png', 'b.PNG', 'c.Jpg', 'd.JPEG', 'e.jpeg', 'f.webp', 'g.tif', "h ü#1's [x].png"];
    for (const name of names) {
      const webp = name.endsWith('webp') ? await fromRgb(rgb, size).webp({ lossless: true }).toBuffer() : png;
      const tiff = name.endsWith('tif') ? await fromRgb(rgb, size).tiff().toBuffer() : webp;
      await folder.write(`names/${name}`, /\.jpe?g$/i.test(name) ? jpeg : tiff);
    }
    for (const name of ['Thumbs.db', '.DS_Store', '._x.jpg', 'notes.txt', 'z.heic'])
      await folder.write(`names/${name}`, 'clutter');
    const { lines, stderr } = await folder.predict('model=probe64.onnx', 'source=names');
    expect(lines.map(({ source }) => source)).toEqual(names.map((name) => `names/${name}`));
    expect(lines.every(({ detections }) => detections.length === 1)).toBe(true);
    expect(stderr).toMatch(/^names: left out 1 pictures .*\.heic/m);
    expect(stderr).not.toMatch(/warning/);
  });

  it('that do not exist, and folders without a picture, are answered', async () => {
    await folder.write('none/notes.md', 'no picture');
    await folder.write('names/a.png', '');
    const run = (source: string) => folder.run(['predict', 'model=probe64.onnx', `source=${source}`]);
    const [missing, empty] = await Promise.all([run('names/a.pgn'), run('none')]);
    expect(faultsOfRefusal(missing, 7)).toEqual([]);
    expect(missing.stderr).toMatch(/names\/a\.pgn does not exist[\s\S]*did you mean names\/a\.png\?/);
    expect(faultsOfRefusal(empty, 4)).toEqual([]);
    expect(empty.stderr).toMatch(/the folder none holds no picture or clip.*found 1 \.md/);
  });
});

it.skipIf(!ffmpegAvailable)(
  'a picture and a clip beside it are both read (skipped without ffmpeg)',
  async () => {
    const size = { width: 64, height: 64 };
    const png = await fromRgb(rectanglePixels(size, { x1: 16, y1: 8, x2: 48, y2: 24 }), size)
      .png()
      .toBuffer();
    const picture = await folder.write('both/a.png', png);
    execFileSync('ffmpeg', [
      '-v',
      'error',
      '-i',
      picture,
      '-c:v',
      'ffv1',
      '-pix_fmt',
      'yuv420p',
      folder.join('both/b.mkv'),
    ]);
    const { lines } = await folder.predict('model=probe64.onnx', 'source=both');
    expect(lines).toHaveLength(2);
    for (const { detections } of lines) expect(detections[0]?.box).toEqual({ x1: 16, y1: 8, x2: 48, y2: 24 });
  },
);
