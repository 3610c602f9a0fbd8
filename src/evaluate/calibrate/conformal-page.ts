// Conformal thresholds as a section of the page of a calibration.
import { describeGuarantee } from '#core';
import type { ReportSection } from '#report';
import type { ModelCalibration } from './calibrate-model.ts';
import type { ConformalStudy, ConformalVerdict } from './conformal-study.ts';

/** No section where no conformal thresholds were asked for. */
export function conformalSections({
  conformal,
  stored,
  folds,
}: Pick<ModelCalibration, 'conformal' | 'stored' | 'folds'>): ReportSection[] {
  if (conformal === undefined) return [];
  const { target, alpha, delta, iou } = conformal;
  const promise = describeGuarantee({ target, alpha, iou, ...(delta === undefined ? {} : { delta }) });
  const text = `A threshold of this table ${promise}: ${stored.data.description}. It is on the scale of the calibrated score. "Held out" is what thresholds that were chosen on the other parts kept: ${folds.description.replace('maps', 'thresholds').replace('fitted', 'chosen')}. "General" is what thresholds chosen on all conditions keep in one. Promises are for pictures drawn as these were; other cameras are not.`;
  return [
    {
      title: 'Conformal thresholds',
      blocks: [{ kind: 'text', text }, table(conformal), ...conformal.remarks.map(remark)],
    },
  ];
}

function remarkOf({ why, heldOut: { parts, partsWithout } }: ConformalVerdict): string {
  if (why !== undefined) return `no promise: ${why}`;
  return partsWithout === 0 ? '' : `${partsWithout} of ${parts} parts held out without a promise`;
}

function remark(text: string) {
  return { kind: 'text', text: `Conditions: ${text}.` } as const;
}

function table({ verdicts, alpha, slices }: ConformalStudy) {
  const condition = (verdict: ConformalVerdict) => (slices.length === 0 ? [] : [verdict.slice ?? 'all']);
  return {
    kind: 'table',
    caption: `Thresholds for a share of ${Number((1 - alpha).toFixed(6))}`,
    columns: [
      ...(slices.length === 0 ? [] : [{ label: 'Condition' }]),
      { label: 'Class' },
      { label: 'Objects' },
      { label: 'Boxes' },
      { label: 'Threshold', digits: 4 },
      { label: 'raw', digits: 4 },
      { label: 'Held out', digits: 3 },
      { label: 'of' },
      ...(slices.length === 0 ? [] : [{ label: 'General', digits: 3 }]),
      { label: 'Remark' },
    ],
    rows: verdicts.map((verdict) => [
      ...condition(verdict),
      verdict.className ?? 'all',
      verdict.objects,
      verdict.boxes,
      verdict.threshold,
      verdict.rawThreshold,
      verdict.heldOut.achieved,
      verdict.heldOut.count,
      ...(slices.length === 0 ? [] : [verdict.general?.achieved ?? null]),
      remarkOf(verdict),
    ]),
  } as const;
}
