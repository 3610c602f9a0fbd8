// Our head on real hosts: boxes of our tail are the host's own, and every freeze level computes the same.
import { beforeAll, describe, expect, it } from 'vitest';
import type { FreezeLevel } from '#onnx';
import { assembleDetector, reheadHost } from '#onnx';
import { testData } from '../../support/test-data.ts';
import type { Host } from './hosts.ts';
import { hostBoxes, largestDifference, openHost, pictureFeed, rawOutputs } from './hosts.ts';
import { type Feed, runGraph } from './run-graph.ts';

interface Expected {
  readonly boxCode: string;
  readonly locations: number;
  readonly cuts: Readonly<Partial<Record<'towers' | 'neck' | 'backbone', readonly string[]>>>;
  /** Freeze levels that are refused, with what the message names. */
  readonly refused: Readonly<Partial<Record<FreezeLevel, RegExp>>>;
}

const HOSTS: Readonly<Record<string, Expected>> = {
  yolox_nano: {
    boxCode: 'yolox',
    locations: 1,
    cuts: {
      towers: ['1044', '1061', '1086', '1103', '1128', '1145'],
      neck: ['956', '990', '1024'],
    },
    refused: {},
  },
  yolox_person_192: { boxCode: 'yolox', locations: 1, cuts: {}, refused: {} },
  nanodet_m_320: {
    boxCode: 'dfl',
    locations: 1,
    cuts: { towers: ['885', '907', '929'], neck: ['861', '867', '873'], backbone: ['849', '848', '847'] },
    refused: { backbone: /Resize.*mode linear/, none: /Resize.*mode linear/ },
  },
  yolov5n_fp16: { boxCode: 'anchors', locations: 3, cuts: {}, refused: {} },
  yolov8n_640_int8dyn: {
    boxCode: 'dfl',
    locations: 1,
    cuts: {
      neck: [
        '/model.15/cv2/act/Mul_output_0',
        '/model.18/cv2/act/Mul_output_0',
        '/model.21/cv2/act/Mul_output_0',
      ],
    },
    refused: {},
  },
  yolo11n_320_int8dyn: { boxCode: 'dfl', locations: 1, cuts: {}, refused: { none: /MatMul/ } },
  yolo26n_640_int8dyn_end2end: {
    boxCode: 'distance',
    locations: 1,
    cuts: {},
    refused: { backbone: /model\.22.*MatMul/, none: /MatMul/ },
  },
};

const PICTURE = testData('images/bus.jpg');

for (const [name, expected] of Object.entries(HOSTS)) {
  const path = testData(`models/${name}.onnx`);
  describe.skipIf(path === undefined || PICTURE === undefined)(
    `our head on ${name} (needs the shared models)`,
    () => {
      let host: Host;
      let feed: Feed;
      beforeAll(async () => {
        host = await openHost(path ?? '');
        feed = await pictureFeed(PICTURE ?? '', host);
      }, 60_000);
      const rehead = (freeze: FreezeLevel) =>
        reheadHost(host.model, {
          classNames: ['car', 'lorry', 'bus'],
          preprocess: host.preprocess,
          freeze,
          seed: 3,
        });

      it('gives the boxes of the host', async () => {
        const headed = rehead('towers');
        const wire = await runGraph(assembleDetector(headed, new Map()), { [headed.pictureInput]: feed });
        const own = await hostBoxes(host, feed);
        expect(own.anchors.length).toBeGreaterThan(5);
        const boxes = wire.get('boxes')!.data;
        const variances = wire.get('box_var')?.data;
        let largest = 0;
        let largestVariance = 0;
        own.anchors.forEach((anchor, place) => {
          const row = own.boxes.subarray(4 * place, 4 * place + 4);
          const ours =
            host.layout.kind === 'end-to-end'
              ? nearestRow(boxes, row)
              : boxes.subarray(4 * anchor, 4 * anchor + 4);
          largest = Math.max(largest, largestDifference(row, ours));
          if (own.boxVariances && variances) {
            const theirs = own.boxVariances.subarray(4 * place, 4 * place + 4);
            const difference = largestDifference(theirs, variances.subarray(4 * anchor, 4 * anchor + 4));
            largestVariance = Math.max(largestVariance, difference / (1 + Math.max(...theirs)));
          }
        });
        expect(largest).toBeLessThan(0.01);
        expect(largestVariance).toBeLessThan(1e-3);
        expect(variances !== undefined).toBe(expected.boxCode === 'dfl');
      });

      it('cuts where the parts of the detector meet', () => {
        const { spec, cuts } = rehead('towers');
        expect(spec).toMatchObject({ boxCode: { kind: expected.boxCode }, locations: expected.locations });
        expect(spec.levels.map(({ stride }) => stride)).toEqual([8, 16, 32]);
        expect(cuts).toMatchObject(expected.cuts);
      });

      it('computes the same at every freeze level, and refuses what has no gradient', async () => {
        const reference = (await rawOutputs(rehead('towers'), feed)).raw;
        for (const freeze of ['neck', 'backbone', 'none'] as const) {
          const refused = expected.refused[freeze];
          if (refused) {
            expect(() => rehead(freeze)).toThrow(refused);
            continue;
          }
          const headed = rehead(freeze);
          const { raw } = await rawOutputs(headed, feed);
          for (const [output, tensor] of reference) {
            expect(raw.get(output)?.shape).toEqual(tensor.shape);
            expect(largestDifference(raw.get(output)!.data, tensor.data)).toBeLessThan(1e-3);
          }
        }
      }, 60_000);
    },
  );
}

function nearestRow(boxes: Float32Array, row: Float32Array): Float32Array {
  let nearest = boxes.subarray(0, 4);
  for (let at = 0; at < boxes.length; at += 4) {
    const other = boxes.subarray(at, at + 4);
    if (largestDifference(row, other) < largestDifference(row, nearest)) nearest = other;
  }
  return nearest;
}
