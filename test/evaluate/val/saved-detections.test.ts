// Known figures of saved detections, by the path of `val predictions=`: no model, and no pictures.
import { readdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { vocAveragePrecision } from '#core';
import { validateDetections } from '#evaluate';
import { RunFolder } from '../../support/run-folder.ts';
import { testData } from '../../support/test-data.ts';

const coco = testData('eval/coco100');
const sampled = testData('eval/padilla_coco_sampled');
const voc = testData('eval/padilla_voc_case1');
const skipNote = (path: string | undefined) => (path === undefined ? ' (skipped: the data is absent)' : '');

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => folder.remove());

/** AP, AP50, AP75, small, medium, large; AR at 1, 10, 100, small, medium, large. */
async function twelve(predictions: string, data: string): Promise<(number | null)[]> {
  const { report } = await validateDetections({ predictions, data });
  const { ap, ap50, ap75, apSmall, apMedium, apLarge, ...recall } = report.averagePrecision;
  const { ar1, ar10, arMax, arSmall, arMedium, arLarge } = recall;
  return [ap, ap50, ap75, apSmall, apMedium, apLarge, ar1, ar10, arMax, arSmall, arMedium, arLarge];
}

function expectClose(found: readonly (number | null)[], expected: readonly number[]): void {
  expect(found.map((value, place) => Math.abs((value ?? 9) - (expected[place] ?? 0)) < 1e-6)).toEqual(
    expected.map(() => true),
  );
}

describe('COCO results', () => {
  it.skipIf(coco === undefined)(`coco100: all twelve numbers${skipNote(coco)}`, async () => {
    const found = await twelve(
      `${coco}/instances_val2014_fakebbox100_results.json`,
      `${coco}/instances_val2014_100.json`,
    );
    expectClose(found, [
      ...[0.5045806987, 0.6969727247, 0.572981667, 0.5856257209, 0.5193996949, 0.5013978986],
      ...[0.3868127796, 0.5936795763, 0.5953529829, 0.6398109626, 0.5664205979, 0.5642905983],
    ]);
  });

  it.skipIf(sampled === undefined)(
    `padilla_coco_sampled: a whole COCO file${skipNote(sampled)}`,
    async () => {
      const found = await twelve(
        `${sampled}/sampled_bbox_results.json`,
        `${sampled}/sampled_gts_bbox_area.json`,
      );
      expectClose(found, [
        ...[0.503647, 0.696973, 0.571667, 0.593252, 0.557991, 0.489363],
        ...[0.386813, 0.59368, 0.595353, 0.654764, 0.60313, 0.553744],
      ]);
    },
  );
});

describe.skipIf(voc === undefined)(`padilla_voc_case1${skipNote(voc)}`, () => {
  it('text detections against the same boxes as COCO JSON: VOC figures, inclusive and plain', async () => {
    const names = await readdir(`${voc}/gts`);
    const images = names.map((name, id) => ({
      id,
      file_name: name.replace('.txt', '.jpg'),
      width: 300,
      height: 300,
    }));
    const annotations = [];
    for (const [image, name] of names.entries()) {
      const lines = (await readFile(`${voc}/gts/${name}`, 'utf8')).trim().split(/\r?\n/);
      for (const line of lines) {
        const bbox = line.trim().split(/\s+/).slice(1).map(Number);
        annotations.push({ id: annotations.length, image_id: image, category_id: 0, bbox });
      }
    }
    expect(annotations).toHaveLength(15);
    const truth = { images, annotations, categories: [{ id: 0, name: 'object' }] };
    const data = await folder.write('truth.json', JSON.stringify(truth));
    const { tables } = await validateDetections({
      predictions: `${voc}/dets`,
      data,
      form: { box: 'ltwh', score: 'first' },
    });
    expect(tables.detections.scores).toHaveLength(24);
    const figures = (extent: 'edges' | 'inclusive', key: 'everyPoint' | 'elevenPoint') =>
      [0.1, 0.3, 0.5, 0.75].map((iou) => {
        const found = vocAveragePrecision(tables.truth, tables.detections, { classCount: 1, iou, extent });
        return found[key];
      });
    expectClose(figures('inclusive', 'everyPoint'), [0.3371980676, 0.2456866804, 0.0222222222, 0]);
    expectClose(figures('inclusive', 'elevenPoint'), [0.3333333333, 0.2683982683, 0.0303030303, 0]);
    expectClose(figures('edges', 'everyPoint'), [0.280133, 0.225397, 0.022222, 0]);
  });
});

describe('classes and splits', () => {
  const images = ['a', 'b'].map((stem, id) => ({ id, file_name: `${stem}.jpg`, width: 100, height: 50 }));
  const truth = (categories: readonly string[]) => ({
    images,
    categories: categories.map((name, id) => ({ id, name })),
    annotations: [{ id: 0, image_id: 0, category_id: 0, bbox: [10, 5, 20, 10] }],
  });

  it('names of the tool are mapped or joined; a mapped class need not have been found', async () => {
    const data = await folder.write('truth.json', JSON.stringify(truth(['lorry', 'bus'])));
    await folder.write('dets/a.txt', 'truck 0.9 10 5 20 10');
    const request = {
      predictions: folder.join('dets'),
      data,
      form: { box: 'ltwh', score: 'first' },
    } as const;
    await expect(validateDetections(request)).rejects.toThrow(
      'class "truck" in 1 detection; the classes are lorry, bus',
    );
    const mapped = await validateDetections({
      ...request,
      matching: { classMap: { truck: 'lorry', coach: 'bus' } },
    });
    expect(mapped.report.averagePrecision.ap).toBeCloseTo(1, 9);
    const joined = await validateDetections({ ...request, matching: { singleClass: true } });
    expect(joined.report.classNames).toEqual(['object']);
    expect(joined.report.averagePrecision.ap).toBeCloseTo(1, 9);
  });

  it('detections of pictures in other splits are left out, and said', async () => {
    await folder.write('train.json', JSON.stringify(truth(['lorry'])));
    await folder.write(
      'val.json',
      JSON.stringify({ ...truth(['lorry']), images: [{ ...images[0], file_name: 'c.jpg' }] }),
    );
    const data = await folder.write('data.yaml', 'train: train.json\nval: val.json\nnames: [lorry]\n');
    await folder.write('dets/a.txt', 'lorry 0.9 10 5 20 10\nlorry 0.8 10 5 20 10\n');
    await folder.write('dets/c.txt', 'lorry 0.9 10 5 20 10');
    const { report, saved } = await validateDetections({
      ...{ predictions: folder.join('dets'), data, form: { box: 'ltwh', score: 'first' } },
    });
    expect([report.pictures, report.detections]).toEqual([1, 1]);
    expect(saved.remarks).toEqual(['2 detections in 1 pictures of other splits are left out']);
  });
});
