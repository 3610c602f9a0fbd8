// What `calibrate conformal=` prints: thresholds, what they promise, and what they kept where they were not chosen.
import { describeGuarantee } from '#core';
import type { HeldOut, ModelCalibration } from '#evaluate';
import { fixed } from './number-text.ts';

export function conformalLines({ conformal, stored }: ModelCalibration): string[] {
  if (conformal === undefined) return [];
  const { target, alpha, delta, iou, verdicts, remarks } = conformal;
  const promise = describeGuarantee({ target, alpha, iou, ...(delta === undefined ? {} : { delta }) });
  return [
    '',
    `each threshold ${promise} (${stored.data.description})`,
    ...remarks.map((remark) => `conditions: ${remark}`),
    row('Condition', 'Class', ['Objects', 'Boxes', 'Threshold', 'raw', 'Held out', 'of', 'general']),
    ...verdicts.map(({ slice, className, objects, boxes, threshold, rawThreshold, heldOut, general, why }) =>
      row(slice ?? 'all', className ?? 'all', [
        String(objects),
        String(boxes),
        fixed(threshold, 4),
        fixed(rawThreshold, 4),
        fixed(heldOut.achieved),
        String(heldOut.count),
        general === undefined ? '' : fixed(general.achieved),
        remarkOf(why, heldOut),
      ]),
    ),
    'held out: what thresholds chosen on the other parts kept there, and general those chosen on all conditions; other cameras are not pictures like these',
  ];
}

function remarkOf(why: string | undefined, { parts, partsWithout }: HeldOut): string {
  if (why !== undefined) return `  no promise: ${why}`;
  return partsWithout === 0 ? '' : `  ${partsWithout} of ${parts} parts held out without a promise`;
}

function row(condition: string, className: string, cells: readonly string[]): string {
  const short = (text: string) => (text.length > 14 ? `${text.slice(0, 13)}…` : text).padStart(15);
  const line = short(condition) + short(className) + cells.map((cell) => cell.padStart(10)).join('');
  return line.trimEnd();
}
