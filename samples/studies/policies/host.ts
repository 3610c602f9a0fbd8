// One host: what it proposes, and what every suppression and threshold makes of it, in all light and in each.
import type { SuppressionPolicy } from 'edge-detect';
import {
  BOX_UNCERTAINTY_SUPPRESSION,
  FUSION_SUPPRESSION,
  HARD_SUPPRESSION,
  SOFT_SUPPRESSION,
  UNCERTAINTY_SUPPRESSION,
  VOTE_SUPPRESSION,
} from 'edge-detect/core';
import type { Predictions } from 'edge-detect/evaluate';
import { say } from '../common/output.ts';
import type { StudyData } from '../common/study-data.ts';
import { proposeAll, suppressAll } from './boxes.ts';
import {
  apFigures,
  type Comparison,
  compareFound,
  found,
  highest,
  judge,
  placesBySlice,
  total,
} from './measure.ts';
import { type ChoiceSetting, loadSliced, type SlicedData } from './setting.ts';
import { fittedChoices, ruleChoices } from './thresholds.ts';

/** The suppression that all others are compared with. */
export const PLAIN = 'hard';

export interface SuppressionRow {
  readonly policy: string;
  /** `all`, or a light. */
  readonly slice: string;
  readonly ap: ReturnType<typeof apFigures>;
  /** What is found with as many boxes as plain suppression keeps. */
  readonly equal: Comparison;
  /** The same at IoU .75, where moved boxes show. */
  readonly equalStrict: Comparison;
}

export interface ThresholdRow {
  readonly policy: string;
  readonly slice: string;
  /** Against the fixed threshold that keeps as many boxes over all lights. */
  readonly equal: Comparison;
}

export interface HostResult {
  readonly host: string;
  readonly pictures: number;
  readonly suppressions: readonly SuppressionRow[];
  readonly thresholds: readonly ThresholdRow[];
}

export async function measureHost(
  { name, host = name, data: folder, model }: StudyData,
  setting: ChoiceSetting,
  signal: AbortSignal,
): Promise<HostResult> {
  const data = await loadSliced(folder);
  const proposed = await proposeWithProgress({ ...setting, model }, data, signal);
  return {
    host,
    pictures: data.pictures.length,
    suppressions: suppressionRows(proposed, data, setting),
    thresholds: thresholdRows(proposed, data, setting),
  };
}

/** @throws the reason of `signal` */
export function proposeWithProgress(
  setting: Parameters<typeof proposeAll>[0],
  data: SlicedData,
  signal: AbortSignal,
): Promise<Predictions> {
  const whole = data.pictures.length;
  return proposeAll(setting, data, (done) => {
    signal.throwIfAborted();
    if (done % 50 === 0 || done === whole) say(`${done} of ${whole} pictures`);
  });
}

function suppressionsFor({ pictures }: Predictions): readonly (readonly [string, SuppressionPolicy])[] {
  const first = pictures.flatMap(({ detections }) => detections)[0];
  return [
    ['soft', SOFT_SUPPRESSION],
    ['wbf', FUSION_SUPPRESSION],
    ['wbf, mean score', { kind: 'wbf', score: 'mean' }],
    ...(first?.scoreVariance === undefined ? [] : [['uncertainty', UNCERTAINTY_SUPPRESSION] as const]),
    ...(first?.boxVariance === undefined
      ? []
      : [['box-uncertainty', BOX_UNCERTAINTY_SUPPRESSION] as const, ['vote', VOTE_SUPPRESSION] as const]),
  ];
}

function suppressionRows(proposed: Predictions, data: SlicedData, setting: ChoiceSetting): SuppressionRow[] {
  const plain = judge(data, suppressAll(proposed, HARD_SUPPRESSION, setting.iou), setting);
  const above = (row: number) => plain.detections.scores[row]! > setting.conf;
  const [loose, strict] = [found(plain, above, 0.5), found(plain, above, 0.75)];
  return [[PLAIN, HARD_SUPPRESSION] as const, ...suppressionsFor(proposed)].flatMap(([name, policy]) => {
    say(`suppression ${name}`);
    const judged = judge(data, suppressAll(proposed, policy, setting.iou), setting);
    const keeps = highest(judged, total(loose.kept));
    const own = [found(judged, keeps, 0.5), found(judged, keeps, 0.75)] as const;
    return [...placesBySlice(data.slices)].map(([slice, places]) => ({
      policy: name,
      slice,
      ap: apFigures(judged, plain, places),
      equal: compareFound(own[0], loose, places),
      equalStrict: compareFound(own[1], strict, places),
    }));
  });
}

function thresholdRows(proposed: Predictions, data: SlicedData, setting: ChoiceSetting): ThresholdRow[] {
  const predictions = suppressAll(proposed, HARD_SUPPRESSION, setting.iou);
  const plain = judge(data, predictions, setting);
  const named = ({ className }: { readonly className: string }) =>
    setting.classMap === undefined || Object.hasOwn(setting.classMap, className);
  const kept = predictions.pictures.flatMap(({ detections }) => detections.filter(named));
  const choices = [
    ...ruleChoices(plain, kept, setting.conf),
    ...fittedChoices(plain, data, predictions, setting),
  ];
  return choices.flatMap(({ name, keeps }) => {
    const own = found(plain, keeps, 0.5);
    const fixed = found(plain, highest(plain, total(own.kept)), 0.5);
    return [...placesBySlice(data.slices)].map(([slice, places]) => ({
      policy: name,
      slice,
      equal: compareFound(own, fixed, places),
    }));
  });
}
