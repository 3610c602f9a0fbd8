// Every box that the network proposes, once; suppression is then tried on them again and again.
import { type Detection, openDetector, type SuppressionPolicy } from 'edge-detect';
import { type Candidates, createSuppressor, HARD_SUPPRESSION } from 'edge-detect/core';
import { type PicturePrediction, type Predictions, predictPictures } from 'edge-detect/evaluate';
import type { PolicySetting, SlicedData } from './setting.ts';

/** AP needs the tail. */
const LEAST_SCORE = 0.001;
const MOST_BOXES = 30_000;

/** What no box suppresses: an overlap above 1. */
const NO_SUPPRESSION = { suppression: HARD_SUPPRESSION, iou: 1, maxDet: MOST_BOXES } as const;

/** Boxes are cut at the edge of the picture before they meet, which a detector does after; nothing else differs. */
export async function proposeAll(
  { model, classMap, threads }: Pick<PolicySetting, 'classMap' | 'threads'> & { readonly model: string },
  { pictures }: Pick<SlicedData, 'pictures'>,
  onPicture: (done: number) => void,
): Promise<Predictions> {
  const detector = await openDetector(
    model,
    {
      ...NO_SUPPRESSION,
      threads,
      calibrator: 'off',
      threshold: { kind: 'fixed', base: LEAST_SCORE },
      scoreLaws: true,
    },
    ({ classNames }) =>
      classMap === undefined
        ? {}
        : { classes: [...classNames.keys()].filter((id) => Object.hasOwn(classMap, classNames[id] ?? '')) },
  );
  try {
    const proposed: PicturePrediction[] = [];
    for await (const prediction of predictPictures(detector, pictures)) {
      proposed.push(prediction);
      onPicture(proposed.length);
    }
    return { classNames: detector.classNames, pictures: proposed };
  } finally {
    await detector.close();
  }
}

/** What a policy leaves of the proposals: at most 300 a picture, as a detector reports them. */
export function suppressAll(proposed: Predictions, policy: SuppressionPolicy, iou: number): Predictions {
  const suppressor = createSuppressor({
    policy,
    iou,
    agnostic: false,
    maxDet: 300,
    maxCandidates: MOST_BOXES,
  });
  const pictures = proposed.pictures.map(({ detections, size }) => {
    const candidates = candidatesOf(detections);
    const places = Int32Array.from(detections.keys());
    const kept = suppressor.suppress(candidates, places, places.length);
    const left = Array.from({ length: kept.count }, (_, slot): Detection => {
      const detection = detections[kept.places[slot]!]!;
      const box = kept.boxes === undefined ? detection.box : boxAt(kept.boxes, slot);
      return { ...detection, box, score: kept.scores[slot]! };
    });
    return { size, detections: left };
  });
  return { classNames: proposed.classNames, pictures };
}

function boxAt(rows: Float32Array, slot: number): Detection['box'] {
  const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = rows.subarray(4 * slot, 4 * slot + 4);
  return { x1, y1, x2, y2 };
}

function candidatesOf(detections: readonly Detection[]): Candidates {
  const first = detections[0];
  const sides = (of: (detection: Detection) => Detection['box']) =>
    Float32Array.from(
      detections.flatMap((detection) => {
        const { x1, y1, x2, y2 } = of(detection);
        return [x1, y1, x2, y2];
      }),
    );
  return {
    count: detections.length,
    boxes: sides(({ box }) => box),
    scores: Float32Array.from(detections, ({ score }) => score),
    classIds: Int32Array.from(detections, ({ classId }) => classId),
    anchors: Int32Array.from(detections.keys()),
    ...(first?.scoreVariance !== undefined && {
      scoreVariances: Float32Array.from(detections, ({ scoreVariance = 0 }) => scoreVariance),
    }),
    ...(first?.boxVariance !== undefined && {
      boxVariances: sides(
        ({ boxVariance = { x1: 0, y1: 0, x2: 0, y2: 0 } }) => boxVariance as Detection['box'],
      ),
    }),
  };
}
