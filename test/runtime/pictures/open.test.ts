// From what a user names to frames: files, folders, patterns, lists, and words for what is not there.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLetterbox, DataError, SourceError, UsageError } from '#core';
import { resolveList } from '../../../runtime/sources/list-file.ts';
import { listStreams, openSource } from '../../../runtime/sources/open.ts';
import type { FrameSource, SourceEvent } from '../../../runtime/sources/source.ts';
import { fromRgb, rectanglePixels, whiteBox } from '../../data/images/pictures.ts';

const SIZE = { width: 64, height: 48 };
let folder: string;
let png: Buffer;

beforeAll(async () => {
  png = await fromRgb(rectanglePixels(SIZE, { x1: 8, y1: 8, x2: 40, y2: 24 }), SIZE)
    .png()
    .toBuffer();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'edge-detect-open-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function make(...names: string[]): void {
  for (const name of names) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), png);
  }
}

interface Seen {
  readonly sources: string[];
  readonly events: SourceEvent[];
}

async function read(source: FrameSource, signal = new AbortController().signal): Promise<Seen> {
  const seen: Seen = { sources: [], events: [] };
  const frames = source.frames({
    fit: (size) => createLetterbox(size, { width: 32, height: 32 }),
    full: false,
    signal,
    onEvent: (event) => seen.events.push(event),
  });
  for await (const frame of frames) {
    seen.sources.push(relative(folder, frame.source));
    frame.release();
  }
  return seen;
}

const seenIn = async (spec: string) => read(await openSource(join(folder, spec)));
const wordsOf = (events: readonly SourceEvent[], kind: SourceEvent['kind']) =>
  events
    .filter((event) => event.kind === kind)
    .map((event) => ('reason' in event ? event.reason : 'message' in event ? event.message : ''));

describe('one picture', () => {
  it('gives one frame with content, letterbox and, where asked, the whole picture', async () => {
    make('a.png');
    const source = await openSource(join(folder, 'a.png'));
    expect([source.kind, source.frameCount]).toEqual(['pictures', 1]);
    for await (const frame of source.frames({
      fit: (size) => createLetterbox(size, { width: 32, height: 32 }),
      full: true,
      signal: new AbortController().signal,
    })) {
      expect(frame.letterbox.content).toEqual({ width: 32, height: 24 });
      expect(frame.content.length).toBe(32 * 24 * 3);
      expect(whiteBox(frame.content, frame.letterbox.content)).toEqual({ x1: 4, y1: 4, x2: 20, y2: 12 });
      expect(frame.full).toMatchObject({ format: 'rgb24', ...SIZE });
      expect(frame.ptsSeconds).toBeUndefined();
    }
    expect(source.stats()).toEqual({ frames: 1, dropped: 0, reconnects: 0, damaged: 0 });
  });

  it('is found under every odd name', async () => {
    const names = [
      'with space.png',
      'größe-写真.png',
      '50%.png',
      '#1.png',
      '-dash.png',
      'new\nline.png',
      'glob[1]*?{a}.png',
      `${'a'.repeat(246)}.png`,
    ];
    make(...names);
    for (const name of names) expect((await seenIn(name)).sources).toEqual([name]);
    expect((await seenIn('.')).sources.sort()).toEqual([...names].sort());
  });

  it('is known by its content where its name has no known ending', async () => {
    make('snapshot', 'snapshot.dat');
    expect((await seenIn('snapshot')).sources).toEqual(['snapshot']);
    expect((await seenIn('snapshot.dat')).sources).toEqual(['snapshot.dat']);
  });

  it('has the words of the picture reader where it is damaged', async () => {
    writeFileSync(join(folder, 'cut.png'), png.subarray(0, 60));
    await expect(seenIn('cut.png')).rejects.toThrow(/cut\.png: damaged/);
    writeFileSync(join(folder, 'IMG.HEIC'), 'not really');
    await expect(seenIn('IMG.HEIC')).rejects.toThrow(DataError);
  });
});

describe('what does not exist', () => {
  it('is a source error that names the nearest name', async () => {
    make('street.png', 'other.png');
    const fault = await openSource(join(folder, 'stret.png')).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(SourceError);
    expect((fault as SourceError).exitCode).toBe(7);
    expect((fault as SourceError).message).toContain('stret.png does not exist');
    expect((fault as SourceError).hint).toBe(`did you mean ${join(folder, 'street.png')}?`);
    const deep = await openSource(join(folder, 'none/here/a.png')).catch((error: unknown) => error);
    expect((deep as SourceError).message).toMatch(/folder .*none\/here cannot be read/);
    await expect(openSource(join(folder, 'x'.repeat(300)))).rejects.toBeInstanceOf(SourceError);
    await expect(openSource('gopher://user:secret@host/a')).rejects.toThrow(
      /gopher:\/\/…: this kind of address/,
    );
  });

  it('is also a link that leads nowhere', async () => {
    symlinkSync(join(folder, 'gone.png'), join(folder, 'link.png'));
    await expect(openSource(join(folder, 'link.png'))).rejects.toThrow(/link that leads nowhere/);
    symlinkSync(join(folder, 'loop.png'), join(folder, 'loop.png'));
    await expect(openSource(join(folder, 'loop.png'))).rejects.toThrow(/link that leads nowhere/);
  });
});

describe('a folder', () => {
  it('gives its pictures whatever the case of their endings, sorted, without clutter', async () => {
    make('b.PNG', 'a.Jpg', 'c.webp', 'd.tif', 'e.bmp', 'f.JPEG', 'g.jpeg', '10.png', '9.png');
    make('Thumbs.db', '.DS_Store', '._x.jpg', 'notes.txt', 'sub/inner.png');
    const { sources, events } = await seenIn('.');
    expect(sources).toEqual([
      '10.png',
      '9.png',
      'a.Jpg',
      'b.PNG',
      'c.webp',
      'd.tif',
      'e.bmp',
      'f.JPEG',
      'g.jpeg',
    ]);
    expect(events.map(({ kind }) => kind)).toEqual(['open']);
  });

  it('counts and names formats that cannot be read', async () => {
    make('a.png', 'b.heic', 'c.HEIC', 'd.jp2');
    const { sources, events } = await seenIn('.');
    expect(sources).toEqual(['a.png']);
    expect(wordsOf(events, 'notice').join()).toMatch(/left out 3 pictures.*2 \.heic, 1 \.jp2/);
  });

  it('says what it found where nothing can be read', async () => {
    mkdirSync(join(folder, 'empty'));
    await expect(seenIn('empty')).rejects.toThrow(/empty holds no picture or clip.*found nothing/);
    make('odd/a.doc', 'odd/b.doc', 'odd/sub/c.png');
    const fault = await seenIn('odd').catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(DataError);
    expect((fault as DataError).message).toMatch(/found 2 \.doc, 1 folders/);
    expect((fault as DataError).hint).toContain(join(folder, 'odd', '**/*.jpg'));
  });

  it('passes over damaged pictures, tells and counts them, and goes on', async () => {
    make('a.png', 'c.png');
    writeFileSync(join(folder, 'b.png'), png.subarray(0, 60));
    symlinkSync(join(folder, 'gone'), join(folder, 'd.png'));
    const source = await openSource(folder);
    const { sources, events } = await read(source);
    expect(sources).toEqual(['a.png', 'c.png']);
    expect(wordsOf(events, 'damaged')).toEqual([
      'the link leads nowhere',
      expect.stringMatching(/b\.png: damaged/),
    ]);
    expect(source.stats()).toMatchObject({ frames: 2, damaged: 2 });
  });

  it('fails where not one picture can be read', async () => {
    writeFileSync(join(folder, 'a.png'), png.subarray(0, 60));
    writeFileSync(join(folder, 'b.png'), '');
    await expect(seenIn('.')).rejects.toThrow(
      /none of the 2 pictures could be read; the first: .*a\.png: damaged/,
    );
  });

  it('stops where the signal says so, with its reason', async () => {
    make(...Array.from({ length: 20 }, (_, i) => `${i}.png`));
    const controller = new AbortController();
    const source = await openSource(folder);
    const reason = new Error('enough');
    const reading = async () => {
      for await (const frame of source.frames({
        fit: (size) => createLetterbox(size, { width: 32, height: 32 }),
        full: false,
        signal: controller.signal,
      })) {
        if (frame.index === 2) controller.abort(reason);
      }
    };
    await expect(reading()).rejects.toBe(reason);
    expect(source.stats().frames).toBe(3);
  });
});

describe('a pattern', () => {
  it('matches names, alternatives, sets and folders', async () => {
    make('a1.jpg', 'a2.png', 'b1.jpg', 'sub/a1.jpg', 'sub/deep/a3.jpg', 'sub/.hidden/a4.jpg', '.dot.jpg');
    const cases: Record<string, readonly string[]> = {
      '*.jpg': ['a1.jpg', 'b1.jpg'],
      'a?.{jpg,png}': ['a1.jpg', 'a2.png'],
      '[!a]*.jpg': ['b1.jpg'],
      '[a-b]1.jpg': ['a1.jpg', 'b1.jpg'],
      '**/*.jpg': ['a1.jpg', 'b1.jpg', 'sub/a1.jpg', 'sub/deep/a3.jpg'],
      '*/a*.jpg': ['sub/a1.jpg'],
      'sub/**': ['sub/a1.jpg', 'sub/deep/a3.jpg'],
      '**/deep/*': ['sub/deep/a3.jpg'],
    };
    for (const [pattern, expected] of Object.entries(cases)) {
      expect((await seenIn(pattern)).sources, pattern).toEqual(expected);
    }
    await expect(seenIn('*.bmp')).rejects.toThrow(/pattern .*\*\.bmp holds no picture/);
  });

  it('follows links, ends loops and reports dangling links', async () => {
    make('real/a.png');
    symlinkSync(join(folder, 'real'), join(folder, 'linked'));
    symlinkSync(folder, join(folder, 'real/loop'));
    symlinkSync(join(folder, 'gone.png'), join(folder, 'gone-link.png'));
    const { sources, events } = await seenIn('**/*.png');
    expect(sources).toContain('linked/a.png');
    expect(sources).toContain('real/a.png');
    expect(sources.length).toBeLessThan(8);
    expect(wordsOf(events, 'damaged')).toContain('the link leads nowhere');
  });
});

describe('a list file', () => {
  it('takes lines relative to the list, with comments, quotes, CRLF and a byte order mark', async () => {
    make('images/a.png', 'images/b.png', 'images/c.png', 'lists/d.png');
    const lines = [
      '\uFEFF# a comment',
      '',
      './d.png',
      '../images/a.png"',
      `"${join(folder, 'images/b.png')}"`,
      '  ../images/c.png  ',
    ];
    writeFileSync(join(folder, 'lists/train.txt'), lines.join('\r\n'));
    expect((await seenIn('lists/train.txt')).sources).toEqual([
      'lists/d.png',
      'images/a.png',
      'images/b.png',
      'images/c.png',
    ]);
  });

  it('falls back to the working directory with a notice, but not for ./ lines', () => {
    const entries = ['package.json', './package.json'].map((text, index) => ({ line: index + 1, text }));
    const { specs, notices } = resolveList(join(folder, 'all.txt'), entries);
    expect(specs).toEqual(['package.json', join(folder, 'package.json')]);
    expect(notices.join()).toMatch(/1 of 2 entries were not found beside the list/);
    make('package.json');
    const beside = resolveList(join(folder, 'all.txt'), entries);
    expect(beside).toMatchObject({
      specs: [join(folder, 'package.json'), join(folder, 'package.json')],
      notices: [],
    });
  });

  it('reads the first column of a CSV', async () => {
    make('a.png', 'b,c.png');
    writeFileSync(join(folder, 'list.csv'), 'path,label\na.png,1\n"b,c.png",2\n');
    expect((await seenIn('list.csv')).sources).toEqual(['a.png', 'b,c.png']);
  });

  it('names the lines that lead nowhere and goes on', async () => {
    make('a.png', 'folder/x.png', 'folder/y.png');
    writeFileSync(join(folder, 'list.txt'), 'a.png\nmissing.png\nfolder\nfolder/x*.png\nfolder/q*.png\n');
    const source = await openSource(join(folder, 'list.txt'));
    const { sources, events } = await read(source);
    expect(sources).toEqual(['a.png', 'folder/x.png', 'folder/y.png', 'folder/x.png']);
    expect(wordsOf(events, 'damaged').join()).toMatch(/list\.txt line 2: missing\.png is neither/);
    expect(wordsOf(events, 'damaged').join()).toMatch(/pattern .*q\*\.png holds no picture/);
    expect(source.stats().damaged).toBe(2);
    writeFileSync(join(folder, 'bad.txt'), 'missing.png\n');
    await expect(seenIn('bad.txt')).rejects.toThrow(/bad\.txt line 1: missing\.png/);
    writeFileSync(join(folder, 'empty.txt'), '# nothing\n\n');
    await expect(seenIn('empty.txt')).rejects.toThrow(/the list has no entry/);
    copyFileSync(join(folder, 'a.png'), join(folder, 'binary.txt'));
    await expect(seenIn('binary.txt')).rejects.toThrow(/not a list/);
  });
});

describe('a .streams file', () => {
  it('is split into its sources, and refused as one source', async () => {
    writeFileSync(join(folder, 'cams.streams'), '# cameras\nrtsp://a/1\n\nrtsp://user:secret@b/2\n0\n');
    expect(await listStreams(join(folder, 'cams.streams'))).toEqual([
      'rtsp://a/1',
      'rtsp://user:secret@b/2',
      '0',
    ]);
    const fault = await openSource(join(folder, 'cams.streams')).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(UsageError);
    expect((fault as UsageError).message).toMatch(/names 3 streams/);
    expect(await listStreams('clip.mp4')).toEqual(['clip.mp4']);
    make('a.png');
    writeFileSync(join(folder, 'one.streams'), 'a.png\n');
    expect((await seenIn('one.streams')).sources).toEqual(['a.png']);
    await expect(listStreams(join(folder, 'none.streams'))).rejects.toBeInstanceOf(SourceError);
  });
});

describe('pictures and clips together', () => {
  it('play one after another, each under its own name, and a broken clip does not stop them', async () => {
    make('a.png', 'c.png', 'z.png');
    const size = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=5:duration=1', '-pix_fmt', 'yuv420p'];
    execFileSync('ffmpeg', ['-v', 'error', ...size, join(folder, 'b.avi')]);
    writeFileSync(join(folder, 'd.mp4'), 'no video');
    const source = await openSource(folder);
    expect(source.kind).toBe('video');
    const { sources, events } = await read(source);
    expect(sources).toEqual(['a.png', ...Array(5).fill('b.avi'), 'c.png', 'z.png']);
    expect(wordsOf(events, 'damaged').join()).toMatch(/d\.mp4/);
    expect(source.stats()).toMatchObject({ frames: 8, damaged: 1 });
  });
});
