// What parts pictures: cameras from file names, zones, names of sets, classes in another order.
import { describe, expect, it } from 'vitest';
import { ConfigError, DataError } from '#core';
import type { LabelledObject } from '#data/datasets';
import { parseZone } from '#evaluate';
import { cameraOfName } from '../../../src/evaluate/camera-of-name.ts';
import { type PictureSet, setNames, withClassesOf } from '../../../src/evaluate/compare/picture-sets.ts';
import { slicePictures } from '../../../src/evaluate/compare/slice-rules.ts';

const SINGAPORE = { kind: 'sun', latitude: 1.35, longitude: 103.82 } as const;
const folderOf = (...names: string[]): PictureSet => ({
  source: 'folder',
  pictures: names.map((name) => ({ path: `/set/${name}`, id: name, objects: [] })),
});

describe('cameras', () => {
  it('are the beginning of file names', () => {
    expect(cameraOfName('/a-b/2703-2021_03_20_072817.jpg')).toBe('2703');
    expect(cameraOfName('/a-b/camera7_sun_12.jpg')).toBe('camera7');
    expect(cameraOfName('/a-b/0001.jpg')).toBeUndefined();
    expect(cameraOfName('/a-b/20210320_120000.jpg')).toBeUndefined();
  });

  const clocks = ['20210320_120000', '20210320_120100', '20210320_220000', '20210320_220100'];
  const slicesOf = async (names: readonly string[]) =>
    slicePictures(folderOf(...names), { ...SINGAPORE, zoneSeconds: 8 * 3600 });

  it('are told apart where several pictures share one', async () => {
    const { slices, remarks } = await slicesOf(
      clocks.map((clock, place) => `${'ab'[place % 2]}-${clock}.jpg`),
    );
    expect(slices.map(({ name, pictures }) => [name, ...pictures.map(({ camera }) => camera)])).toEqual([
      ['day', 'a', 'b'],
      ['night', 'a', 'b'],
    ]);
    expect(remarks[0]).toBe('2 cameras, by the beginning of the file names (CAMERA-... or CAMERA_...)');
  });

  it('are one where nearly every name begins differently', async () => {
    const { slices, remarks } = await slicesOf(clocks.map((clock, place) => `${place}-${clock}.jpg`));
    expect(slices.flatMap(({ pictures }) => pictures.map(({ camera }) => camera))).toEqual(['', '', '', '']);
    expect(remarks[0]).toContain('count as of one camera');
  });
});

describe('slices by the sun', () => {
  const names = ['a-20210320_193000.jpg', 'a-20210320_120000.jpg', 'a-20210320_070500.jpg', 'a-1.jpg'];

  it('follow the zone of the clock, take dawn as dusk, and leave out what has no time', async () => {
    const { slices, remarks } = await slicePictures(folderOf(...names), {
      ...SINGAPORE,
      zoneSeconds: 8 * 3600,
    });
    expect(slices.map(({ name, pictures }) => [name, pictures.length])).toEqual([
      ['day', 1],
      ['dusk', 2],
    ]);
    expect(remarks.join()).toContain('1 pictures have no time in their name');
    const inUtc = await slicePictures(folderOf(...names), { ...SINGAPORE, zoneSeconds: 0 });
    expect(inUtc.slices.map(({ name }) => name)).toEqual(['day', 'night']);
  });

  it('need a time in some name', async () => {
    const asked = slicePictures(folderOf('a-1.jpg', 'a-2.jpg'), { ...SINGAPORE, zoneSeconds: 0 });
    await expect(asked).rejects.toThrow(/no file name holds a time/);
  });

  it.each([
    ['+08:00', 28_800],
    ['-0330', -12_600],
    ['Z', 0],
  ])('know the zone %s', (text, seconds) => {
    expect(parseZone(text)).toBe(seconds);
  });

  it.each(['8', 'Asia/Singapore', '+25:00', '+08:61'])('refuse the zone %s', (text) => {
    expect(() => parseZone(text)).toThrow(ConfigError);
  });
});

describe('two sets', () => {
  it.each([
    ['day.yaml', 'night.yaml', ['day', 'night']],
    ['a/data.yaml', 'b/data.yaml', ['a', 'b']],
    ['a/2021.03', 'a/2021.04', ['2021.03', '2021.04']],
    ['x/a/data.yaml', 'y/a/data.yaml', ['x/a/data.yaml', 'y/a/data.yaml']],
  ])('%s and %s have short names that differ', (first, second, names) => {
    expect(setNames(first, second)).toEqual(names);
  });

  const object = (classId: number): LabelledObject => {
    return { classId, x1: 0, y1: 0, x2: 1, y2: 1, crowd: false, difficult: false };
  };
  const labelled = (source: string, classNames: readonly string[], ...ids: number[]): PictureSet => ({
    source,
    classNames,
    pictures: [{ path: `/${source}.jpg`, id: source, objects: ids.map(object) }],
  });

  it('take the numbers of their classes from the first, by name', () => {
    const second = withClassesOf(labelled('a', ['car', 'bus']), labelled('b', ['bus', 'car'], 0, 1, 1));
    expect(second.classNames).toEqual(['car', 'bus']);
    expect(second.pictures[0]?.objects.map(({ classId }) => classId)).toEqual([1, 0, 0]);
  });

  it('must have the same classes', () => {
    const asked = () => withClassesOf(labelled('a', ['car', 'bus']), labelled('b', ['car', 'van']));
    expect(asked).toThrow(DataError);
    expect(asked).toThrow(/a is labelled with car, bus, but b with car, van/);
  });
});
