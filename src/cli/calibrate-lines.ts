// What `calibrate` prints: raw beside calibrated, on pictures that the maps did not see.
import type { Figure } from '#core';
import type { ModelCalibration } from '#evaluate';
import { fixed } from './number-text.ts';

const MEANING = {
  quality: 'the IoU to expect, 0 for a false alarm; LaECE0 judges it, and D-ECE cannot be right as well',
  correct: 'the chance of a hit at IoU 0.5; D-ECE judges it, and LaECE0 cannot be right as well',
} as const;

export function calibrationLines(calibration: ModelCalibration): string[] {
  const { study, folds } = calibration;
  return [
    `target ${study.target}: the score is ${MEANING[study.target]}`,
    `judged on ${folds.description}`,
    ...figureLines(calibration),
    '',
    ...classLines(calibration),
    ...remarks(calibration),
  ];
}

function figureLines({ study: { crossFit, target, minScore } }: ModelCalibration): string[] {
  const { raw, calibrated, sameBoxes, intervals } = crossFit;
  const of = (name: string, read: (side: typeof raw) => number | null | undefined, change?: Figure) =>
    figureLine(name, [read(raw), read(calibrated)], change);
  const same = (name: string, read: (side: typeof sameBoxes.raw) => number | null) =>
    figureLine(name, [read(sameBoxes.raw), read(sameBoxes.calibrated)]);
  const dEce = [
    of('D-ECE', (side) => side.dEce.measured?.error, intervals.dEce.change),
    of('  of right scores, by chance', ({ dEceByChance }) => dEceByChance),
  ];
  const laEce0 = [
    of('LaECE0', ({ quality }) => quality.laEce.mean, intervals.laEce0.change),
    of('  of classes with a map', (side) => side.laEce0OfMapped, intervals.laEce0OfMapped.change),
  ];
  return [
    `${''.padStart(28)}${'raw'.padStart(11)}${'calibrated'.padStart(12)}   change (95 % over ${intervals.drawn}s)`,
    ...(target === 'quality' ? [...laEce0, ...dEce] : [...dEce, ...laEce0]),
    of('LaACE0', ({ quality }) => quality.laAce.mean),
    of('score - IoU', ({ quality }) => quality.signed),
    of('Brier', ({ dEce }) => dEce.brier),
    of('NLL', ({ dEce }) => dEce.nll),
    of('recall at 0.3', ({ dEce }) => dEce.recall),
    of('LRP at 0.3', ({ lrp }) => lrp),
    `the same ${sameBoxes.raw.count} boxes (raw ${minScore} or more) against ${target === 'quality' ? 'their IoU' : 'hit or not'}:`,
    same(target === 'quality' ? '  LaECE0' : '  D-ECE', ({ error }) => error),
    same('  score - truth', ({ signed }) => signed),
    same('  Brier', ({ brier }) => brier),
    same('  NLL', ({ nll }) => nll),
  ];
}

function figureLine(
  name: string,
  values: readonly [raw: number | null | undefined, calibrated: number | null | undefined],
  change?: Figure,
): string {
  const [raw, calibrated] = values;
  const line = `${name.padStart(28)}${fixed(raw, 4).padStart(11)}${fixed(calibrated, 4).padStart(12)}`;
  return change === undefined ? line : `${line}   ${changeText(change)}`;
}

function changeText(figure: Figure): string {
  return figure.kind === 'none'
    ? `no interval: ${figure.reason}`
    : `${signed(figure.value)} (${signed(figure.low)} to ${signed(figure.high)})`;
}

function classLines({ study: { classes }, folds }: ModelCalibration): string[] {
  const head = [
    'Objects',
    'Fitted on',
    'LaECE0',
    'calibr.',
    'mAP50-95',
    'calibr.',
    '.25 is',
    '.5 is',
    '.75 is',
  ];
  return [
    row('Class', head),
    ...classes.map((one) =>
      row(one.className, [
        String(one.objects),
        String(one.samples),
        fixed(one.laEce0.raw),
        fixed(one.laEce0.calibrated),
        fixed(one.ap.raw),
        fixed(one.ap.calibrated),
        ...(one.map === null ? ['raw', 'raw', 'raw'] : one.becomes.map((value) => fixed(value))),
      ]),
    ),
    ...classes.flatMap(({ className, whyKept, foldsWithoutMap }) => {
      if (whyKept !== undefined) return [`${className} keeps raw scores: ${whyKept}`];
      if (foldsWithoutMap === 0) return [];
      return [
        `${className}: judged raw in ${foldsWithoutMap} of ${folds.foldCount} parts, whose others are too few for a map`,
      ];
    }),
  ];
}

function remarks({ study: { averagePrecision, minScore, method } }: ModelCalibration): string[] {
  const { largestChange, largestChangeWithoutTail } = averagePrecision;
  return [
    largestChange === 0
      ? `the ${method} maps, fitted on all pictures, leave each class's AP exactly as it was`
      : `the ${method} maps, fitted on all pictures, change no class's AP by more than ${largestChange.toExponential(1)}`,
    `boxes below raw ${minScore} are not reported with a map: worth ${fixed(largestChangeWithoutTail, 4)} AP of a class at most`,
  ];
}

/** The next command, and what it must not change. */
export function howToRun({ isOwn, outPath, stored, validation }: ModelCalibration): string {
  const { kind, iou, agnostic } = stored.suppression;
  const setting = `nms=${kind} iou=${iou}${agnostic ? ' agnostic_nms=True' : ''}`;
  const words = isOwn ? `model=${outPath}` : `calibrator=${outPath}`;
  const named = Object.keys(stored.classes);
  // Across classes, boxes of a class that was left out would suppress others.
  const filter =
    agnostic && named.length < validation.predictions.classNames.length ? ` classes=${named.join(',')}` : '';
  return `run it with ${words}${filter}; it holds for ${setting} and is refused with another`;
}

function row(name: string, cells: readonly string[]): string {
  const label = name.length > 18 ? `${name.slice(0, 17)}…` : name;
  return label.padStart(18) + cells.map((cell) => cell.padStart(10)).join('');
}

function signed(value: number): string {
  return `${value > 0 ? '+' : ''}${value.toFixed(4)}`;
}
