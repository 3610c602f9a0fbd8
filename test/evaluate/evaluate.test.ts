// From a model file and labelled pictures to a report, on pictures and graphs that the test makes.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Detection } from '#core';
import { ConfigError, DataError } from '#core';
import type { LabelledObject, LabelledPicture } from '#data/datasets';
import { encodePicture } from '#data/images';
import {
  evaluatePredictions,
  evaluationTables,
  matchClasses,
  type Predictions,
  predictDataset,
  predictPictures,
} from '#evaluate';
import { serialize, standInDetector } from '#onnx';
import { openDetector } from '#runtime';

const object = (classId: number, corners: readonly number[], more: Partial<LabelledObject> = {}) => {
  const [x1 = 0, y1 = 0, x2 = 1, y2 = 1] = corners;
  return { classId, x1, y1, x2, y2, crowd: false, difficult: false, ...more };
};
const picture = (id: number, objects: readonly LabelledObject[]): LabelledPicture => ({
  path: `${id}.png`,
  id,
  objects,
});
const found = (className: string, classId: number, box: readonly number[], score: number): Detection => {
  const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = box;
  return { box: { x1, y1, x2, y2 }, className, classId, score, rawScore: score };
};
const size = { width: 200, height: 100 };

describe('classes by name', () => {
  it('pairs equal names whatever their order', () => {
    expect(matchClasses(['car', 'bus'], ['bus', 'car'])).toEqual({
      classNames: ['car', 'bus'],
      truthIds: [0, 1],
      modelIds: [1, 0],
      comparable: [0, 1],
    });
  });

  it('refuses other names, showing both lists', () => {
    expect(() => matchClasses(['car', 'bus'], ['car', 'truck'])).toThrow(DataError);
    expect(() => matchClasses(['car', 'bus'], ['car', 'truck'])).toThrow(/car, truck.*car, bus/);
    expect(() =>
      matchClasses(
        ['a'],
        Array.from({ length: 80 }, (_, id) => `c${id}`),
      ),
    ).toThrow(/and 68 more/);
  });

  it('maps the classes of a host, and leaves out of the mean what it cannot name', () => {
    const map = { car: 'car', truck: 'lorry_truck', motorcycle: 'bike', bus: 'bus' };
    const host = ['person', 'car', 'motorcycle', 'bus', 'truck'];
    const matching = matchClasses(['car', 'lorry_truck', 'van', 'bike', 'bus'], host, { classMap: map });
    expect(matching.modelIds).toEqual([-1, 0, 3, 4, 1]);
    expect(matching.comparable).toEqual([0, 1, 3, 4]);
  });

  it('counts all as one class, of the host those that the map names', () => {
    const matching = matchClasses(['car', 'van'], ['person', 'car', 'bus'], {
      singleClass: true,
      classMap: { car: 'car', bus: 'van' },
    });
    expect(matching).toMatchObject({ classNames: ['object'], truthIds: [0, 0], modelIds: [-1, 0, 0] });
    expect(matchClasses(['car'], ['x', 'y'], { singleClass: true }).modelIds).toEqual([0, 0]);
  });

  it('refuses a map with a name that is not there, suggesting one', () => {
    const map = (classMap: Record<string, string>) => () =>
      matchClasses(['car'], ['car', 'truck'], { classMap });
    expect(map({ trucks: 'car' })).toThrow(ConfigError);
    expect(map({ truck: 'cars' })).toThrow(/"cars", but the data set has car/);
  });
});

describe('a report on given predictions', () => {
  const split = {
    classNames: ['car', 'van'],
    pictures: [
      picture(1, [object(0, [0, 0, 0.5, 1]), object(1, [0.5, 0, 1, 1], { difficult: true })]),
      picture(2, [object(1, [0.1, 0.1, 0.6, 0.9])]),
      picture(3, []),
    ],
  };
  const perfect: Predictions = {
    classNames: ['van', 'car'],
    pictures: [
      {
        size,
        detections: [found('car', 1, [0, 0, 100, 100], 0.9), found('van', 0, [100, 0, 200, 100], 0.8)],
      },
      { size, detections: [found('van', 0, [20, 10, 120, 90], 0.7)] },
      { size, detections: [] },
    ],
  };

  it('is plain data, perfect for perfect boxes, and leaves difficult objects out', () => {
    const report = evaluatePredictions(split, perfect);
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
    expect(report).toMatchObject({
      pictures: 3,
      objects: 2,
      detections: 3,
      classNames: ['car', 'van'],
      variance: null,
    });
    expect(report.averagePrecision.ap).toBeCloseTo(1, 12);
    expect(report.averagePrecision.bestF1).toMatchObject({ precision: 1, recall: 1 });
    // .9 and .7 where 1 is right.
    expect(report.calibration.quality.laEce.mean).toBeCloseTo(0.2, 12);
    expect(report.calibration.quality.signed).toBeCloseTo(-0.2, 12);
    expect(report.calibration.dEce.measured?.count).toBe(2);
  });

  it('counts a false alarm on a background picture', () => {
    const [first, second] = perfect.pictures;
    const alarm = { size, detections: [found('car', 1, [0, 0, 50, 50], 0.99)] };
    const report = evaluatePredictions(split, { ...perfect, pictures: [first!, second!, alarm] });
    expect(report.averagePrecision.perClass[0]!.ap50).toBeCloseTo(0.5, 9);
  });

  it('takes the area that the file states, and crowds as regions', () => {
    const objects = [
      object(0, [0, 0, 0.1, 0.1], { areaPx: 5000 }),
      object(0, [0.5, 0, 1, 1], { crowd: true }),
    ];
    const { truth } = evaluationTables(
      { classNames: ['car'], pictures: [picture(1, objects)] },
      {
        classNames: ['car'],
        pictures: [{ size, detections: [] }],
      },
    );
    expect([...truth.areas]).toEqual([5000, 10_000]);
    expect([...truth.kinds]).toEqual([0, 1]);
    expect([...truth.boxes.subarray(4)]).toEqual([100, 0, 200, 100]);
  });

  it('takes means over the classes asked for, and refuses unknown ones', () => {
    const missing = { ...perfect, pictures: perfect.pictures.map((one) => ({ ...one, detections: [] })) };
    const half = { ...missing, pictures: [perfect.pictures[0]!, ...missing.pictures.slice(1)] };
    expect(evaluatePredictions(split, half).averagePrecision.ap50).toBeCloseTo(0.5, 9);
    expect(evaluatePredictions(split, half, { meanOver: ['car'] }).averagePrecision.ap50).toBeCloseTo(1, 9);
    expect(() => evaluatePredictions(split, half, { meanOver: ['cat'] })).toThrow(/"cat".*car, van/);
  });

  it('refuses a split with pictures that were not predicted', () => {
    const fewer = { ...perfect, pictures: perfect.pictures.slice(0, 2) };
    expect(() => evaluatePredictions(split, fewer)).toThrow(/3\.png: a prediction is missing/);
  });

  it('refuses detections of which only some state a variance', () => {
    const [first, ...rest] = perfect.pictures;
    const mixed = [
      {
        size,
        detections: first!.detections.map((one, place) =>
          place === 0 ? { ...one, scoreVariance: 0.1 } : one,
        ),
      },
      ...rest,
    ];
    expect(() => evaluatePredictions(split, { ...perfect, pictures: mixed })).toThrow(/1 of 3 detections/);
  });
});

describe('a model over pictures', () => {
  let folder: string;
  let model: string;
  let pictures: LabelledPicture[];

  /** White rectangles that move to the right from picture to picture: x 32 i to 32 i + 64. */
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'edge-detect-evaluate-'));
    model = join(folder, 'stand-in.onnx');
    await writeFile(model, serialize(standInDetector({ width: 320, height: 192 })));
    pictures = await Promise.all(
      Array.from({ length: 7 }, async (_, place) => {
        const [width, height, left] = [320, 192, 32 * place];
        const rgb = new Uint8Array(width * height * 3);
        for (let y = 64; y < 128; y++) rgb.fill(255, (y * width + left) * 3, (y * width + left + 64) * 3);
        const path = join(folder, `${place}.png`);
        await writeFile(path, await encodePicture(rgb, { width, height }, 'png'));
        const corners = [left / width, 64 / height, (left + 64) / width, 128 / height];
        return { path, id: place, objects: [object(0, corners)] };
      }),
    );
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it('finds every object, in the order of the pictures, two sessions side by side', async () => {
    const done: number[] = [];
    const predictions = await predictDataset(model, pictures, { onPicture: (count) => done.push(count) });
    expect(done).toEqual([1, 2, 3, 4, 5, 6, 7]);
    for (const [place, { detections, size: px }] of predictions.pictures.entries()) {
      expect(px).toEqual({ width: 320, height: 192 });
      expect(Math.abs(detections[0]!.box.x1 - 32 * place)).toBeLessThanOrEqual(1);
    }
    const report = evaluatePredictions({ classNames: ['white'], pictures }, predictions);
    expect(report.averagePrecision).toMatchObject({
      ap75: expect.closeTo(1, 9),
      arMax: expect.closeTo(1, 1),
    });
  });

  it('reports only the classes asked for, and refuses one that the model lacks', async () => {
    await expect(predictDataset(model, pictures, { classes: ['whit'] })).rejects.toMatchObject({
      name: 'ConfigError',
      hint: 'did you mean "white"?',
    });
  });

  it('names a picture that cannot be read, and stops at a signal', async () => {
    const broken = [...pictures.slice(0, 1), { path: join(folder, 'absent.png') }, ...pictures.slice(1)];
    await expect(predictDataset(model, broken)).rejects.toThrow(/absent\.png/);
    const stopped = AbortSignal.abort(new Error('enough'));
    await expect(predictDataset(model, pictures, { signal: stopped })).rejects.toThrow('enough');
  });

  it('leaves nothing under way when the reader stops early', async () => {
    const detector = await openDetector(model, { sessions: 2 });
    for await (const { detections } of predictPictures(detector, pictures)) {
      expect(detections).toHaveLength(1);
      break;
    }
    await detector.close();
  });
});
