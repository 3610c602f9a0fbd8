// The figures of a comparison in words and digits, for the page and for a terminal.
import { type Effect, type Figure, sureSign } from '#core';
import type { SliceComparison } from './compare.ts';
import type { PairedBy } from './pairs.ts';

export const PAIRED_WORDS: Readonly<Record<PairedBy, string>> = {
  object: 'the same places of the scene',
  picture: 'the same pictures',
  time: 'the same moments of both clips',
  track: 'the same tracks',
};

/** One change, second − first. */
export interface ChangeRow {
  readonly label: string;
  readonly within: Figure;
  readonly pooled: Figure;
  readonly byCamera: Figure;
}

/** Changes of means over pictures. */
export function changesOf({ effects }: SliceComparison): ChangeRow[] {
  const row = (label: string, one: Effect | undefined): ChangeRow[] =>
    one === undefined ? [] : [{ label, within: one.within, pooled: one.pooled, byCamera: one.byCamera }];
  return [
    ...row('score of an object', effects.objectScore),
    ...row('recall', effects.recall),
    ...row('precision', effects.precision),
    ...row('false alarms a picture', effects.falseAlarmsPerPicture),
    ...row('signed error (score - hit)', effects.signedCorrect),
    ...row('signed error (score - IoU)', effects.signedQuality),
    ...row('score of a box', effects.meanScore),
    ...row('boxes a picture', effects.boxesPerPicture),
  ];
}

/** Changes of figures that only a whole slice has. */
export function wholeChangesOf({
  differences,
}: SliceComparison): { readonly label: string; readonly change: Figure }[] {
  if (differences === null) return [];
  return [
    { label: 'AP50', change: differences.ap50 },
    { label: 'AP50-95', change: differences.ap },
    { label: 'D-ECE', change: differences.dEce },
    { label: 'LaECE0', change: differences.laEce0 },
    { label: 'best threshold', change: differences.bestThreshold },
    { label: 'best F1', change: differences.bestF1 },
  ];
}

/** The verdict in a line: what is sure, what is not shown, and what nothing can be said of. */
export function headlineOf(comparison: SliceComparison): string {
  const rows = [
    ...changesOf(comparison).map(({ label, within }) => ({ label, change: within })),
    ...wholeChangesOf(comparison),
  ];
  const sure = rows.flatMap(({ label, change }) =>
    change.kind === 'estimate' && sureSign(change) !== 0 ? [`${label} ${signed(change.value)}`] : [],
  );
  const named = (word: string, keep: (change: Figure) => boolean) => {
    const labels = rows.filter(({ change }) => keep(change)).map(({ label }) => label);
    return labels.length === 0 ? [] : [`${word}: ${labels.join(', ')}`];
  };
  const parts = [
    ...(sure.length === 0 ? [] : [`changed ${sure.join(', ')}`]),
    ...named('not shown to change', (change) => change.kind === 'estimate' && sureSign(change) === 0),
    ...named('no verdict', (change) => change.kind === 'none'),
  ];
  return `${comparison.first} to ${comparison.second}: ${parts.join('; ')}.`;
}

/** `-0.120 [-0.150, -0.090]`. */
export function figureText(figure: Figure): string {
  if (figure.kind === 'none') return 'no verdict';
  return `${signed(figure.value)} [${signed(figure.low)}, ${signed(figure.high)}]`;
}

export function plainFigure(value: number): string {
  return value.toFixed(3).replace(/^-(0\.0*)$/, '$1');
}

function signed(value: number): string {
  const text = plainFigure(value);
  return value > 0 ? `+${text}` : text;
}
