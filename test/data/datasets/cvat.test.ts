// CVAT sets: labels, shapes, subsets, and what is no set of pictures.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadDataset } from '#data/datasets';
import { parseXml } from '../../../src/data/datasets/xml.ts';
import { boxesOf, faultsOf, namesOf, SetFolder, told } from './set-folder.ts';

let folder: SetFolder;
beforeEach(() => {
  folder = new SetFolder();
});
afterEach(() => folder.remove());

const LABELS =
  '<meta><task><labels><label><name>dog</name></label><label><name>cat</name></label></labels></task></meta>\n';

function box(label: string, corners: readonly (number | string)[], more = ''): string {
  const [x1, y1, x2, y2] = corners;
  return `<box label="${label}" xtl="${x1}" ytl="${y1}" xbr="${x2}" ybr="${y2}"${more}></box>\n`;
}

const image = (name: string, shapes: string, more = 'width="100" height="50"') =>
  `<image id="0" name="${name}" ${more}>\n${shapes}</image>\n`;

async function annotate(images: string, labels = LABELS): Promise<string> {
  for (const stem of ['a', 'b']) await folder.picture(`images/${stem}.png`, { width: 100, height: 50 });
  const text = `<?xml version="1.0"?>\n<annotations>\n<version>1.1</version>\n${labels}${images}</annotations>\n`;
  return folder.write('annotations.xml', text);
}

describe('shapes', () => {
  it('have the classes of the task in its order; a picture without shapes is background', async () => {
    const file = await annotate(image('a.png', box('cat', [10, 5, 30, 15])) + image('b.png', ''));
    for (const place of [file, folder.path]) {
      const dataset = await loadDataset(place);
      expect(dataset).toMatchObject({ format: 'cvat', classNames: ['dog', 'cat'], faults: [] });
      expect(boxesOf(dataset)).toEqual([[1, 0.1, 0.1, 0.3, 0.3]]);
      expect(dataset.splits.train?.[1]).toMatchObject({
        id: 'b',
        objects: [],
        size: { width: 100, height: 50 },
      });
    }
  });

  it('that are no boxes become one, or are left out; both are told with their line', async () => {
    const dataset = await loadDataset(
      await annotate(
        image(
          'a.png',
          '<polygon label="dog" points="10,5;30,5;20.5,15"/>\n' +
            box('dog', [40, 20, 60, 30], ' rotation="90"') +
            '<ellipse label="dog" cx="50" cy="25" rx="20" ry="10"/>\n' +
            '<mask label="dog" rle="1" left="10" top="5" width="20" height="10"/>\n' +
            '<points label="dog" points="1,2"/>\n<tag label="dog"/>\n',
        ),
      ),
    );
    expect(boxesOf(dataset)).toEqual([
      [0, 0.1, 0.1, 0.3, 0.3],
      [0, 0.45, 0.3, 0.55, 0.7],
      [0, 0.3, 0.3, 0.7, 0.7],
    ]);
    expect(told(dataset, folder)).toEqual([
      'notice polygon annotations.xml:6',
      'notice polygon annotations.xml:7',
      'notice polygon annotations.xml:8',
      'notice polygon annotations.xml:9',
      'warning not-a-box annotations.xml:10',
      'warning repeated-row annotations.xml:9',
    ]);
  });

  it('that are broken, empty, outside, of strange classes or pictures are named with their line', async () => {
    const dataset = await loadDataset(
      await annotate(
        image(
          'a.png',
          box('dog', [10, 5, '', 15]) +
            box('dog', [10, 5, 10, 5]) +
            box('dog', [10, 5, 300, 15]) +
            box('cow', [1, 2, 3, 4]),
        ) +
          image('lost.png', box('dog', [10, 5, 30, 15])) +
          image('a.png', box('dog', [10, 5, 30, 15])) +
          image('', ''),
      ),
    );
    expect(told(dataset, folder)).toEqual([
      'error broken-box annotations.xml:6',
      'error broken-image annotations.xml:17',
      'error class-out-of-range annotations.xml:9',
      'error missing-picture annotations.xml:11',
      'error repeated-picture annotations.xml:14',
      'warning zero-size annotations.xml:7',
      'error outside-picture annotations.xml:8',
    ]);
    expect(boxesOf(dataset)).toEqual([]);
  });

  it('are measured on the picture where no size is stated', async () => {
    const dataset = await loadDataset(await annotate(image('a.png', box('dog', [10, 5, 30, 15]), '')));
    expect(boxesOf(dataset)).toEqual([[0, 0.1, 0.1, 0.3, 0.3]]);
    expect(faultsOf(dataset, 'size-missing')).toHaveLength(1);
  });
});

describe('files', () => {
  it('subsets of a project are splits; labels are those that occur where none are listed', async () => {
    const size = 'width="100" height="50"';
    const file = await annotate(
      image('a.png', box('x', [10, 5, 30, 15]), `subset="Train" ${size}`) +
        image('b.png', '', `subset="Validation" ${size}`),
      '',
    );
    const dataset = await loadDataset(file);
    expect([dataset.classNames, namesOf(dataset), namesOf(dataset, 'val')]).toEqual([
      ['x'],
      ['a.png'],
      ['b.png'],
    ]);
  });

  it('of videos and of other forms are refused in words', async () => {
    const track = '<track id="0" label="dog"><box frame="0" xtl="1" ytl="2" xbr="3" ybr="4"/></track>\n';
    await expect(loadDataset(await annotate(track))).rejects.toThrow(/annotations\.xml:5: tracks of a video/);
    await expect(loadDataset(await annotate(''))).rejects.toThrow('expected <annotations> with <image>');
    const voc = await folder.write('one.xml', '<annotation></annotation>');
    await expect(loadDataset(voc)).rejects.toThrow('the Pascal VOC annotation of one picture');
  });

  it('attributes are decoded, and given once', () => {
    const { attributes } = parseXml('<a b="x &amp; y" c=\'1 > 0\'/>', 'x.xml');
    expect([...attributes]).toEqual([
      ['b', 'x & y'],
      ['c', '1 > 0'],
    ]);
    expect(() => parseXml('<a b="1" b="2"/>', 'x.xml')).toThrow('the attribute b is given twice');
  });
});
