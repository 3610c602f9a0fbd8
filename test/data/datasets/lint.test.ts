// What the linter finds by opening pictures, and by counting classes.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import sharp from 'sharp';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatFault, lintDataset, loadDataset, summarizeFaults } from '#data/datasets';
import { faultsOf, SetFolder, told } from './set-folder.ts';

let folder: SetFolder;
beforeEach(() => {
  folder = new SetFolder();
});
afterEach(() => folder.remove());

const ROW = '0 0.5 0.5 0.2 0.2\n';

describe('opened pictures', () => {
  it('that are damaged are named; one that is cut off only shows when it is decoded', async () => {
    const file = await folder.yolo({ a: ROW, b: ROW }, ['a']);
    await folder.write('images/b.png', 'this is no picture');
    const noise = await sharp({
      create: {
        width: 256,
        height: 256,
        channels: 3,
        noise: { type: 'gaussian', mean: 128, sigma: 60 },
        background: 'black',
      },
    })
      .jpeg()
      .toBuffer();
    await folder.write('images/c.jpg', noise.subarray(0, noise.length * 0.6));
    await folder.write('labels/c.txt', ROW);
    const dataset = await loadDataset(file);
    expect(dataset.faults).toEqual([]);
    const before = readFileSync(folder.join('images/c.jpg'));
    expect(told(await lintDataset(dataset, { openPictures: true }), folder)).toEqual([
      'error damaged-picture images/b.png',
    ]);
    expect(told(await lintDataset(dataset, { decodePictures: true }), folder)).toEqual([
      'error damaged-picture images/b.png',
      'error damaged-picture images/c.jpg',
    ]);
    expect(readFileSync(folder.join('images/c.jpg'))).toEqual(before);
    expect(told(await lintDataset(dataset), folder)).toEqual([]);
  });

  it('whose size is not what the labels say are an error; an EXIF turn is named', async () => {
    const plain = await sharp({ create: { width: 96, height: 64, channels: 3, background: 'red' } })
      .jpeg()
      .toBuffer();
    await folder.write('turned.jpg', await sharp(plain).withMetadata({ orientation: 6 }).toBuffer());
    await folder.write('other.jpg', plain);
    const image = (id: number, name: string) => ({
      id,
      file_name: name,
      width: id === 1 ? 96 : 48,
      height: id === 1 ? 64 : 32,
    });
    const set = {
      images: [image(1, 'turned.jpg'), image(2, 'other.jpg')],
      categories: [{ id: 1, name: 'a' }],
      annotations: [{ id: 1, image_id: 1, category_id: 1, bbox: [0, 0, 9, 9] }],
    };
    const dataset = await loadDataset(await folder.write('set.json', JSON.stringify(set)));
    const report = await lintDataset(dataset, { openPictures: true });
    const [turned, other] = faultsOf(report, 'size-differs');
    expect(turned?.message).toContain('it says 96x64');
    expect(turned?.message).toContain('which is 64x96');
    expect(turned?.hint).toContain('EXIF');
    expect(other?.hint).not.toContain('EXIF');
    expect(report.faults).toHaveLength(2);
  });

  it('with the same content are found within a split, and across splits as a leak', async () => {
    await folder.yolo({ a: ROW, b: ROW }, ['a']);
    await folder.picture('images/b.png', undefined, 40);
    await folder.write('held/images/x.txt', '');
    copyFileSync(folder.join('images/a.png'), folder.join('images/copy.png'));
    copyFileSync(folder.join('images/b.png'), folder.join('held/images/b.png'));
    const dataset = await loadDataset(
      await folder.write('data.yaml', 'train: images\nval: held/images\nnames: [a]\n'),
    );
    const report = await lintDataset(dataset, { openPictures: true });
    expect(told({ faults: report.faults.slice(dataset.faults.length) }, folder)).toEqual([
      'warning duplicate-picture images/copy.png',
      'warning leak held/images/b.png',
    ]);
  });

  it('with a box of less than two px are told', async () => {
    const dataset = await loadDataset(await folder.yolo({ a: `${ROW}0 0.5 0.5 0.2 0.02\n` }, ['a']));
    const report = await lintDataset(dataset, { openPictures: true });
    expect(told(report, folder)).toEqual(['warning tiny-box labels/a.txt']);
    expect(report.faults[0]?.message).toContain('a a of 12.8x1.3 px');
  });
});

describe('counts', () => {
  it('classes without objects, or without any in train, are told', async () => {
    await folder.yolo({ a: ROW });
    await folder.picture('held/images/v.png', undefined, 40);
    await folder.write('held/labels/v.txt', '1 0.5 0.5 0.2 0.2\n');
    const yaml = await folder.write('data.yaml', 'train: images\nval: held/images\nnames: [a, b, c]\n');
    const report = await lintDataset(await loadDataset(yaml));
    expect(told(report, folder)).toEqual([
      'notice unused-class data.yaml',
      'warning untrained-class data.yaml',
    ]);
    expect(report.splits.map(({ name, perClass }) => [name, perClass])).toEqual([
      ['train', [1, 0, 0]],
      ['val', [0, 1, 0]],
    ]);
  });

  it('faults are summed up by kind, errors first, and written with file and line', async () => {
    const file = await folder.yolo({ a: `${ROW}${ROW}${ROW}x\n`, b: 'x\n' }, ['a']);
    const dataset = await loadDataset(file);
    expect(
      summarizeFaults(dataset).map(({ severity, kind, count, fileCount }) => [
        severity,
        kind,
        count,
        fileCount,
      ]),
    ).toEqual([
      ['error', 'broken-row', 2, 2],
      ['warning', 'repeated-row', 2, 1],
    ]);
    const [first] = summarizeFaults(dataset)[0]?.faults ?? [];
    expect(first && formatFault(first)).toMatch(
      /labels\/a\.txt:4 row "x": .* → left out; correct or remove it$/,
    );
    writeFileSync(folder.join('labels/a.txt'), ROW);
  });
});
