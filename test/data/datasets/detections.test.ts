// Saved detections of any tool: the same boxes from every form, and every way in which a form can be wrong.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Dataset, type LoadDetectionsOptions, loadDataset, loadDetections } from '#data/datasets';
import { testData } from '../../support/test-data.ts';
import { SetFolder } from './set-folder.ts';

let folder: SetFolder;
let dataset: Dataset;
beforeEach(async () => {
  folder = new SetFolder();
  const images = ['a', 'b', 'c'].map((stem, index) => ({
    ...{ id: 10 + index, file_name: `${stem}.jpg`, width: 100, height: 50 },
  }));
  const categories = [
    { id: 3, name: 'dog' },
    { id: 7, name: 'cat' },
  ];
  const annotations = [{ id: 1, image_id: 10, category_id: 3, bbox: [10, 5, 20, 10] }];
  const file = await folder.write('truth.json', JSON.stringify({ images, categories, annotations }));
  dataset = await loadDataset(file, { labelsOnly: true });
});
afterEach(() => folder.remove());

const pictures = () => dataset.splits.train ?? [];
const load = (path: string, options: LoadDetectionsOptions = {}) =>
  loadDetections(path, dataset, pictures(), options);

/** Class, score and corners, per picture. */
async function found(path: string, options: LoadDetectionsOptions = {}) {
  const read = await load(path, options);
  return read.pictures.map(({ detections }) =>
    detections.map(({ className, score, box: { x1, y1, x2, y2 } }) => [className, score, x1, y1, x2, y2]),
  );
}

const EXPECTED = [[['dog', 0.5, 10, 5, 30, 15]], [], []];

describe('text rows', () => {
  const forms = [
    ['xyxy', '10 5 30 15'],
    ['ltwh', '10 5 20 10'],
    ['cxcywh', '20 10 20 10'],
    ['xyxyn', '0.1 0.1 0.3 0.3'],
    ['ltwhn', '0.1 0.1 0.2 0.2'],
    ['cxcywhn', '0.2 0.2 0.2 0.2'],
  ] as const;
  it.each(forms)(
    'as %s give the same box, the score first or last, the class as name or number',
    async (box, numbers) => {
      await folder.write('dets/a.txt', `dog 0.5 ${numbers}\r\n\n`);
      await folder.write('dets/b.txt', '');
      const rounded = (rows: unknown) =>
        JSON.parse(
          JSON.stringify(rows, (_, value) => (typeof value === 'number' ? Number(value.toFixed(9)) : value)),
        );
      expect(rounded(await found(folder.join('dets'), { box, score: 'first' }))).toEqual(EXPECTED);
      const last = await folder.write('a.txt', `0 ${numbers} 0.5`);
      const classNames = ['dog', 'cat'];
      expect(rounded(await found(last, { box, score: 'last', classNames }))).toEqual(EXPECTED);
    },
  );

  it('are not guessed: without the form or the names of numbers they are a question', async () => {
    await folder.write('dets/a.txt', '0 0.5 10 5 30 15');
    const path = folder.join('dets');
    await expect(load(path)).rejects.toThrow(
      'a row such as "0 0.5 10 5 30 15" does not say what its numbers are; predictions_box= and predictions_score= must',
    );
    await expect(load(path, { box: 'xyxy' })).rejects.toThrow('; predictions_score= must');
    await expect(load(path, { box: 'xyxy', score: 'first' })).rejects.toThrow('class 0');
  });

  it('that are wrong are all named by kind, with file and line of the first', async () => {
    const rows = [
      'dog 10 5 30 15',
      'dog x 10 5 30 15',
      'dog 55 10 5 30 15',
      'dog .5 30 15 10 5',
      'cow .5 1 2 3 4',
      'dogs .5 1 2 3 4',
    ];
    await folder.write('dets/a.txt', rows.join('\n'));
    await folder.write('dets/zebra.txt', '');
    const refusal = await load(folder.join('dets'), { box: 'xyxy', score: 'first' }).catch(
      (error: Error) => error,
    );
    const text = String((refusal as Error).message).replaceAll(`${folder.path}/`, '');
    expect(text).toContain('predictions=dets: 7 errors');
    for (const part of [
      '2 × broken-row, first: dets/a.txt:1 row "dog 10 5 30 15": 5 columns, expected 6',
      'the score is missing: these are labels',
      '1 × score-range, first: dets/a.txt:3',
      '1 × inverted-box, first: dets/a.txt:4',
      '2 × unknown-class, first: dets/a.txt:5 row "cow .5 1 2 3 4": class "cow" in 1 detection; the classes are dog, cat',
      '1 × unknown-picture, first: dets/zebra.txt no picture zebra in',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('in the wrong unit are refused, and boxes far outside are doubted', async () => {
    await folder.write('px/a.txt', 'dog .5 10 5 30 15');
    await expect(load(folder.join('px'), { box: 'xyxyn', score: 'first' })).rejects.toThrow(
      '1 × pixel-units',
    );
    await folder.write('share/a.txt', 'dog .5 .1 .1 .3 .3');
    await expect(load(folder.join('share'), { box: 'xyxy', score: 'first' })).rejects.toThrow(
      '1 × relative-units',
    );
    await folder.write('corners/a.txt', 'dog .5 80 30 95 45');
    const { remarks } = await load(folder.join('corners'), { box: 'ltwh', score: 'first' });
    expect(remarks[1]).toContain('1 of 1 boxes reach far beyond their picture');
  });
});

describe('COCO results', () => {
  const row = (more: object = {}) => ({
    image_id: 10,
    category_id: 3,
    bbox: [10, 5, 20, 10],
    score: 0.5,
    ...more,
  });
  const results = (rows: unknown, name = 'results.json') => folder.write(name, JSON.stringify(rows));

  it('speak of pictures and classes by the ids of the set; variances are kept', async () => {
    const path = await results([row({ score_var: 0.02, box_var: [1, 2, 3, 4] })]);
    expect(await found(path)).toEqual(EXPECTED);
    const { pictures: read, remarks, classNames } = await load(path);
    expect(read[0]?.detections[0]).toMatchObject({
      scoreVariance: 0.02,
      boxVariance: { x1: 1, y2: 4 },
      classId: 0,
    });
    expect(classNames).toEqual(['dog', 'cat']);
    expect(remarks).toEqual([`${path} has no detections in 2 of 3 pictures: nothing was found there`]);
    expect(await found(await results([row()], 'only/results.json').then(() => folder.join('only')))).toEqual(
      EXPECTED,
    );
  });

  it('may name pictures by file name; with names= class numbers count from 0', async () => {
    const path = await results([row({ image_id: 'a', category_id: 1 })]);
    expect(await found(path, { classNames: ['cat', 'dog'] })).toEqual(EXPECTED);
    await expect(load(path, { classNames: ['dog'] })).rejects.toThrow('class number 1 in 1 detection');
  });

  it('that are wrong are named by their number', async () => {
    const path = await results([
      row({ bbox: [1, 2, 3] }),
      row({ score: '0.5' }),
      row({ category_id: 99 }),
      row({ image_id: 99 }),
      7,
    ]);
    const { message } = (await load(path).catch((error: Error) => error)) as Error;
    expect(message).toContain('5 errors');
    expect(message).toContain('3 × broken-row, first: ');
    expect(message).toContain('detection 1: bbox is [1,2,3], expected four numbers');
    expect(message).toContain('detection 3: class number 99');
    expect(message).toContain('no picture with the id 99');
    await expect(load(await results({ shapes: [] }))).rejects.toThrow(
      'no detections, but an object with shapes',
    );
    await expect(load(path, { box: 'xyxy' })).rejects.toThrow(
      'predictions_box= says how rows of text are written',
    );
    await expect(load(folder.join('absent'))).rejects.toThrow('it does not exist');
  });

  it('in a whole COCO file have names of their own, and sizes that must be those of the set', async () => {
    const whole = (width: number, annotations: object[]) => ({
      images: [{ id: 0, file_name: 'x/a.jpg', width, height: 50 }],
      categories: [
        { id: 0, name: 'cat' },
        { id: 1, name: 'dog' },
      ],
      annotations,
    });
    const detection = row({ image_id: 0, category_id: 1 });
    expect(await found(await results(whole(100, [detection])))).toEqual(EXPECTED);
    await expect(load(await results(whole(200, [detection])))).rejects.toThrow(
      'x/a.jpg is 200x50 there, and 100x50 in the data set',
    );
    const { score: _, ...label } = detection;
    await expect(load(await results(whole(100, [label])))).rejects.toThrow('labels without scores');
  });
});

const padilla = testData('datasets/padilla_voc100');

describe.skipIf(padilla === undefined)(
  `padilla_voc100${padilla === undefined ? ' (skipped: the data set is absent)' : ''}`,
  () => {
    it('gives the same 452 detections from all four forms, to the rounding of each', async () => {
      const truth = await loadDataset(`${padilla}/gts/coco_format_v1/instances_default.json`, {
        picturesFolder: `${padilla}/images`,
      });
      const voc = await import('node:fs/promises').then(({ readFile }) =>
        readFile(`${padilla}/voc.names`, 'utf8'),
      );
      const classNames = voc.trim().split(/\s+/);
      const all = truth.splits.train ?? [];
      const read = async (name: string, options: LoadDetectionsOptions) => {
        const { pictures: found, remarks } = await loadDetections(
          `${padilla}/dets/${name}`,
          truth,
          all,
          options,
        );
        expect(remarks).toEqual([
          `${padilla}/dets/${name} has no detections in 2 of 100 pictures: nothing was found there`,
        ]);
        return found.map(({ detections }) =>
          detections
            .map(({ className, score, box: { x1, y1, x2, y2 } }) => ({
              ...{ className, score: Number(score.toFixed(6)), corners: [x1, y1, x2, y2] },
            }))
            .sort((a, b) => b.score - a.score || (a.corners[0] ?? 0) - (b.corners[0] ?? 0)),
        );
      };
      const expected = await read('coco_format', {});
      expect(expected.flat()).toHaveLength(452);
      const forms = [
        ['abs_xywh', 'ltwh'],
        ['abs_xyx2y2', 'xyxy'],
        ['rel_xywh', 'cxcywhn'],
      ] as const;
      for (const [name, box] of forms) {
        const other = await read(name, { box, score: 'first', classNames });
        for (const [place, detections] of other.entries()) {
          expect(detections.map(({ className, score }) => [className, score])).toEqual(
            expected[place]?.map(({ className, score }) => [className, score]),
          );
          for (const [row, { corners }] of detections.entries()) {
            for (const [side, px] of corners.entries()) {
              // Six decimals of a share of 500 px, in centre and size: below .001 px.
              expect(Math.abs(px - (expected[place]?.[row]?.corners[side] ?? NaN))).toBeLessThan(0.001);
            }
          }
        }
      }
    });
  },
);
