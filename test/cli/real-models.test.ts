// Every real model, through the built command line, with no flags beyond model and source.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Box, iou } from '#core';
import { jsonLines, runCli } from '../support/cli.ts';
import { testData } from '../support/test-data.ts';

type Corners = readonly [number, number, number, number];
type Wanted = readonly [name: string, score: number, box?: Corners];

interface Golden {
  readonly cases: readonly {
    readonly model: string;
    readonly image: string;
    readonly boxVariance?: boolean;
    readonly find: readonly Wanted[];
  }[];
  readonly sigma: Readonly<Record<string, readonly number[]>>;
}

interface Found {
  readonly name: string;
  readonly confidence: number;
  readonly box: Box<'frame'>;
  readonly box_var?: Box<'frame'>;
}

const golden = JSON.parse(
  readFileSync(new URL('../golden/real-models.json', import.meta.url), 'utf8'),
) as Golden;

async function detect(model: string, image: string): Promise<readonly Found[]> {
  const words = [
    'predict',
    `model=${testData(`models/${model}.onnx`)}`,
    `source=${testData(`images/${image}`)}`,
  ];
  const { code, stdout, stderr } = await runCli([...words, 'json=true', 'save=False']);
  expect(stderr).not.toMatch(/error|warning/i);
  expect(code).toBe(0);
  return jsonLines<{ detections: Found[] }>(stdout)[0]?.detections ?? [];
}

/** The found box that answers a wanted one: by its place where that is listed, else the next of its class by score. */
function takeMatch(left: Found[], [name, score, box]: Wanted): Found | undefined {
  const wanted = box && { x1: box[0], y1: box[1], x2: box[2], y2: box[3] };
  const fits = (found: Found) =>
    found.name === name &&
    Math.abs(found.confidence - score) <= 0.05 &&
    (!wanted || iou(found.box, wanted) >= 0.9);
  const index = left.findIndex(fits);
  return index < 0 ? undefined : left.splice(index, 1)[0];
}

describe('real models through the command line', () => {
  for (const { model, image, find, boxVariance = false } of golden.cases) {
    const absent =
      testData(`models/${model}.onnx`) === undefined || testData(`images/${image}`) === undefined;
    it.skipIf(absent)(
      `${model} on ${image} gives what is listed (skipped without the test data)`,
      async () => {
        const left = [...(await detect(model, image))];
        expect(left.every((found) => (found.box_var !== undefined) === boxVariance)).toBe(true);
        const missing = find.filter((wanted) => takeMatch(left, wanted) === undefined);
        expect(missing, `found besides: ${JSON.stringify(left)}`).toEqual([]);
      },
    );
  }

  const yolov8 = 'yolov8n_640_int8dyn';
  it.skipIf(testData(`models/${yolov8}.onnx`) === undefined)(
    'tells the sigma of every edge of a stock YOLOv8 (skipped without the test data)',
    async () => {
      const found = await detect(yolov8, 'darknet_dog.jpg');
      for (const name of ['dog', 'bicycle', 'car']) {
        const variance = found.find((detection) => detection.name === name)?.box_var;
        const sigma = [variance?.x1, variance?.y1, variance?.x2, variance?.y2].map((value) =>
          Math.sqrt(value ?? Number.NaN),
        );
        for (const [side, wanted] of (golden.sigma[name] ?? []).entries()) {
          expect(Math.abs((sigma[side] ?? Number.NaN) - wanted)).toBeLessThan(0.3);
        }
      }
    },
  );
});
