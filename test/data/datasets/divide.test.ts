// Splits made from a set, classes under other names, and a model's classes against those of a set.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, DataError } from '#core';
import { countGroups, type Dataset, loadDataset, makeSplits, mapClasses, matchClasses } from '#data/datasets';
import { boxesOf, faultsOf, namesOf, SetFolder } from './set-folder.ts';

let folder: SetFolder;
let dataset: Dataset;
beforeEach(async () => {
  folder = new SetFolder();
  const labels: Record<string, string> = {};
  for (const camera of ['2703', '8701', '9706']) {
    for (const time of ['06', '12', '18', '20']) {
      labels[`${camera}-${time}`] = '0 0.5 0.5 0.2 0.2\n1 0.5 0.5 0.2 0.2\n2 0.5 0.5 0.2 0.2\n';
    }
  }
  dataset = await loadDataset(await folder.yolo(labels, ['car', 'lorry', 'van']));
});
afterEach(() => folder.remove());

describe('makeSplits', () => {
  it('holds out whole groups by file name', () => {
    expect([...countGroups(dataset)]).toEqual([
      ['2703', 4],
      ['8701', 4],
      ['9706', 4],
    ]);
    const { splits } = makeSplits(dataset, { groups: ['8701'] });
    const cameras = (pictures: Dataset['splits']['train']) =>
      new Set(pictures?.map(({ id }) => String(id).slice(0, 4)));
    expect([cameras(splits.train), cameras(splits.val)]).toEqual([
      new Set(['2703', '9706']),
      new Set(['8701']),
    ]);
    expect(() => makeSplits(dataset, { groups: ['1'] })).toThrow(/no picture belongs to the group "1"/);
    expect(() => makeSplits(dataset, { groups: ['2703', '8701', '9706'] })).toThrow(DataError);
  });

  it('draws a fraction that only the seed decides, and divides anew what was divided', () => {
    const drawn = makeSplits(dataset, { fraction: 0.25, seed: 3 });
    expect([drawn.splits.train?.length, drawn.splits.val?.length]).toEqual([9, 3]);
    expect(namesOf(makeSplits(drawn, { fraction: 0.25, seed: 3 }), 'val')).toHaveLength(3);
    expect(namesOf(makeSplits(dataset, { fraction: 0.25, seed: 3 }), 'val')).toEqual(namesOf(drawn, 'val'));
    const others = [4, 5, 6].map((seed) =>
      namesOf(makeSplits(dataset, { fraction: 0.25, seed }), 'val').join(),
    );
    expect(others.some((names) => names !== namesOf(drawn, 'val').join())).toBe(true);
    expect(makeSplits(dataset, { fraction: 0.999, seed: 1 }).splits.train).toHaveLength(1);
    expect(() => makeSplits(dataset, { fraction: 1, seed: 1 })).toThrow(DataError);
  });

  it('takes any rule, and leaves the test split alone', () => {
    const withTest = { ...dataset, splits: { train: dataset.splits.train ?? [], test: [] } };
    const { splits } = makeSplits(withTest, { holdOut: ({ path }) => path.endsWith('-06.png') });
    expect([splits.train?.length, splits.val?.length, splits.test]).toEqual([9, 3, []]);
  });
});

describe('mapClasses', () => {
  it('makes all classes one', async () => {
    const single = await loadDataset(dataset.source, { mapClasses: 'single', singleName: 'vehicle' });
    expect([single.classNames, single.classKeys]).toEqual([['vehicle'], [0]]);
    expect(boxesOf(single)).toHaveLength(36);
    expect(new Set(boxesOf(single).map(([id]) => id))).toEqual(new Set([0]));
    expect(mapClasses(dataset, 'single').classNames).toEqual(['object']);
  });

  it('renames by map, joins equal names, drops and counts the rest', () => {
    const mapped = mapClasses(dataset, { van: 'big', lorry: 'big' });
    expect(mapped.classNames).toEqual(['big']);
    expect(boxesOf(mapped)).toHaveLength(24);
    expect(faultsOf(mapped, 'class-dropped')).toMatchObject([
      { severity: 'notice', hint: 'its 12 objects were left out' },
    ]);
    expect(mapClasses(dataset, { van: 'x', car: 'y' }).classNames).toEqual(['x', 'y']);
    expect(boxesOf(mapClasses(dataset, { van: 'x', car: 'y' }))[0]?.[0]).toBe(1);
    expect(boxesOf(dataset)).toHaveLength(36);
  });

  it('refuses a class that the set lacks', () => {
    expect(() => mapClasses(dataset, { vans: 'x' })).toThrow(ConfigError);
    expect(() => mapClasses(dataset, { toString: 'x' })).toThrow(ConfigError);
  });
});

describe('matchClasses', () => {
  it('goes by name whatever the order, and lists both where a name is missing', () => {
    expect(matchClasses(['a', 'b', 'c'], ['c', 'a'])).toEqual([2, 0]);
    expect(() => matchClasses(['a', 'b'], ['a', 'b', 'c'])).toThrow(
      'the model lacks c; the model has 2 (a, b), the set 3 (a, b, c)',
    );
  });
});
