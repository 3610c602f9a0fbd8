// Real data sets, which are never committed: the same boxes from every format, and their real faults.
import { mkdirSync, symlinkSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Dataset,
  describeSplits,
  expectSoundDataset,
  lintDataset,
  loadDataset,
  makeSplits,
} from '#data/datasets';
import { testData } from '../../support/test-data.ts';
import { faultsOf, SetFolder } from './set-folder.ts';

const bccd = testData('datasets/bccd_voc159');
const coco = testData('datasets/coco128_permissive33');
const padilla = testData('datasets/padilla_voc100');
const lta = testData('datasets/lta_daynight_2021');
const skipNote = (path: string | undefined) =>
  path === undefined ? ' (skipped: the data set is absent)' : '';

let folder: SetFolder;
beforeEach(() => {
  folder = new SetFolder();
});
afterEach(() => folder.remove());

interface PlacedBox {
  readonly name: string;
  readonly cornersPx: readonly number[];
}

/** Objects by picture, crowds left out. */
function boxesByPicture(dataset: Dataset, sizes: ReadonlyMap<string, readonly [number, number]>) {
  return new Map(
    (dataset.splits.train ?? []).map(({ path, objects }) => {
      const picture = path.split('/').at(-1) ?? '';
      const [width, height] = sizes.get(picture) ?? [0, 0];
      const boxes: PlacedBox[] = objects
        .filter(({ crowd }) => !crowd)
        .map(({ classId, x1, y1, x2, y2 }) => ({
          name: dataset.classNames[classId] ?? '',
          cornersPx: [x1 * width, y1 * height, x2 * width, y2 * height],
        }));
      return [picture, boxes];
    }),
  );
}

/** What one set has and the other lacks: boxes agree within 0.02 px, the rounding of six decimals and two. */
function differences(
  one: ReadonlyMap<string, PlacedBox[]>,
  other: ReadonlyMap<string, PlacedBox[]>,
): string[] {
  const found: string[] = [];
  for (const [picture, boxes] of one) {
    const left = [...(other.get(picture) ?? [])];
    for (const box of boxes) {
      const index = left.findIndex(
        ({ name, cornersPx }) =>
          name === box.name &&
          cornersPx.every((px, side) => Math.abs(px - (box.cornersPx[side] ?? -1)) < 0.02),
      );
      if (index < 0) found.push(`${picture} ${box.name} ${box.cornersPx}`);
      else left.splice(index, 1);
    }
    found.push(...left.map((box) => `${picture} too much: ${box.name} ${box.cornersPx}`));
  }
  return one.size === other.size ? found : [...found, `${one.size} and ${other.size} pictures`];
}

function sizesOf(dataset: Dataset): Map<string, readonly [number, number]> {
  return new Map(
    (dataset.splits.train ?? []).map(({ path, size }) => [
      path.split('/').at(-1) ?? '',
      [size?.width ?? 0, size?.height ?? 0],
    ]),
  );
}

describe.skipIf(bccd === undefined)(`bccd_voc159${skipNote(bccd)}`, () => {
  const path = bccd ?? '';

  it('has its counts, its lists and its one box without size', async () => {
    const dataset = await loadDataset(path);
    const [val, test] = describeSplits(dataset);
    expect([val?.name, val?.pictures, test?.name, test?.pictures]).toEqual(['val', 87, 'test', 72]);
    const sum = dataset.classNames.map((name, id) => [
      name,
      (val?.perClass[id] ?? 0) + (test?.perClass[id] ?? 0),
    ]);
    // 1773 RBC are written, one of them without size.
    expect(sum).toEqual([
      ['Platelets', 152],
      ['RBC', 1772],
      ['WBC', 158],
    ]);
    expect(dataset.faults).toHaveLength(1);
    expect(dataset.faults[0]).toMatchObject({ kind: 'zero-size', severity: 'warning' });
    expect(dataset.faults[0]?.file).toMatch(/BloodImage_00338\.xml$/);
    expect(() => expectSoundDataset(dataset)).not.toThrow();
  });

  it('may be trained on its test list and judged on its val list', async () => {
    const lists = `${path}/ImageSets/Main`;
    const dataset = await loadDataset(path, {
      splitLists: { train: `${lists}/test.txt`, val: `${lists}/val.txt` },
    });
    expect([dataset.splits.train?.length, dataset.splits.val?.length, dataset.splits.test]).toEqual([
      72,
      87,
      undefined,
    ]);
    const yaml = `path: ${path}\ntrain: ImageSets/Main/test.txt\nval: ImageSets/Main/val.txt\nnames: [RBC, WBC, Platelets]\n`;
    const named = await loadDataset(await folder.write('bccd.yaml', yaml));
    expect(named.classNames).toEqual(['RBC', 'WBC', 'Platelets']);
    expect([named.splits.train?.length, named.splits.val?.length]).toEqual([72, 87]);
    expect(describeSplits(named).map(({ perClass }) => perClass[1])).toEqual([71, 87]);
  });
});

describe.skipIf(coco === undefined)(`coco128_permissive33${skipNote(coco)}`, () => {
  it('JSON and YOLO labels agree but for the 3 crowds; one picture is background in both', async () => {
    const json = await loadDataset(`${coco}/instances_33.json`);
    const yolo = await loadDataset(`${coco}/images`, { classNames: json.classNames });
    const sizes = sizesOf(json);
    expect(differences(boxesByPicture(yolo, sizes), boxesByPicture(json, sizes))).toEqual([]);
    expect(describeSplits(json)).toMatchObject([
      { pictures: 33, labelled: 32, backgroundEmpty: 1, objects: 246, crowd: 3 },
    ]);
    expect(describeSplits(yolo)).toMatchObject([
      { pictures: 33, labelled: 32, backgroundMissing: 1, objects: 243 },
    ]);
    expect(json.classKeys.slice(-2)).toEqual([89, 90]);
    expect(json.faults).toEqual([]);
  });

  it('could be read in two ways as a folder, which is a question', async () => {
    await expect(loadDataset(coco ?? '')).rejects.toThrow('it can be read as coco and as yolo');
    expect((await loadDataset(coco ?? '', { format: 'coco' })).format).toBe('coco');
    expect((await loadDataset(coco ?? '', { format: 'yolo' })).format).toBe('yolo');
  });
});

describe.skipIf(padilla === undefined)(`padilla_voc100${skipNote(padilla)}`, () => {
  it('gives the same boxes from VOC, ImageNet, both COCO forms, YOLO, CVAT, OpenImages and labelme', async () => {
    mkdirSync(folder.join('voc'));
    mkdirSync(folder.join('yolo'));
    symlinkSync(`${padilla}/images`, folder.join('voc/JPEGImages'));
    symlinkSync(`${padilla}/gts/pascalvoc_format`, folder.join('voc/Annotations'));
    mkdirSync(folder.join('imagenet'));
    symlinkSync(`${padilla}/images`, folder.join('imagenet/JPEGImages'));
    symlinkSync(`${padilla}/gts/imagenet_format/Annotations`, folder.join('imagenet/Annotations'));
    symlinkSync(`${padilla}/images`, folder.join('yolo/images'));
    symlinkSync(`${padilla}/gts/yolo_format/obj_train_data`, folder.join('yolo/labels'));
    const yaml = `train: images\nnames: ${padilla}/gts/yolo_format/obj.names\n`;
    const picturesFolder = `${padilla}/images`;
    const voc = await loadDataset(folder.join('voc'));
    const sets = [
      await loadDataset(`${padilla}/gts/coco_format_v1/instances_default.json`, { picturesFolder }),
      await loadDataset(`${padilla}/gts/coco_format_v2/instances_v2.json`, { picturesFolder }),
      await loadDataset(await folder.write('yolo/data.yaml', yaml)),
      await loadDataset(folder.join('imagenet')),
      await loadDataset(`${padilla}/gts/cvat_format/annotations.xml`, { picturesFolder }),
      await loadDataset(`${padilla}/gts/cvat_format`, { picturesFolder }),
      await loadDataset(`${padilla}/gts/openimages_format`, { picturesFolder }),
    ];
    const sizes = sizesOf(voc);
    const expected = boxesByPicture(voc, sizes);
    expect([...expected.values()].flat()).toHaveLength(273);
    for (const set of sets) expect(differences(boxesByPicture(set, sizes), expected)).toEqual([]);
    // Without its lists, the ImageNet form is one split, and says so.
    expect(sets.map((set) => set.faults.map(({ kind }) => kind))).toEqual([
      ...[[], [], [], ['no-splits'], [], []],
      ['decimal-comma'],
    ]);
    const labelme = await loadDataset(`${padilla}/gts/labelme_format`, { picturesFolder });
    const three = ['2007_000027.jpg', '2007_000032.jpg', '2007_000033.jpg'];
    expect(
      differences(
        boxesByPicture(labelme, sizes),
        new Map([...expected].filter(([picture]) => three.includes(picture))),
      ),
    ).toEqual([]);
    expect(labelme.faults.map(({ message }) => message.slice(0, 11))).toEqual(['97 pictures']);
  });
});

describe.skipIf(lta === undefined)(`lta_daynight_2021${skipNote(lta)}`, () => {
  it('has its labels beside the pictures and its names beside the folder', async () => {
    const dataset = await loadDataset(lta ?? '');
    expect(dataset).toMatchObject({
      format: 'yolo',
      classNames: ['car', 'lorry_truck', 'van', 'bike', 'bus'],
    });
    expect(describeSplits(dataset)).toMatchObject([{ name: 'train', pictures: 286, objects: 2062 }]);
    expect(() => expectSoundDataset(dataset)).not.toThrow();
    const report = await lintDataset(dataset, { openPictures: true });
    expect(faultsOf(report, 'damaged-picture')).toEqual([]);
    const { splits } = makeSplits(dataset, { groups: ['8704', '9705'] });
    expect((splits.train?.length ?? 0) + (splits.val?.length ?? 0)).toBe(286);
  });
});
