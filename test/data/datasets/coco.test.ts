// COCO JSON files with the ids, boxes and missing keys that tools write.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError } from '#core';
import { describeSplits, loadDataset } from '#data/datasets';
import { boxesOf, namesOf, SetFolder, told } from './set-folder.ts';

let folder: SetFolder;
beforeEach(async () => {
  folder = new SetFolder();
  await folder.picture('images/a.png', { width: 100, height: 50 });
  await folder.picture('images/b.png', { width: 100, height: 50 });
});
afterEach(() => folder.remove());

const IMAGES = [
  { id: 7, file_name: 'a.png', width: 100, height: 50 },
  { id: 9, file_name: 'b.png', width: 100, height: 50 },
];
const CATEGORIES = [
  { id: 18, name: 'dog' },
  { id: 3, name: 'car' },
  { id: 44, name: 'bottle' },
];
const BOX = { image_id: 7, category_id: 3, bbox: [10, 5, 20, 10] };

function write(set: object, name = 'set.json'): Promise<string> {
  const numbered = { images: IMAGES, categories: CATEGORIES, annotations: [], ...set };
  return folder.write(name, JSON.stringify(numbered));
}

async function load(annotations: readonly object[], set: object = {}) {
  return loadDataset(await write({ annotations: annotations.map((row, id) => ({ id, ...row })), ...set }));
}

async function failure(path: string): Promise<string> {
  const error = await loadDataset(path).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DataError);
  return (error as DataError).message;
}

describe('category ids', () => {
  it('with gaps, in any order, become a contiguous index by ascending id', async () => {
    const dataset = await load([BOX, { ...BOX, category_id: 44 }, { ...BOX, category_id: 18 }]);
    expect(dataset.classNames).toEqual(['car', 'dog', 'bottle']);
    expect(dataset.classKeys).toEqual([3, 18, 44]);
    expect(boxesOf(dataset)).toEqual([
      [0, 0.1, 0.1, 0.3, 0.3],
      [2, 0.1, 0.1, 0.3, 0.3],
      [1, 0.1, 0.1, 0.3, 0.3],
    ]);
    expect(dataset.faults).toEqual([]);
  });

  it('may start at 0', async () => {
    const categories = [
      { id: 1, name: 'b' },
      { id: 0, name: 'a' },
    ];
    const dataset = await load([{ ...BOX, category_id: 0 }], { categories });
    expect([dataset.classNames, dataset.classKeys]).toEqual([
      ['a', 'b'],
      [0, 1],
    ]);
    expect(boxesOf(dataset)[0]?.[0]).toBe(0);
  });

  it('a group that no box uses is no class; an unused class stays', async () => {
    const categories = [
      { id: 0, name: 'things' },
      ...CATEGORIES.map((row) => ({ ...row, supercategory: 'things' })),
    ];
    const dataset = await load([BOX], { categories });
    expect(dataset.classNames).toEqual(['car', 'dog', 'bottle']);
    expect(told(dataset, folder)).toEqual(['notice category-left-out set.json']);
    const used = await load([BOX, { ...BOX, category_id: 0 }], { categories });
    expect(used.classNames).toEqual(['things', 'car', 'dog', 'bottle']);
  });

  it('two of one name, one id for two names, and unknown ids are errors', async () => {
    const twins = await load([BOX], { categories: [...CATEGORIES, { id: 50, name: 'car' }] });
    expect(told(twins, folder)).toEqual(['error repeated-name set.json']);
    const clash = await load([BOX], { categories: [...CATEGORIES, { id: 3, name: 'van' }] });
    expect(told(clash, folder)).toEqual(['error repeated-category set.json']);
    const unknown = await load([BOX, { ...BOX, category_id: 5 }, { ...BOX, category_id: 5, image_id: 9 }]);
    expect(told(unknown, folder)).toEqual(['error class-out-of-range set.json']);
    expect(unknown.faults[0]?.message).toContain('category 5 in 2');
    expect(boxesOf(unknown)).toHaveLength(1);
  });

  it('class names that are given decide the order', async () => {
    const file = await write({ annotations: [{ id: 1, ...BOX }] });
    const dataset = await loadDataset(file, { classNames: ['bottle', 'dog', 'car'] });
    expect(dataset.classKeys).toEqual([44, 18, 3]);
    expect(boxesOf(dataset)[0]?.[0]).toBe(2);
    await expect(loadDataset(file, { classNames: ['cow'] })).rejects.toThrow('no category is called "cow"');
  });
});

describe('annotations', () => {
  it('absent iscrowd is 0, crowds are marked, area is kept where it is stated', async () => {
    const dataset = await load([
      { ...BOX, area: 77 },
      { ...BOX, image_id: 9, iscrowd: 1, segmentation: { size: [50, 100], counts: [0, 5] } },
      { ...BOX, bbox: [11, 5, 20, 10], area: 0 },
    ]);
    const objects = [
      ...(dataset.splits.train?.[0]?.objects ?? []),
      ...(dataset.splits.train?.[1]?.objects ?? []),
    ];
    expect(objects.map(({ crowd, areaPx }) => [crowd, areaPx])).toEqual([
      [false, 77],
      [false, undefined],
      [true, undefined],
    ]);
    expect(told(dataset, folder)).toEqual(['notice area-zero set.json']);
  });

  it('boxes without size are left out and counted, broken ones are errors', async () => {
    const dataset = await load([
      { ...BOX, bbox: [10, 5, 0, 10] },
      { ...BOX, bbox: [10, 5, 20, -3] },
      { ...BOX, bbox: [10, 5, 20] },
      { ...BOX, bbox: [10, 5, 20, null] },
      { ...BOX, bbox: undefined, segmentation: [[10, 5, 30, 5, 30, 15]] },
    ]);
    expect(boxesOf(dataset)).toEqual([[0, 0.1, 0.1, 0.3, 0.3]]);
    expect(told(dataset, folder)).toEqual([
      'warning zero-size set.json',
      'warning zero-size set.json',
      'error broken-box set.json',
      'error broken-box set.json',
      'notice polygon set.json',
    ]);
    expect(dataset.faults[2]?.message).toContain('annotation 2 of image 7: bbox is [10,5,20]');
  });

  it('boxes over the edge by a px are clipped, by more with a warning, far outside an error', async () => {
    const dataset = await load([
      { ...BOX, bbox: [80, 41, 20, 10] },
      { ...BOX, bbox: [60, 5, 60, 10] },
      { ...BOX, bbox: [110, 5, 20, 10] },
    ]);
    expect(boxesOf(dataset)).toEqual([
      [0, 0.8, 0.82, 1, 1],
      [0, 0.6, 0.1, 1, 0.3],
    ]);
    expect(told(dataset, folder)).toEqual([
      'notice clipped set.json',
      'warning outside-picture set.json',
      'error outside-picture set.json',
    ]);
  });

  it('that repeat are dropped, but not where their outlines differ', async () => {
    const outline = (x: number) => [[x, 5, 30, 5, 30, 15]];
    const dataset = await load([
      { ...BOX, segmentation: outline(10) },
      { ...BOX, segmentation: outline(10) },
      { ...BOX, segmentation: outline(12) },
    ]);
    expect(boxesOf(dataset)).toHaveLength(2);
    expect(told(dataset, folder)).toEqual(['warning repeated-row set.json']);
  });

  it('to unknown images, and sets that are all crowd, are errors', async () => {
    const strange = await load([BOX, { ...BOX, image_id: 1234 }]);
    expect(told(strange, folder)).toEqual(['error unknown-image set.json']);
    const crowd = await load([
      { ...BOX, iscrowd: 1 },
      { ...BOX, image_id: 9, iscrowd: 1 },
    ]);
    expect(told(crowd, folder)).toEqual(['error all-crowd set.json']);
  });
});

describe('pictures', () => {
  it('without annotations are background', async () => {
    const [train] = describeSplits(await load([BOX]));
    expect(train).toMatchObject({ pictures: 2, labelled: 1, backgroundEmpty: 1, backgroundMissing: 0 });
  });

  it('that are not there are left out with an error, and none at all is a refusal that says where it looked', async () => {
    const gone = { id: 10, file_name: 'gone.png', width: 10, height: 10 };
    const dataset = await load([BOX], { images: [...IMAGES, gone] });
    expect(namesOf(dataset)).toEqual(['a.png', 'b.png']);
    expect(told(dataset, folder)).toEqual(['error missing-picture set.json']);
    expect(await failure(await write({ images: [gone] }))).toContain('none of its 1 pictures is there');
  });

  it('whose size is not stated are measured, turned as they are shown', async () => {
    const dataset = await load([BOX], { images: [{ id: 7, file_name: '/home/x/a.png' }] });
    expect(dataset.splits.train?.[0]?.size).toEqual({ width: 100, height: 50 });
    expect(boxesOf(dataset)).toEqual([[0, 0.1, 0.1, 0.3, 0.3]]);
    expect(told(dataset, folder)).toEqual(['notice size-missing set.json']);
  });

  it('lie in the folder of the split that annotations/instances_val2017.json names', async () => {
    await folder.picture('val2017/c.png');
    await folder.picture('train2017/d.png');
    const image = (name: string) => [{ id: 1, file_name: name, width: 64, height: 64 }];
    await write({ images: image('c.png') }, 'annotations/instances_val2017.json');
    await write({ images: image('d.png') }, 'annotations/instances_train2017.json');
    const dataset = await loadDataset(folder.path);
    expect([namesOf(dataset), namesOf(dataset, 'val')]).toEqual([['d.png'], ['c.png']]);
  });

  it('of a data.yaml whose splits are JSON files are found', async () => {
    await write({ annotations: [{ id: 1, ...BOX }] }, 'labels/train.json');
    const yaml = 'train: labels/train.json\nval: labels/train.json\nnames: [dog, car, bottle]\n';
    const dataset = await loadDataset(await folder.write('data.yaml', yaml));
    expect(dataset).toMatchObject({
      format: 'coco',
      classNames: ['dog', 'car', 'bottle'],
      classKeys: [18, 3, 44],
    });
    expect(boxesOf(dataset, 'val')).toEqual([[1, 0.1, 0.1, 0.3, 0.3]]);
  });
});

describe('files that are no detection set', () => {
  it('are named for what they are', async () => {
    const captions = { annotations: [{ id: 1, image_id: 7, caption: 'a dog' }] };
    expect(await failure(await write(captions))).toContain('not a COCO detection set, but captions');
    const results = JSON.stringify([{ image_id: 7, category_id: 3, bbox: [1, 2, 3, 4], score: 0.5 }]);
    expect(await failure(await folder.write('results.json', results))).toContain('a list of detections');
    expect(await failure(await folder.write('cut.json', '{"images": ['))).toContain('not valid JSON');
    expect(await failure(await folder.write('me.json', '{"shapes": []}'))).toContain('labelme');
  });
});
