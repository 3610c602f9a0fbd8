// COCO's JSON of ground truth and results as the tables that the evaluation kernel reads.
import type { DetectionTable, TruthTable } from '#core';
import { TRUTH_KIND } from '#core';

interface CocoAnnotation {
  readonly image_id: number;
  readonly category_id: number;
  readonly bbox: readonly number[];
}

export interface CocoSet {
  readonly images: readonly number[];
  readonly categories: readonly number[];
  readonly annotations: readonly (CocoAnnotation & { readonly area: number; readonly iscrowd?: number })[];
  readonly detections: readonly (CocoAnnotation & { readonly score: number })[];
}

/** Pictures and classes by rising id, as pycocotools orders them. */
export function cocoTables(set: CocoSet): {
  truth: TruthTable;
  detections: DetectionTable;
  classCount: number;
} {
  const categories = [...set.categories].sort((a, b) => a - b);
  const images = [...set.images].sort((a, b) => a - b);
  const truth = byPicture(set.annotations, images);
  const found = byPicture(set.detections, images);
  const geometry = (rows: readonly CocoAnnotation[]) => ({
    boxes: Float64Array.from(rows.flatMap(({ bbox: [x, y, w, h] }) => [x!, y!, x! + w!, y! + h!])),
    classIds: Int32Array.from(rows, ({ category_id: id }) => categories.indexOf(id)),
  });
  return {
    classCount: categories.length,
    truth: {
      starts: truth.starts,
      ...geometry(truth.rows),
      areas: Float64Array.from(truth.rows, ({ area }) => area),
      kinds: Uint8Array.from(truth.rows, ({ iscrowd }) =>
        iscrowd === 1 ? TRUTH_KIND.crowd : TRUTH_KIND.object,
      ),
    },
    detections: {
      starts: found.starts,
      ...geometry(found.rows),
      scores: Float64Array.from(found.rows, ({ score }) => score),
    },
  };
}

function byPicture<Row extends CocoAnnotation>(rows: readonly Row[], images: readonly number[]) {
  const grouped = images.map((image) => rows.filter(({ image_id: id }) => id === image));
  const starts = new Int32Array(images.length + 1);
  for (const [place, group] of grouped.entries()) starts[place + 1] = starts[place]! + group.length;
  return { rows: grouped.flat(), starts };
}
