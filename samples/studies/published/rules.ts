// The published threshold and suppression beside plain ones, run as `stream` would run them.
import { openDetector, type SuppressionPolicy, type ThresholdPolicy } from 'edge-detect';
import {
  type DetectionTable,
  evaluateDetections,
  HARD_SUPPRESSION,
  matchDetections,
  PUBLISHED_THRESHOLD,
  type TruthTable,
  UNCERTAINTY_SUPPRESSION,
} from 'edge-detect/core';
import { type PicturePrediction, predictPictures } from 'edge-detect/evaluate';
import { heldOutTables } from '../common/cross-fit.ts';
import type { HeldOut } from '../common/hold-out.ts';
import type { Figures } from '../common/summary.ts';
import type { Column } from '../common/table.ts';

/** The published base, and one where a score that means a quality still keeps boxes. */
export const RULE_BASES = [0.5, 0.25] as const;

/** AP needs the tail. */
const NO_THRESHOLD: ThresholdPolicy = { kind: 'fixed', base: 0.001 };

export function ruleColumns(base: number): readonly Column[] {
  return [
    { figure: `rule ${base} kept`, title: 'boxes kept', digits: 0 },
    { figure: `rule ${base} exchanged`, title: 'of them, not kept by fixed', digits: 1 },
    { figure: `rule ${base} precision`, title: 'precision' },
    { figure: `rule ${base} recall`, title: 'recall' },
    { figure: `rule ${base} precision gain`, title: 'difference in precision', digits: 4 },
    { figure: `rule ${base} recall gain`, title: 'in recall', digits: 4 },
    { figure: `both ${base} recall gain`, title: 'in recall, with the NMS', digits: 4 },
  ];
}

export const SUPPRESSION_COLUMNS: readonly Column[] = [
  { figure: 'suppression ap50 gain', title: 'in AP50', digits: 4 },
  { figure: 'suppression ap gain', title: 'in AP', digits: 4 },
];

/** @param modelPath the trained detector; it runs over the held-out pictures once per rule */
export async function ruleFigures(
  modelPath: string,
  heldOut: HeldOut,
  signal: AbortSignal,
): Promise<Figures> {
  const run = (threshold: ThresholdPolicy, suppression: SuppressionPolicy) =>
    detectAll(modelPath, heldOut, { threshold, suppression }, signal);
  const plain = await run(NO_THRESHOLD, HARD_SUPPRESSION);
  const ordered = await run(NO_THRESHOLD, UNCERTAINTY_SUPPRESSION);
  const [before, after] = [plain, ordered].map((tables) => precisionOf(tables, heldOut));
  const figures: Record<string, number | null> = {
    'suppression ap50 gain': difference(after?.ap50, before?.ap50),
    'suppression ap gain': difference(after?.ap, before?.ap),
  };
  for (const base of RULE_BASES) {
    const rule: ThresholdPolicy = { ...PUBLISHED_THRESHOLD, base };
    const ruled = await run(rule, HARD_SUPPRESSION);
    const both = await run(rule, UNCERTAINTY_SUPPRESSION);
    Object.assign(figures, againstFixed(`rule ${base}`, ruled, plain, heldOut));
    Object.assign(figures, againstFixed(`both ${base}`, both, plain, heldOut));
  }
  return figures;
}

interface Tables {
  readonly truth: TruthTable;
  readonly detections: DetectionTable;
}

async function detectAll(
  modelPath: string,
  heldOut: HeldOut,
  policies: { readonly threshold: ThresholdPolicy; readonly suppression: SuppressionPolicy },
  signal: AbortSignal,
): Promise<Tables> {
  const detector = await openDetector(modelPath, { ...policies, iou: 0.7, maxDet: 300, sessions: 2 });
  try {
    const pictures: PicturePrediction[] = [];
    for await (const prediction of predictPictures(detector, heldOut.pictures, signal))
      pictures.push(prediction);
    return heldOutTables(heldOut, { classNames: detector.classNames, pictures });
  } finally {
    await detector.close();
  }
}

function precisionOf({ truth, detections }: Tables, { classNames }: HeldOut) {
  return evaluateDetections(truth, detections, { classCount: classNames.length, maxDets: 100 });
}

/**
 * A fixed threshold only cuts the list that plain suppression leaves: what it keeps is the head of that list, and one
 * list serves every threshold.
 */
function againstFixed(name: string, ruled: Tables, plain: Tables, heldOut: HeldOut): Figures {
  const kept = ruled.detections.scores.length;
  const fixed = { truth: plain.truth, detections: bestOf(plain.detections, kept) };
  const [byRule, byScore] = [ruled, fixed].map((tables) => hitsOf(tables, heldOut.classNames.length));
  const objects = plain.truth.kinds.length;
  const per = (count: number | undefined, whole: number) => (whole === 0 ? null : (count ?? 0) / whole);
  return {
    [`${name} kept`]: kept,
    [`${name} exchanged`]: kept - sharedBoxes(ruled.detections, fixed.detections),
    [`${name} precision`]: per(byRule, kept),
    [`${name} recall`]: per(byRule, objects),
    [`${name} precision gain`]: per((byRule ?? 0) - (byScore ?? 0), kept),
    [`${name} recall gain`]: per((byRule ?? 0) - (byScore ?? 0), objects),
  };
}

/** Objects found with IoU of .5 or more. */
function hitsOf({ truth, detections }: Tables, classCount: number): number {
  const { objects } = matchDetections(truth, detections, { classCount, iou: 0.5, maxDets: 300 });
  return objects.reduce((sum, object) => sum + (object >= 0 ? 1 : 0), 0);
}

/** The `count` highest scores, in the order of the table. */
function bestOf(detections: DetectionTable, count: number): DetectionTable {
  const { scores, starts, classIds, boxes } = detections;
  const rows = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]! || a - b).slice(0, count);
  rows.sort((a, b) => a - b);
  const below = (limit: number) => rows.filter((row) => row < limit).length;
  return {
    starts: starts.map(below),
    classIds: Int32Array.from(rows, (row) => classIds[row]!),
    scores: Float64Array.from(rows, (row) => scores[row]!),
    boxes: Float64Array.from(rows.flatMap((row) => [...boxes.subarray(4 * row, 4 * row + 4)])),
  };
}

/** Boxes that both tables have, picture by picture. */
function sharedBoxes(a: DetectionTable, b: DetectionTable): number {
  const keys = ({ starts, boxes, classIds }: DetectionTable, picture: number) => {
    const [from, to] = [starts[picture]!, starts[picture + 1]!];
    return Array.from({ length: to - from }, (_, place) =>
      [classIds[from + place], ...boxes.subarray(4 * (from + place), 4 * (from + place) + 4)].join(' '),
    );
  };
  let shared = 0;
  for (let picture = 0; picture + 1 < a.starts.length; picture++) {
    const known = new Set(keys(b, picture));
    shared += keys(a, picture).filter((key) => known.has(key)).length;
  }
  return shared;
}

function difference(a: number | null | undefined, b: number | null | undefined): number | null {
  return a == null || b == null ? null : a - b;
}
