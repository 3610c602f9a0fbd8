// Models that are no detectors, or none known here, each refused by what it is.
import type { HeadKind } from '#core';
import { ModelError } from '#core';
import type { HeadFacts, HeadOutput, Proposal } from './facts.ts';
import { describeOutput } from './facts.ts';

const KNOWN: Readonly<Record<HeadKind, string>> = {
  yolov5: 'yolov5 [1, A, 5+C]',
  yolov8: 'yolov8 [1, 4+C, A] or [1, A, 4+C]',
  'end-to-end': 'end-to-end [1, K, 6]',
  'nms-outputs': 'nms-outputs (count, boxes, scores, classes)',
  yolox: 'yolox [1, A, 5+C] raw',
  gfl: 'gfl (NanoDet, PicoDet)',
  'raw-dfl': 'raw-dfl (maps of 4*bins and C channels)',
  fastestdet: 'fastestdet [1, 5+C, H, W]',
  corners: 'corners ([1, A, 4] and [1, A, C])',
  yunet: 'yunet (cls, obj, bbox per stride)',
  'edge-detect': 'edge-detect (boxes, quality)',
};

/** @throws ModelError for classifiers and rotated boxes */
export function refuseOtherTasks(facts: HeadFacts, batch: number): void {
  const { task } = facts.metadata;
  if (task === 'obb') {
    throw new ModelError('the model finds rotated boxes (task obb), which are not supported', {
      hint: 'use a model of task detect',
    });
  }
  const [only] = facts.outputs;
  const isVector = facts.outputs.length === 1 && only !== undefined && isClassVector(only, batch);
  if (task === 'classify' || isVector) {
    throw new ModelError(
      `this is a classifier, not a detector: its output is ${facts.outputs.map(describeOutput).join(', ')}`,
      { hint: 'use a detection model; a classifier gives no boxes' },
    );
  }
}

function isClassVector({ shape }: HeadOutput, batch: number): boolean {
  const [first, count = 0, ...rest] = shape;
  return (
    first === batch &&
    count > 1 &&
    (shape.length === 2 || (shape.length === 4 && rest.every((axis) => axis === 1)))
  );
}

/** @throws ModelError for YOLOv5 or YOLOv7 feature maps that nobody decoded */
export function refuseRawAnchorMaps(facts: HeadFacts): void {
  const { outputs, rows } = facts;
  const fiveAxes = outputs.filter(({ dims }) => dims.length === 4 && dims[0] === 3);
  const joined = facts.maps.filter(
    ({ dims: [channels = 0] }) => channels % 3 === 0 && hasClasses(facts, channels),
  );
  const raw = fiveAxes.length >= 2 ? fiveAxes : joined;
  if (rows.length > 0 || raw.length < 2 || raw.length !== outputs.length) return;
  throw new ModelError(
    `the model gives raw YOLOv5 feature maps, before decoding with its anchors: ${outputs.map(describeOutput).join(', ')}`,
    {
      hint: 'export it with decoding, so that it has one output [1, A, 5+C] (YOLOv5: export.py as it comes; YOLOv7: export.py --grid)',
    },
  );
}

function hasClasses({ classCount }: HeadFacts, channels: number): boolean {
  return classCount === undefined ? channels === 3 * (5 + 80) : channels === 3 * (5 + classCount);
}

export function nothingFits(facts: HeadFacts): ModelError {
  const forced = facts.forced
    ? `layout=${facts.forced} does not fit`
    : 'the outputs are of no layout known here';
  const names = facts.classCount === undefined ? '' : `, with ${facts.classCount} class names`;
  const { width, height } = facts.input;
  return new ModelError(
    `${forced}: ${facts.outputs.map(describeOutput).join(', ')} at an input of ${width}x${height}${names}`,
    { hint: `known layouts: ${Object.values(KNOWN).join('; ')}` },
  );
}

export function severalFit(facts: HeadFacts, proposals: readonly Proposal[]): ModelError {
  const kinds = [...new Set(proposals.map(({ layout }) => layout.kind))];
  const each = proposals.map(({ layout }) => `${layout.kind} with ${layout.classCount} classes`);
  return new ModelError(
    `the outputs ${facts.outputs.map(describeOutput).join(', ')} fit several layouts: ${each.join(', ')}`,
    {
      hint: `say which it is: ${kinds.map((kind) => `layout=${kind}`).join(' or ')}; class names (names=) may decide too`,
    },
  );
}
