// labelme sets: one JSON file per picture.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadDataset } from '#data/datasets';
import { boxesOf, faultsOf, namesOf, SetFolder, told } from './set-folder.ts';

let folder: SetFolder;
beforeEach(() => {
  folder = new SetFolder();
});
afterEach(() => folder.remove());

const SIZE = { imageWidth: 100, imageHeight: 50 };

function shape(label: string, points: unknown, more: object = {}) {
  return { label, points, shape_type: 'rectangle', ...more };
}

async function label(name: string, shapes: readonly object[], more: object = SIZE): Promise<string> {
  const stem = name.replace(/^.*\//, '');
  await folder.picture(`${name}.png`, { width: 100, height: 50 });
  return folder.write(`${name}.json`, JSON.stringify({ imagePath: `${stem}.png`, ...more, shapes }));
}

describe('shapes', () => {
  it('have corners in any order, classes in alphabetical order, and difficult marked', async () => {
    const points = [
      [30, 15],
      [10, 5],
    ];
    const file = await label('a', [shape('dog', points, { difficult: true }), shape('cat', points)]);
    for (const place of [file, folder.path]) {
      const dataset = await loadDataset(place);
      expect(dataset).toMatchObject({ format: 'labelme', classNames: ['cat', 'dog'], faults: [] });
      expect(boxesOf(dataset)).toEqual([
        [1, 0.1, 0.1, 0.3, 0.3],
        [0, 0.1, 0.1, 0.3, 0.3],
      ]);
      expect(dataset.splits.train?.[0]?.objects.map(({ difficult }) => difficult)).toEqual([true, false]);
    }
  });

  it('that are no rectangles become one, are joined by group, or are left out; all are told', async () => {
    const rectangle = (x: number) => [
      [x, 5],
      [x + 10, 15],
    ];
    await label('a', [
      shape(
        'dog',
        [
          [10, 5],
          [30, 5],
          [20.5, 15],
        ],
        { shape_type: 'polygon' },
      ),
      shape(
        'dog',
        [
          [50, 25],
          [50, 35],
        ],
        { shape_type: 'circle' },
      ),
      shape(
        'dog',
        [
          [10, 5],
          [19, 14],
        ],
        { shape_type: 'mask' },
      ),
      shape('cat', rectangle(10), { group_id: 1 }),
      shape('cat', rectangle(40), { group_id: 1 }),
      shape('dog', [[1, 2]], { shape_type: 'point' }),
    ]);
    const dataset = await loadDataset(folder.path);
    expect(boxesOf(dataset)).toEqual([
      [1, 0.1, 0.1, 0.3, 0.3],
      [1, 0.4, 0.3, 0.6, 0.7],
      [1, 0.1, 0.1, 0.2, 0.3],
      [0, 0.1, 0.1, 0.5, 0.3],
    ]);
    expect(dataset.faults.map(({ severity, kind, message }) => `${severity} ${kind} ${message}`)).toEqual([
      'notice polygon shape 1, dog: a polygon of 3 points',
      'notice polygon shape 2, dog: a circle',
      'notice polygon shape 3, dog: a mask',
      'warning not-a-box shape 6, dog: a point has no box',
      'notice joined-group shape 4, shape 5: cat in one group_id',
    ]);
  });

  it('that are broken, empty, repeated or outside are named by their number', async () => {
    const whole = [
      [10, 5],
      [30, 15],
    ];
    const file = await label('a', [
      shape('x', [[10, 5]]),
      shape('', whole),
      shape('x', whole, { shape_type: 'cube' }),
      shape('x', whole),
      shape('x', whole),
      shape('x', [
        [10, 5],
        [10, 5],
      ]),
      shape('x', [
        [10, 5],
        [300, 15],
      ]),
    ]);
    const { faults, ...dataset } = await loadDataset(file);
    expect(faults.map(({ severity, kind, message }) => `${severity} ${kind} ${message.slice(0, 7)}`)).toEqual(
      [
        'error broken-box shape 1',
        'error broken-box shape 2',
        'error broken-box shape 3',
        'warning repeated-row shape 5',
        'warning zero-size shape 6',
        'error outside-picture shape 7',
      ],
    );
    expect(boxesOf({ ...dataset, faults })).toEqual([[0, 0.1, 0.1, 0.3, 0.3]]);
  });
});

describe('files', () => {
  it('folders called train and val are splits; pictures without a file are told, and are no background', async () => {
    await label('train/a', []);
    await label('val/b', []);
    await folder.picture('val/c.png');
    const dataset = await loadDataset(folder.path);
    expect([namesOf(dataset), namesOf(dataset, 'val')]).toEqual([['a.png'], ['b.png']]);
    expect(told(dataset, folder)).toEqual([`notice unlisted-picture ${folder.path}`]);
  });

  it('name their picture as another machine did, and need not state its size', async () => {
    await folder.picture('images/a.png', { width: 100, height: 50 });
    const points = [
      [10, 5],
      [30, 15],
    ];
    const text = JSON.stringify({
      imagePath: '..\\images\\a.png',
      imageData: null,
      shapes: [shape('x', points)],
    });
    await folder.write('labels/a.json', text);
    const dataset = await loadDataset(folder.path);
    expect(boxesOf(dataset)).toEqual([[0, 0.1, 0.1, 0.3, 0.3]]);
    expect(faultsOf(dataset, 'size-missing')).toHaveLength(1);
  });

  it('that are broken, strange, without picture or second for a picture are named', async () => {
    await label('a', []);
    await folder.write('b.json', JSON.stringify({ imagePath: 'a.png', ...SIZE, shapes: [] }));
    await folder.write('c.json', '{"imagePath": "c.png", "shapes": [');
    await folder.write('d.json', '{"other": 1}');
    await folder.write('e.json', JSON.stringify({ imagePath: 'e.png', ...SIZE, shapes: [] }));
    expect(told(await loadDataset(folder.path), folder)).toEqual([
      'error broken-json c.json',
      'error broken-json d.json',
      'error missing-picture e.json',
      'error repeated-picture b.json',
    ]);
    await expect(loadDataset(folder.join('c.json'))).rejects.toThrow(
      'no JSON file of labelme that can be read',
    );
  });
});
