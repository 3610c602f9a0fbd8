// Which picture belongs to which slice.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DataError } from '#core';
import {
  type ComparedPicture,
  comparedPictures,
  namePattern,
  parseFrameTable,
  sliceBy,
  timeOfName,
  withPredictions,
} from '#evaluate';
import { testData } from '../../support/test-data.ts';

const picture = (path: string): ComparedPicture => ({ path, camera: '' });

describe('slices', () => {
  const pictures = ['x/day/1.jpg', 'x/dusk/2.jpg', 'x/day/3.jpg', 'other.jpg'].map(picture);

  it('come from a pattern on the path, in the order asked for', () => {
    const slices = sliceBy(pictures, namePattern(/\/(day|dusk)\//g), ['dusk', 'day']);
    expect(slices.map(({ name, pictures: own }) => [name, own.map(({ path }) => path)])).toEqual([
      ['dusk', ['x/dusk/2.jpg']],
      ['day', ['x/day/1.jpg', 'x/day/3.jpg']],
    ]);
    expect(sliceBy(pictures, namePattern(/\/(day|dusk)\//)).map(({ name }) => name)).toEqual(['day', 'dusk']);
  });

  it('names the slices that there are where one is missing', () => {
    expect(() => sliceBy(pictures, namePattern(/(day|dusk)/), ['day', 'dsk'])).toThrow(DataError);
    expect(() => sliceBy(pictures, namePattern(/(day|dusk)/), ['day', 'dsk'])).toThrow(/"dsk"/);
  });

  it('take predictions by path, and miss none in silence', () => {
    const size = { width: 1, height: 1 };
    const predictions = { classNames: ['car'], pictures: [{ size, detections: [] }] };
    const [first] = withPredictions(
      [{ name: 'day', pictures: pictures.slice(0, 1) }],
      pictures.slice(0, 1),
      predictions,
    );
    expect(first?.predictions).toHaveLength(1);
    expect(() => withPredictions([{ name: 'day', pictures }], pictures.slice(0, 1), predictions)).toThrow(
      /a prediction is missing/,
    );
  });

  it('know camera, time and pair, and tell "not labelled" from "nothing there"', () => {
    const labelled = { path: 'a-2021_03_20_072817.jpg', id: 1, objects: [] };
    const facts = { camera: (path: string) => path.slice(0, 1), pairKey: (path: string) => path };
    expect(comparedPictures([labelled], facts)).toEqual([
      { path: labelled.path, camera: 'a', timeSeconds: 1_616_225_297, pairKey: labelled.path, objects: [] },
    ]);
    expect(comparedPictures([labelled], {}, false)[0]).not.toHaveProperty('objects');
    expect(timeOfName('20210320-072817.png')).toBe(1_616_225_297);
    expect(timeOfName('000123.jpg')).toBeUndefined();
  });
});

describe('a table of frames', () => {
  it('reads quotes, line ends and empty fields; names by whole path or file name', () => {
    const table = parseFrameTable(
      '\uFEFFfile,period,note\r\na/1.jpg,day,"x, ""y"""\nb/1.jpg,dusk,\n2.jpg,night,z',
      't.csv',
    );
    expect(table.columns).toEqual(['file', 'period', 'note']);
    expect(table.value('/data/a/1.jpg', 'note')).toBe('x, "y"');
    expect(table.value('/data/b/1.jpg', 'period')).toBe('dusk');
    expect(table.value('/data/b/1.jpg', 'note')).toBe('');
    expect(table.value('/elsewhere/2.jpg', 'period')).toBe('night');
    expect(table.value('3.jpg', 'period')).toBeUndefined();
    expect(() => table.value('c/1.jpg', 'period')).toThrow(/a\/1.jpg and b\/1.jpg could be c\/1.jpg/);
    expect(() => table.value('2.jpg', 'perod')).toThrow(/no column 'perod'/);
  });

  it('refuses what it cannot read', () => {
    expect(parseFrameTable('split,picture,light\nval,1.jpg,day', 't.csv').value('a/1.jpg', 'light')).toBe(
      'day',
    );
    expect(() => parseFrameTable('name,period\n1.jpg,day', 't.csv')).toThrow(/no column file or picture/);
    expect(() => parseFrameTable('file,period\n1.jpg', 't.csv')).toThrow(
      /t\.csv:2: the row has 1 fields, expected 2/,
    );
    expect(() => parseFrameTable('file,period\n1.jpg,"day\n', 't.csv')).toThrow(
      /a quote that is never closed/,
    );
    expect(() => parseFrameTable('file,period\n1.jpg,day\n1.jpg,dusk', 't.csv')).toThrow(/names 1.jpg again/);
  });

  const frames = testData('datasets/lta_daynight_2021/frames.csv');
  it.skipIf(frames === undefined)('slices lta_daynight_2021 by period (skipped without the data set)', () => {
    const text = readFileSync(frames ?? '', 'utf8');
    const table = parseFrameTable(text, 'frames.csv');
    const files = text
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => picture(`/x/${line.split(',', 1)[0]}`));
    const slices = sliceBy(files, ({ path }) => table.value(path, 'period'));
    expect(slices.map(({ name, pictures }) => [name, pictures.length])).toEqual([
      ['dawn', 6],
      ['day', 126],
      ['dusk', 84],
      ['night', 70],
    ]);
  });
});
