// Rows of YOLO label files as people have them: each becomes the right box, or is reported with file and line.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectSoundDataset, loadDataset } from '#data/datasets';
import { boxesOf, faultsOf, SetFolder, told } from './set-folder.ts';

let folder: SetFolder;
beforeEach(() => {
  folder = new SetFolder();
});
afterEach(() => folder.remove());

describe('polygons among boxes', () => {
  it('become their bounding boxes, said once per row', async () => {
    const file = await folder.yolo({
      a: '0 0.5 0.5 0.2 0.2\n1 0.1 0.1 0.3 0.1 0.3 0.4 0.1 0.4\n1 0.5 0.5 0.7 0.5 0.6 0.8\n',
    });
    const dataset = await loadDataset(file);
    expect(boxesOf(dataset)).toEqual([
      [0, 0.4, 0.4, 0.6, 0.6],
      [1, 0.1, 0.1, 0.3, 0.4],
      [1, 0.5, 0.5, 0.7, 0.8],
    ]);
    expect(told(dataset, folder)).toEqual(['notice polygon labels/a.txt:2', 'notice polygon labels/a.txt:3']);
    expect(() => expectSoundDataset(dataset)).not.toThrow();
  });

  it('with a coordinate missing, and other broken rows, are named with file and line', async () => {
    const broken = [
      '1 0.1 0.1 0.3 0.1 0.3 0.4 0.1',
      '0 0.5 0.5 0.2',
      '0 0.5 nan 0.2 0.2',
      '0.5 0.5 0.5 0.2 0.2',
      'car 0.5 0.5 0.2 0.2',
    ];
    const file = await folder.yolo({ a: `0 0.5 0.5 0.2 0.2\n${broken.join('\n')}\n` });
    const dataset = await loadDataset(file);
    expect(boxesOf(dataset)).toEqual([[0, 0.4, 0.4, 0.6, 0.6]]);
    expect(told(dataset, folder)).toEqual(
      [2, 3, 4, 5, 6].map((line) => `error broken-row labels/a.txt:${line}`),
    );
    expect(faultsOf(dataset, 'broken-row').map(({ message }) => /: (.*);/.exec(message)?.[1])).toEqual([
      '8 columns',
      '4 columns',
      '"nan" is no number',
      'the class number 0.5 is not whole',
      '"car" is no number',
    ]);
    expect(() => expectSoundDataset(dataset)).toThrow(/5 errors[\s\S]*broken-row, first: .*labels\/a\.txt:2/);
  });

  it('rows with keypoints are boxes where the yaml states kpt_shape', async () => {
    await folder.yolo({ a: '0 0.5 0.5 0.2 0.2 0.45 0.45 0.55 0.55 0.5 0.5\n' });
    const file = await folder.write('data.yaml', 'train: images\nnames: [a]\nkpt_shape: [3, 2]\n');
    const dataset = await loadDataset(file);
    expect(boxesOf(dataset)).toEqual([[0, 0.4, 0.4, 0.6, 0.6]]);
    expect(told(dataset, folder)).toEqual(['notice keypoints labels/a.txt:1']);
  });
});

describe('class numbers outside the names', () => {
  it('are summed up once, left out, and neither clamped nor wrapped', async () => {
    const labels: Record<string, string> = {};
    for (let index = 0; index < 10; index++) labels[`good${index}`] = `${index % 2} 0.5 0.5 0.2 0.2\n`;
    for (let index = 0; index < 3; index++) labels[`high${index}`] = '0 0.3 0.3 0.2 0.2\n2 0.5 0.5 0.2 0.2\n';
    labels['low'] = '-1 0.5 0.5 0.2 0.2\n';
    const dataset = await loadDataset(await folder.yolo(labels));
    const [fault, ...others] = faultsOf(dataset, 'class-out-of-range');
    expect(others).toEqual([]);
    expect(fault).toMatchObject({ severity: 'error', file: folder.join('labels/high0.txt'), line: 2 });
    expect(fault?.message).toContain('4 of 17 rows in 4 files: class -1 in 1 row, class 2 in 3 rows');
    expect(fault?.message).toContain('the 2 names allow 0 to 1 (a, b)');
    for (const name of ['high0', 'high1', 'high2']) expect(fault?.message).toContain(`labels/${name}.txt:2`);
    expect(fault?.hint).not.toContain('start at 1');
    expect(boxesOf(dataset).filter(([id]) => id === 0)).toHaveLength(8);
    expect(boxesOf(dataset).filter(([id]) => id === 1)).toHaveLength(5);
  });

  it('are told from labels that start at 1', async () => {
    const dataset = await loadDataset(
      await folder.yolo({ a: '1 0.5 0.5 0.2 0.2\n2 0.3 0.3 0.2 0.2\n', b: '2 0.5 0.5 0.2 0.2\n' }),
    );
    expect(faultsOf(dataset, 'class-out-of-range')[0]?.hint).toContain('start at 1');
  });
});

describe('coordinates outside the picture', () => {
  it('are clipped by a hair with a notice, and by more with a warning', async () => {
    const dataset = await loadDataset(
      await folder.yolo({ a: '0 0.9004 0.5 0.2 0.2\n0 0.5 0.5 1.2 0.4\n0 0.95 0.5 0.1000014 0.2\n' }),
    );
    expect(boxesOf(dataset)).toEqual([
      [0, 0.8004, 0.4, 1, 0.6],
      [0, 0, 0.3, 1, 0.7],
      [0, 0.899999, 0.4, 1, 0.6],
    ]);
    expect(told(dataset, folder)).toEqual([
      'notice clipped labels/a.txt:1',
      'warning outside-picture labels/a.txt:2',
    ]);
  });

  it('are reported by line where the centre is not in the picture, and the good rows stay', async () => {
    const dataset = await loadDataset(
      await folder.yolo({ a: '0 1.0371 0.5 0.2 0.2\n1 0.5 0.5 0.2 0.2\n0 -0.02 0.5 0.1 0.1\n' }),
    );
    expect(boxesOf(dataset)).toEqual([[1, 0.4, 0.4, 0.6, 0.6]]);
    expect(told(dataset, folder)).toEqual([
      'error outside-picture labels/a.txt:1',
      'error outside-picture labels/a.txt:3',
    ]);
  });

  it('in pixel units are recognised', async () => {
    const dataset = await loadDataset(await folder.yolo({ a: '0 320 240 100 80\n1 10 10 30 10 30 40\n' }));
    expect(boxesOf(dataset)).toEqual([]);
    expect(told(dataset, folder)).toEqual([
      'error pixel-units labels/a.txt:1',
      'error pixel-units labels/a.txt:2',
    ]);
    expect(faultsOf(dataset, 'pixel-units')[0]?.hint).toContain('pixel units?');
  });

  it('a box without size is left out and counted', async () => {
    const dataset = await loadDataset(await folder.yolo({ a: '0 0.5 0.5 0 0.2\n1 0.5 0.5 0.2 -0.1\n' }));
    expect(boxesOf(dataset)).toEqual([]);
    expect(told(dataset, folder)).toEqual([
      'warning zero-size labels/a.txt:1',
      'warning zero-size labels/a.txt:2',
    ]);
  });

  it('every box that is kept lies in the picture and has a size', async () => {
    const rows: string[] = [];
    for (const centre of [-0.01, -0.005, 0, 0.003, 0.5, 0.997, 1, 1.005, 1.01]) {
      for (const size of [0.001, 0.01, 0.1, 1, 1.9])
        rows.push(`0 ${centre} 0.5 ${size} 0.1`, `0 0.5 ${centre} 0.1 ${size}`);
    }
    const dataset = await loadDataset(await folder.yolo({ a: rows.join('\n') }));
    const boxes = boxesOf(dataset);
    expect(boxes.length).toBeGreaterThan(40);
    for (const [, x1 = -1, y1 = -1, x2 = -1, y2 = -1] of boxes) {
      expect(0 <= x1 && x1 < x2 && x2 <= 1 && 0 <= y1 && y1 < y2 && y2 <= 1).toBe(true);
    }
    const leftOut = dataset.faults.filter(
      ({ hint }) => hint.startsWith('left out') || hint.startsWith('dropped'),
    );
    expect(boxes.length + leftOut.length).toBe(rows.length);
  });
});

describe('a sixth column', () => {
  it('is dropped with one notice for the whole set', async () => {
    const dataset = await loadDataset(
      await folder.yolo({
        a: '0 0.5 0.5 0.2 0.4 0.87\n1 0.5 0.5 0.2 0.2 0.5\n',
        b: '0 0.5 0.5 0.2 0.4 0.9\n',
      }),
    );
    expect(boxesOf(dataset)).toEqual([
      [0, 0.4, 0.3, 0.6, 0.7],
      [1, 0.4, 0.4, 0.6, 0.6],
      [0, 0.4, 0.3, 0.6, 0.7],
    ]);
    expect(told(dataset, folder)).toEqual(['notice score-column labels/a.txt:1']);
    expect(faultsOf(dataset, 'score-column')[0]?.message).toContain('3 rows in 2 files');
  });

  it('in the older order is seen from boxes that leave the picture', async () => {
    const dataset = await loadDataset(await folder.yolo({ a: '0 0.87 0.5 0.5 0.2 0.4\n' }));
    const [fault] = faultsOf(dataset, 'outside-picture');
    expect(fault).toMatchObject({ line: 1 });
    expect(fault?.hint).toContain('second column');
  });
});

describe('repeated rows', () => {
  it('are dropped and counted; rows that differ in the sixth decimal stay', async () => {
    const row = '0 0.500000 0.500000 0.200000 0.200000';
    const dataset = await loadDataset(
      await folder.yolo({ a: `${row}\n${row}\n0 0.500001 0.5 0.2 0.2\n0 0.5 0.5 0.2 0.2\n` }),
    );
    expect(boxesOf(dataset)).toHaveLength(2);
    expect(told(dataset, folder)).toEqual([
      'warning repeated-row labels/a.txt:2',
      'warning repeated-row labels/a.txt:4',
    ]);
  });

  it('a label file that two pictures share is reported, and its rows are told once', async () => {
    const file = await folder.yolo({ a: '0 0.5 0.5 0.2 0.2\nx\n' });
    await folder.picture('images/a.jpg');
    const dataset = await loadDataset(file);
    expect(boxesOf(dataset)).toHaveLength(2);
    expect(told(dataset, folder)).toEqual([
      'warning shared-label labels/a.txt',
      'error broken-row labels/a.txt:2',
    ]);
    expect(faultsOf(dataset, 'shared-label')[0]?.message).toContain('a.jpg, a.png');
  });
});

describe('what is no label', () => {
  it('line ends of Windows, a byte order mark and blank lines do no harm', async () => {
    const dataset = await loadDataset(
      await folder.yolo({ a: '\uFEFF0 0.5 0.5 0.2 0.2\r\n\r\n1\t0.3 0.3  0.2 0.2\r\n' }),
    );
    expect(boxesOf(dataset).map(([id]) => id)).toEqual([0, 1]);
    expect(dataset.faults).toEqual([]);
  });

  it('a label file without its picture is reported, notes beside it are not', async () => {
    const file = await folder.yolo({ a: '0 0.5 0.5 0.2 0.2\n' });
    await folder.write('labels/lost.txt', '0 0.5 0.5 0.2 0.2\n');
    await folder.write('labels/classes.txt', 'a\nb\n');
    expect(told(await loadDataset(file), folder)).toEqual(['warning orphan-label labels/lost.txt']);
  });
});
