// What is held out together: cameras where the names tell of them, neighbouring pictures else.
import { describe, expect, it } from 'vitest';
import { pictureFolds } from '../../../src/evaluate/calibrate/picture-folds.ts';

const named = (camera: string, count: number) =>
  Array.from({ length: count }, (_, index) => `images/${camera}-${index}.jpg`);
const CAMERAS = [...named('b', 4), ...named('a', 3), ...named('c', 2)];

/** Which file names lie in each fold. */
function foldsOf(paths: readonly string[], folds: Int32Array): string[][] {
  const parts: string[][] = [];
  for (const [picture, fold] of folds.entries()) {
    parts[fold] = [...(parts[fold] ?? []), paths[picture] ?? ''];
  }
  return parts;
}

describe('pictures of several cameras', () => {
  it('are held out one camera at a time', () => {
    const { folds, foldCount, groupedBy, cameras, description } = pictureFolds(CAMERAS);
    expect([foldCount, groupedBy, cameras]).toEqual([3, 'camera', ['a', 'b', 'c']]);
    expect(foldsOf(CAMERAS, folds).map((part) => new Set(part.map((path) => path[7])).size)).toEqual([
      1, 1, 1,
    ]);
    expect(description).toBe('each of 3 cameras (a, b, c) by maps that were fitted on the other 2');
  });

  it('are told by an underscore too', () => {
    const paths = CAMERAS.map((path) => path.replace('-', '_day-'));
    expect(pictureFolds(paths).cameras).toEqual(['a', 'b', 'c']);
  });

  it('stay whole in fewer folds', () => {
    const { folds, description } = pictureFolds(CAMERAS, { foldCount: 2 });
    expect(foldsOf(CAMERAS, folds)).toEqual([named('b', 4), [...named('a', 3), ...named('c', 2)]]);
    expect(description).toMatch(/^3 cameras \(a, b, c\) in 2 parts/);
  });

  it('are parted by picture with groups none', () => {
    const { groupedBy, foldCount, groupCount } = pictureFolds(CAMERAS, { grouping: 'none' });
    expect([groupedBy, foldCount, groupCount]).toEqual(['picture', 5, 9]);
  });
});

describe('pictures without cameras', () => {
  it.each([
    ['no dash', Array.from({ length: 10 }, (_, index) => `frame${9 - index}.jpg`)],
    ['one camera', named('a', 10)],
    ['a prefix of its own each', Array.from({ length: 10 }, (_, index) => `${index}-x.jpg`)],
  ])('%s: blocks of neighbours by name', (_, paths) => {
    const { folds, groupedBy, groups } = pictureFolds(paths);
    const sorted = [...paths].sort();
    expect(groupedBy).toBe('picture');
    expect(foldsOf(paths, folds).map((part) => part.sort())).toEqual(
      [0, 2, 4, 6, 8].map((first) => sorted.slice(first, first + 2)),
    );
    expect(new Set(groups).size).toBe(10);
  });

  it('refuses what cannot be', () => {
    expect(() => pictureFolds(['a.jpg', 'b.jpg'], { grouping: 'camera' })).toThrow(/no several cameras/);
    expect(() => pictureFolds(['a.jpg', 'b.jpg'])).toThrow(/2 pictures cannot be held out in 5 parts/);
    expect(() => pictureFolds(CAMERAS, { foldCount: 4 })).toThrow(/4 folds/);
  });
});
