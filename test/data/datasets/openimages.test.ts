// OpenImages sets, and the CSV reader under them.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadDataset } from '#data/datasets';
import { parseCsv } from '../../../src/data/datasets/csv.ts';
import { boxesOf, faultsOf, namesOf, SetFolder, told } from './set-folder.ts';

let folder: SetFolder;
beforeEach(() => {
  folder = new SetFolder();
});
afterEach(() => folder.remove());

const HEAD = 'ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsGroupOf';

async function boxes(rows: readonly string[], name = 'boxes.csv', head = HEAD): Promise<string> {
  for (const stem of ['a', 'b']) await folder.picture(`images/${stem}.png`);
  return folder.write(name, [head, ...rows, ''].join('\n'));
}

describe('rows', () => {
  it('are shares of the picture, x before y, with groups as crowds; ids need no ending', async () => {
    const file = await boxes(['a,x,dog,1,0.1,0.3,0.2,0.6,0', 'b.png,x,cat,1,0,1,0,0.5,1']);
    const dataset = await loadDataset(file);
    expect(dataset).toMatchObject({ format: 'openimages', classNames: ['cat', 'dog'], faults: [] });
    expect(boxesOf(dataset)).toEqual([
      [1, 0.1, 0.2, 0.3, 0.6],
      [0, 0, 0, 1, 0.5],
    ]);
    expect(dataset.splits.train?.flatMap(({ objects }) => objects.map(({ crowd }) => crowd))).toEqual([
      false,
      true,
    ]);
  });

  it('may have decimal commas in quotes, Windows line ends, a byte order mark and semicolons', async () => {
    const rows = ['a,,dog,,"0,1","0,3","0,2",1,', ''].join('\r\n');
    await folder.picture('images/a.png');
    const comma = await loadDataset(await folder.write('boxes.csv', `\uFEFF${HEAD}\r\n${rows}`));
    expect(boxesOf(comma)).toEqual([[0, 0.1, 0.2, 0.3, 1]]);
    expect(told(comma, folder)).toEqual(['notice decimal-comma boxes.csv:2']);
    const text = `${HEAD}\n${rows}`.replaceAll(/"[^"]*"|,/g, (found) =>
      found === ',' ? ';' : found.slice(1, -1),
    );
    expect(boxesOf(await loadDataset(await folder.write('boxes.csv', text)))).toEqual([
      [0, 0.1, 0.2, 0.3, 1],
    ]);
  });

  it('that are broken, in px, empty, repeated, outside or without picture are named with their line', async () => {
    const file = await boxes([
      'a,,dog,,0.1,0.3,0.2',
      'a,,dog,,0.1,x,0.2,0.6,',
      'a,,,,0.1,0.3,0.2,0.6,',
      'a,,dog,,10,30,20,60,',
      'a,,dog,,0.1,0.1,0.2,0.6,',
      'a,,dog,,0.1,0.3,0.2,0.6,',
      'a,,dog,,0.1,0.3,0.2,0.6,',
      'a,,dog,,0.8,1.9,0.2,0.6,',
      'lost,,dog,,0.1,0.3,0.2,0.6,',
      'a,,dog,0.5,0.2,0.3,0.2,0.6,',
    ]);
    const dataset = await loadDataset(file);
    expect(told(dataset, folder)).toEqual([
      'error broken-row boxes.csv:2',
      'error broken-row boxes.csv:3',
      'error broken-row boxes.csv:4',
      'error pixel-units boxes.csv:5',
      'notice unsure-label boxes.csv:11',
      'error missing-picture boxes.csv:10',
      'warning zero-size boxes.csv:6',
      'warning repeated-row boxes.csv:8',
      'error outside-picture boxes.csv:9',
      'notice unlisted-picture boxes.csv',
    ]);
    expect(boxesOf(dataset)).toHaveLength(2);
  });
});

describe('classes and splits', () => {
  it('codes get their names from class-descriptions; a code without one is told', async () => {
    const row = (code: string) => `a,,${code},1,0.1,0.3,0.2,0.6,0`;
    const file = await boxes([row('/m/01g317'), row('/m/0zz')]);
    expect(faultsOf(await loadDataset(file), 'class-codes')[0]).toMatchObject({
      line: 2,
      severity: 'warning',
    });
    await folder.write('class-descriptions-boxable.csv', '/m/0zz,Cat\n/m/01g317,"Person, any"\n');
    const dataset = await loadDataset(file);
    expect(dataset.classNames).toEqual(['Cat', 'Person, any']);
    expect(boxesOf(dataset).map(([id]) => id)).toEqual([1, 0]);
    expect(told(dataset, folder)).toEqual([
      'notice names-file class-descriptions-boxable.csv',
      'notice unlisted-picture boxes.csv',
    ]);
  });

  it('a folder is recognised by the header of its files, whose names say the split', async () => {
    await boxes(['a,,dog,,0.1,0.3,0.2,0.6,'], 'train-annotations-bbox.csv');
    await boxes(['b,,dog,,0.1,0.3,0.2,0.6,'], 'validation-annotations-bbox.csv');
    await folder.write('notes.csv', 'a,b\n1,2\n');
    const dataset = await loadDataset(folder.path);
    expect([namesOf(dataset), namesOf(dataset, 'val')]).toEqual([['a.png'], ['b.png']]);
    await expect(loadDataset(folder.join('notes.csv'))).rejects.toThrow(
      'neither a folder nor a file of a form',
    );
  });
});

describe('CSV', () => {
  it('keeps quoted separators, quotes and lines, and says on which line a row starts', () => {
    expect(parseCsv('a,"b ""c"", d"\n\n"e\r\nf",\r\ng', 'x.csv')).toEqual([
      { line: 1, fields: ['a', 'b "c", d'] },
      { line: 3, fields: ['e\r\nf', ''] },
      { line: 5, fields: ['g'] },
    ]);
    expect(parseCsv('a,', 'x.csv')).toEqual([{ line: 1, fields: ['a', ''] }]);
    expect(parseCsv('', 'x.csv')).toEqual([]);
  });

  it('refuses quotes that do not fit, with their line', () => {
    expect(() => parseCsv('a\n"b', 'x.csv')).toThrow(
      'x.csv:2: not well-formed CSV: a quote that is never closed',
    );
    expect(() => parseCsv('a\n"b"c,d', 'x.csv')).toThrow(
      'x.csv:2: not well-formed CSV: "c,d" after a closed quote',
    );
  });
});
