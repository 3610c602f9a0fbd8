// Pascal VOC sets, and the XML reader under them.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError } from '#core';
import { loadDataset } from '#data/datasets';
import { childOf, parseXml } from '../../../src/data/datasets/xml.ts';
import { boxesOf, faultsOf, namesOf, SetFolder, told } from './set-folder.ts';

let folder: SetFolder;
beforeEach(() => {
  folder = new SetFolder();
});
afterEach(() => folder.remove());

const SIZE = '<size><width>100</width><height>50</height><depth>3</depth></size>';

function object(name: string, corners: readonly (number | string)[], more = ''): string {
  const [xmin, ymin, xmax, ymax] = corners;
  return (
    `<object>\n<name>${name}</name>${more}\n` +
    `<bndbox><xmin>${xmin}</xmin><ymin>${ymin}</ymin><xmax>${xmax}</xmax><ymax>${ymax}</ymax></bndbox>\n</object>\n`
  );
}

async function annotate(stem: string, objects: string, head = SIZE): Promise<void> {
  await folder.picture(`JPEGImages/${stem}.png`, { width: 100, height: 50 });
  await folder.write(`Annotations/${stem}.xml`, `<annotation>\n${head}\n${objects}</annotation>\n`);
}

describe('objects', () => {
  it('have corners in px, classes in alphabetical order, and difficult marked', async () => {
    const part =
      '<part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part>';
    await annotate(
      'a',
      object('dog', [10, 5, 30, 15], `<difficult>1</difficult>${part}`) +
        object('cat &amp; co', [0, 0, 100, 50]),
    );
    const dataset = await loadDataset(folder.path);
    expect(dataset).toMatchObject({ format: 'voc', classNames: ['cat & co', 'dog'], classKeys: [0, 1] });
    expect(boxesOf(dataset)).toEqual([
      [1, 0.1, 0.1, 0.3, 0.3],
      [0, 0, 0, 1, 1],
    ]);
    expect(dataset.splits.train?.[0]?.objects.map(({ difficult }) => difficult)).toEqual([true, false]);
    expect(told(dataset, folder)).toEqual([`notice no-splits ${folder.path}`]);
  });

  it('that are broken, empty, repeated or over the edge are named with their line', async () => {
    await annotate(
      'a',
      object('x', [10, 5, 10, 5]) +
        object('x', [10, 5, '', 15]) +
        object('x', [10, 5, 30, 15]) +
        object('x', [10, 5, 30, 15]) +
        object('x', [90, 5, 101, 15]) +
        object('x', [90, 5, 120, 15]) +
        object('x', [10, 5, 300, 15]),
    );
    const dataset = await loadDataset(folder.path);
    expect(told(dataset, folder).slice(0, -1)).toEqual([
      'error broken-box Annotations/a.xml:9',
      'warning zero-size Annotations/a.xml:5',
      'warning repeated-row Annotations/a.xml:17',
      'notice clipped Annotations/a.xml:21',
      'error outside-picture Annotations/a.xml:25',
      'error outside-picture Annotations/a.xml:29',
    ]);
    expect(boxesOf(dataset)).toEqual([
      [0, 0.1, 0.1, 0.3, 0.3],
      [0, 0.9, 0.1, 1, 0.3],
    ]);
  });

  it('of classes that were not given are an error, and names that differ in case a warning', async () => {
    await annotate(
      'a',
      object('car', [10, 5, 30, 15]) + object('Car', [10, 6, 30, 15]) + object('bus', [10, 7, 30, 15]),
    );
    expect(faultsOf(await loadDataset(folder.path), 'similar-names')[0]?.message).toContain(
      '"car" and "Car"',
    );
    const dataset = await loadDataset(folder.path, { classNames: ['bus', 'car'] });
    expect(dataset.classNames).toEqual(['bus', 'car']);
    expect(faultsOf(dataset, 'class-out-of-range')[0]).toMatchObject({ severity: 'error', line: 9 });
    expect(boxesOf(dataset).map(([id]) => id)).toEqual([1, 0]);
  });

  it('are measured on the picture where no size is stated', async () => {
    await annotate('a', object('x', [10, 5, 30, 15]), '<size><width>0</width><height>0</height></size>');
    const dataset = await loadDataset(folder.path);
    expect(boxesOf(dataset)).toEqual([[0, 0.1, 0.1, 0.3, 0.3]]);
    expect(faultsOf(dataset, 'size-missing')).toHaveLength(1);
  });
});

describe('layout', () => {
  it('splits are the lists of ImageSets/Main; strangers in them and pictures outside them are told', async () => {
    for (const stem of ['a', 'b', 'c', 'd']) await annotate(stem, object('x', [10, 5, 30, 15]));
    await folder.write('ImageSets/Main/train.txt', 'b\na\nlost\n');
    await folder.write('ImageSets/Main/val.txt', 'c  1\n');
    const dataset = await loadDataset(folder.path);
    expect([namesOf(dataset), namesOf(dataset, 'val')]).toEqual([['b.png', 'a.png'], ['c.png']]);
    expect(told(dataset, folder)).toEqual([
      'error missing-picture ImageSets/Main/train.txt:3',
      `notice outside-splits ${folder.path}`,
    ]);
    const yaml = 'train: ImageSets/Main/val.txt\nval: ImageSets/Main/train.txt\n';
    const turned = await loadDataset(await folder.write('turned/data.yaml', `path: ..\n${yaml}`));
    expect([turned.format, namesOf(turned)]).toEqual(['voc', ['c.png']]);
  });

  it('annotations may lie beside their pictures; those without a picture are told', async () => {
    await folder.picture('a.png', { width: 100, height: 50 });
    await folder.picture('none.png');
    await folder.write('a.xml', `<annotation>${SIZE}${object('x', [10, 5, 30, 15])}</annotation>`);
    await folder.write('lost.xml', `<annotation>${SIZE}${object('x', [10, 5, 30, 15])}</annotation>`);
    const dataset = await loadDataset(folder.path);
    expect(namesOf(dataset)).toEqual(['a.png', 'none.png']);
    expect(dataset.splits.train?.[1]).not.toHaveProperty('labelPath');
    expect(told(dataset, folder)).toEqual([
      'warning orphan-label lost.xml',
      `notice no-splits ${folder.path}`,
    ]);
  });

  it('a picture whose XML is broken is left out, never taken for background', async () => {
    await annotate('a', object('x', [10, 5, 30, 15]));
    await annotate('b', '<object><name>x</object>');
    const dataset = await loadDataset(folder.path);
    expect(namesOf(dataset)).toEqual(['a.png']);
    expect(faultsOf(dataset, 'broken-xml')[0]?.message).toMatch(/b\.xml:3: .*<\/object> where <\/name>/);
  });
});

describe('the XML reader', () => {
  it('reads text, attributes, comments, CDATA, entities and empty elements', () => {
    const text =
      '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "y">]>\n<a b="1>2">\n<!-- <c> --><c/> t&#65;&lt;<d><![CDATA[<&]]></d></a>';
    const root = parseXml(text, 'f.xml');
    expect(root.text).toBe('tA<');
    expect(childOf(root, 'd')).toMatchObject({ name: 'd', text: '<&', children: [], line: 3 });
    expect(childOf(root, 'c')?.line).toBe(3);
  });

  it.each([
    ['<a>\n<b></a>', 'f.xml:2: not well-formed XML: </a> where </b> of line 2 is expected'],
    ['<a>\n<b>', '<b> is never closed'],
    ['<a></a><b/>', 'a second element at the top'],
    ['<a>&x;</a>', 'an unknown entity &x;'],
    ['<a>1 < 2</a>', 'a < that starts no tag'],
    ['text', 'text outside of all tags'],
    ['', 'no tag in it'],
    ['</a>', '</a> closes nothing'],
  ])('refuses %j', (text, message) => {
    expect(() => parseXml(text, 'f.xml')).toThrow(DataError);
    expect(() => parseXml(text, 'f.xml')).toThrow(message);
  });
});
