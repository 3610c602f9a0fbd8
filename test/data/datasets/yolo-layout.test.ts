// Where YOLO sets keep their pictures, labels, names and splits, and what is said when they are not there.
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError } from '#core';
import { describeSplits, loadDataset } from '#data/datasets';
import { boxesOf, faultsOf, namesOf, SetFolder, told } from './set-folder.ts';

let folder: SetFolder;
const before = process.cwd();
beforeEach(() => {
  folder = new SetFolder();
});
afterEach(() => {
  process.chdir(before);
  folder.remove();
});

const ROW = '0 0.5 0.5 0.2 0.2\n';

async function failure(path: string): Promise<DataError> {
  const error = await loadDataset(path).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DataError);
  return error as DataError;
}

describe('pictures', () => {
  it('are found whatever the case of their endings; clutter is passed over, unreadable formats are named', async () => {
    const found = ['a.png', 'b.PNG', 'c.Jpg', 'd.JPEG', 'e.jpeg', 'f.webp', 'g.tif', 'h.bmp'];
    for (const name of found) await folder.picture(`images/${name}`);
    for (const name of ['Thumbs.db', '.DS_Store', '._x.jpg', 'notes.txt', '__MACOSX/y.jpg'])
      await folder.write(`images/${name}`, 'x');
    for (const name of ['p.HEIC', 'q.heic']) await folder.write(`images/${name}`, 'x');
    await folder.write('labels/a.txt', ROW);
    const dataset = await loadDataset(await folder.write('data.yaml', 'train: images\nnames: [a]\n'));
    expect(namesOf(dataset)).toEqual(found);
    expect(told(dataset, folder)).toEqual([
      'warning unreadable-format images/p.HEIC',
      'notice label-missing images/b.PNG',
    ]);
    expect(faultsOf(dataset, 'unreadable-format')[0]?.message).toContain('2 .heic pictures');
  });

  it('without objects are background; empty and missing label files are counted apart', async () => {
    const file = await folder.yolo({ a: ROW, b: ROW, empty: '', blank: '\n' });
    await folder.picture('images/none.png');
    const dataset = await loadDataset(file);
    expect(describeSplits(dataset)).toEqual([
      {
        name: 'train',
        pictures: 5,
        labelled: 2,
        backgroundEmpty: 2,
        backgroundMissing: 1,
        objects: 2,
        crowd: 0,
        difficult: 0,
        perClass: [2, 0],
      },
    ]);
    expect(told(dataset, folder)).toEqual(['notice label-missing images/none.png']);
    expect(dataset.splits.train?.map(({ id }) => id)).toEqual(['a', 'b', 'blank', 'empty', 'none']);
  });

  it('none of which has labels are an error that says where they were looked for', async () => {
    await folder.picture('images/a.png');
    const dataset = await loadDataset(await folder.write('data.yaml', 'train: images\nnames: [a]\n'));
    expect(told(dataset, folder)).toEqual(['error no-labels images/a.png']);
    expect(dataset.faults[0]?.hint).toContain(folder.join('labels'));
  });
});

describe('names', () => {
  async function namesFrom(yaml: string) {
    await folder.yolo({ a: ROW });
    const dataset = await loadDataset(await folder.write('data.yaml', `train: images\n${yaml}`));
    return { names: dataset.classNames, told: told(dataset, folder) };
  }

  it.each([
    ['a list', 'names: [car, bus]\n', ['car', 'bus']],
    ['a map', 'names:\n  0: car\n  1: bus\n', ['car', 'bus']],
    ['a map in mixed order', 'names: {2: van, 0: car, 1: bus}\n', ['car', 'bus', 'van']],
    ['a list with an nc that agrees', 'nc: 2\nnames: [car, bus]\n', ['car', 'bus']],
    ['words that YAML could take for values', 'names: [no, 8, car]\n', ['no', '8', 'car']],
  ])('come from %s', async (_, yaml, names) => {
    expect(await namesFrom(yaml)).toEqual({ names, told: [] });
  });

  it('nc alone gives neutral names, with a warning', async () => {
    expect(await namesFrom('nc: 2\n')).toEqual({
      names: ['class0', 'class1'],
      told: ['warning neutral-names data.yaml:2'],
    });
  });

  it('decide where nc disagrees, which is an error', async () => {
    expect(await namesFrom('names: [car, bus]\nnc: 3\n')).toEqual({
      names: ['car', 'bus'],
      told: ['error class-count data.yaml:3'],
    });
  });

  it('with gaps or repeats are told', async () => {
    expect(await namesFrom('names: {0: car, 2: bus}\n')).toEqual({
      names: ['car', 'class1', 'bus'],
      told: ['warning names-gap data.yaml:2'],
    });
    expect((await namesFrom('names: [car, car]\n')).told).toEqual(['error repeated-name data.yaml']);
  });

  it('of a bare folder come from its names file, and two such files are a question', async () => {
    await folder.picture('pics/a.png');
    await folder.write('pics/a.txt', ROW);
    await folder.write('obj.names', 'car\nbus\n\n');
    const dataset = await loadDataset(folder.join('pics'));
    expect(dataset.classNames).toEqual(['car', 'bus']);
    expect(told(dataset, folder)).toEqual(['notice no-splits pics', 'notice names-file obj.names']);
    await folder.write('other.names', 'x\n');
    expect((await failure(folder.join('pics'))).message).toContain('obj.names, other.names');
    expect((await loadDataset(folder.join('pics'), { classNames: ['x'] })).classNames).toEqual(['x']);
  });
});

describe('path and splits', () => {
  it.each([
    ['path: ../d\n', 'd/conf/data.yaml', 'd/d'],
    ['path: .\n', 'd/data.yaml', 'd'],
    ['', 'd/data.yaml', 'd'],
  ])('%j is relative to the file, from any working directory', async (path, yaml, root) => {
    await folder.picture(`${root}/images/a.png`);
    await folder.write(`${root}/labels/a.txt`, ROW);
    const file = await folder.write(yaml, `${path}train: images\nnames: [a]\n`);
    for (const place of ['/', folder.path, folder.join('d')]) {
      process.chdir(place);
      const dataset = await loadDataset(file);
      expect(namesOf(dataset)).toEqual(['a.png']);
      expect(dataset.faults).toEqual([]);
      expect(boxesOf(dataset)).toHaveLength(1);
    }
  });

  it('a split may be a list of folders', async () => {
    for (const part of ['x', 'y']) {
      await folder.picture(`${part}/images/${part}.png`);
      await folder.write(`${part}/labels/${part}.txt`, ROW);
    }
    const dataset = await loadDataset(
      await folder.write('data.yaml', 'train: [x/images, y/images]\nnames: [a]\n'),
    );
    expect(namesOf(dataset)).toEqual(['x.png', 'y.png']);
    expect(boxesOf(dataset)).toHaveLength(2);
  });

  it('a list file may have ./ lines, lines relative to path, absolute lines, blanks and comments', async () => {
    for (const stem of ['a', 'b', 'c', 'd', 'e']) {
      await folder.picture(`set/images/${stem}.png`);
      await folder.write(`set/labels/${stem}.txt`, ROW);
    }
    await folder.picture('set/lists/local.png');
    await folder.picture('set/lists/odd.png');
    const lines = [
      '# pictures',
      '',
      './local.png',
      'images/a.png',
      folder.join('set/images/b.png'),
      'images/c.png"',
      '../images/d.png',
      'images\\e.png',
      'odd.png',
      'images/a.png',
    ];
    await folder.write('set/lists/train.txt', lines.join('\r\n'));
    const dataset = await loadDataset(
      await folder.write('data.yaml', 'path: set\ntrain: lists/train.txt\nnames: [a]\n'),
    );
    expect(namesOf(dataset)).toEqual(['local.png', 'a.png', 'b.png', 'd.png', 'e.png', 'odd.png']);
    expect(told(dataset, folder)).toEqual([
      'error missing-picture set/lists/train.txt:6',
      'warning repeated-picture set/lists/train.txt:10',
      'warning list-fallback set/lists/train.txt:9',
      'notice label-missing set/lists/local.png',
    ]);
    expect(faultsOf(dataset, 'missing-picture')[0]?.hint).toContain('stray quote');
  });

  it('labels are looked for beside a linked folder, dangling links are reported and loops end', async () => {
    await folder.picture('elsewhere/pics/a.png');
    await folder.write('set/labels/a.txt', ROW);
    symlinkSync(folder.join('elsewhere/pics'), folder.join('set/images'));
    symlinkSync(folder.join('nowhere.png'), folder.join('elsewhere/pics/dangling.png'));
    symlinkSync(folder.join('elsewhere'), folder.join('elsewhere/pics/loop'));
    symlinkSync('self.png', folder.join('elsewhere/pics/self.png'));
    const dataset = await loadDataset(await folder.write('set/data.yaml', 'train: images\nnames: [a]\n'));
    expect(boxesOf(dataset).length).toBeGreaterThan(0);
    expect(told(dataset, folder)).toEqual(
      expect.arrayContaining([
        'warning dangling-link set/images/dangling.png',
        'warning link-loop set/images/self.png',
      ]),
    );
    expect(faultsOf(dataset, 'link-loop').length).toBeGreaterThanOrEqual(2);
    expect(faultsOf(dataset, 'dangling-link').length).toBeLessThanOrEqual(2);
  });

  it('entries of labelling sites and a path of another machine are found, and that is announced', async () => {
    await folder.picture('train/images/a.png');
    await folder.write('train/labels/a.txt', ROW);
    await folder.picture('valid/images/b.png');
    await folder.write('valid/labels/b.txt', ROW);
    const yaml = 'path: /content/data\ntrain: ../train/images\nval: valid/images\nnames: [a]\n';
    const dataset = await loadDataset(await folder.write('data.yaml', yaml));
    expect([namesOf(dataset), namesOf(dataset, 'val')]).toEqual([['a.png'], ['b.png']]);
    expect(told(dataset, folder)).toEqual([
      'warning path-fallback data.yaml:1',
      'warning split-fallback data.yaml:2',
    ]);
  });

  it('a split that is nowhere is a clear error with line and places', async () => {
    const error = await failure(await folder.write('data.yaml', 'names: [a]\ntrain: no/images\n'));
    expect(error.message).toContain(
      `data.yaml:2: train: no/images is not there; looked at ${folder.join('no/images')}`,
    );
    expect((await failure(await folder.write('none.yaml', 'names: [a]\n'))).message).toContain(
      'no train, val or test',
    );
    expect((await failure(await folder.write('bad.yaml', 'names: [a\n'))).message).toContain(
      'not valid YAML',
    );
    expect((await failure(folder.join('absent'))).message).toContain('it does not exist');
    mkdirSync(folder.join('empty'));
    expect((await failure(folder.join('empty'))).message).toContain('no pictures');
  });

  it('the same pictures in train and val are one warning', async () => {
    await folder.yolo({ a: ROW });
    const dataset = await loadDataset(
      await folder.write('data.yaml', 'train: images\nval: images\nnames: [a]\n'),
    );
    expect(told(dataset, folder)).toEqual(['warning split-overlap data.yaml']);
  });

  it('a bare folder has the splits of its sub-folders', async () => {
    for (const place of ['images/train/a', 'images/val/b', 'images/val/c']) {
      await folder.picture(`${place}.png`);
      await folder.write(`${place.replace('images', 'labels')}.txt`, ROW);
    }
    await folder.picture('images/stray.png');
    const dataset = await loadDataset(folder.path, { classNames: ['a'] });
    expect([namesOf(dataset), namesOf(dataset, 'val')]).toEqual([['a.png'], ['b.png', 'c.png']]);
    expect(faultsOf(dataset, 'outside-splits')[0]?.message).toContain('1 of 4 pictures');
  });

  it('darknet’s .data file is read from the folder above', async () => {
    await folder.picture('data/obj/a.png');
    await folder.write('data/obj/a.txt', ROW);
    await folder.write('data/train.txt', 'data/obj/a.png\n');
    await folder.write('data/obj.names', 'car\n');
    const file = await folder.write(
      'data/obj.data',
      'classes = 1\ntrain = data/train.txt\nnames = data/obj.names\nbackup = backup/\n',
    );
    const dataset = await loadDataset(file);
    expect(dataset.classNames).toEqual(['car']);
    expect(boxesOf(dataset)).toHaveLength(1);
  });

  it('lists may say anew which picture belongs where', async () => {
    const file = await folder.yolo({ a: ROW, b: ROW, c: ROW });
    const splitLists = {
      train: await folder.write('t.txt', 'a\nimages/c.png\nzzz\n'),
      val: await folder.write('v.txt', 'b\n'),
    };
    const dataset = await loadDataset(file, { splitLists });
    expect([namesOf(dataset), namesOf(dataset, 'val')]).toEqual([['a.png', 'c.png'], ['b.png']]);
    expect(told(dataset, folder)).toEqual(['error missing-picture t.txt:3']);
  });
});

describe('an edit between two scans', () => {
  it('is always seen, and nothing is written beside the set', async () => {
    const file = await folder.yolo({ a: '0 0.5 0.5 0.2 0.2\n', b: '4 0.5 0.5 0.2 0.2\n' }, [
      'a',
      'b',
      'c',
      'd',
      'e',
    ]);
    const entries = () => readdirSync(folder.path, { recursive: true }).sort();
    const listed = entries();
    expect(boxesOf(await loadDataset(file))[0]).toEqual([0, 0.4, 0.4, 0.6, 0.6]);
    const label = folder.join('labels/a.txt');
    const { atime, mtime } = statSync(label);
    writeFileSync(label, '1 0.5 0.5 0.4 0.2\n');
    utimesSync(label, atime, mtime);
    expect(boxesOf(await loadDataset(file))[0]).toEqual([1, 0.3, 0.4, 0.7, 0.6]);
    writeFileSync(file, readFileSync(file, 'utf8').replace(', c, d, e', ''));
    const shorter = await loadDataset(file);
    expect(shorter.classNames).toEqual(['a', 'b']);
    expect(faultsOf(shorter, 'class-out-of-range')).toHaveLength(1);
    expect(entries()).toEqual(listed);
  });
});
