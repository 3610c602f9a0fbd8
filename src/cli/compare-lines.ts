// What `compare` prints: the slices in a table, the changes with their intervals, what to beware of, and the verdict.
import type { Figure } from '#core';
import {
  changesOf,
  figureText,
  type ModelComparison,
  type SliceComparison,
  type SliceReport,
  signedErrorOf,
  wholeChangesOf,
} from '#evaluate';
import { fixed } from './number-text.ts';

const NAME = 22;
const CELL = 11;

export function comparisonLines({ report, reference, remarks }: ModelComparison): string[] {
  const labelled = report.slices.some(({ evaluation }) => evaluation !== null);
  const clips = report.convention.timeBlocks !== null;
  const own = report.comparisons.filter(({ first }) => first === reference);
  const more = report.comparisons.length - own.length;
  return [
    ...(labelled ? labelledTable(report) : clips ? clipTable(report) : unlabelledTable(report.slices)),
    ...own.flatMap((comparison) => ['', ...changeLines(comparison, clips)]),
    ...(more === 0
      ? []
      : [
          '',
          `${more === 1 ? 'one more pair of slices is' : `${more} more pairs of slices are`} in the report; reference= names another`,
        ]),
    ...trialLines(report),
    ...remarks.map((remark, place) => (place === 0 ? `\n${remark}` : remark)),
    ...own.flatMap(({ warnings }) => warnings).map((warning) => `beware: ${warning}`),
    ...own.map(({ verdict }) => `\n${verdict}`),
  ];
}

function labelledTable(report: ModelComparison['report']): string[] {
  const { slices, convention } = report;
  return [
    row('Slice', [
      'Images',
      'Instances',
      'AP50',
      'AP50-95',
      'D-ECE',
      'LaECE0',
      'oLRP',
      'Signed',
      'Best conf',
    ]),
    ...slices.map(({ name, pictures, evaluation, lrp, figures }) =>
      row(name, [
        String(pictures),
        String(evaluation?.objects ?? '-'),
        fixed(evaluation?.averagePrecision.ap50),
        fixed(evaluation?.averagePrecision.ap),
        fixed(evaluation?.calibration.dEce.measured?.error),
        fixed(evaluation?.calibration.quality.laEce.mean),
        fixed(lrp?.optimalLrp),
        value(signedErrorOf(report, name)),
        value(figures?.bestThreshold),
      ]),
    ),
    `D-ECE, LaECE0, oLRP: 0 is perfect; Signed: score - hit, above 0 is too sure; Best conf: highest F1, all classes under one; recall and false alarms below at ${convention.threshold.toFixed(3)}`,
  ];
}

function unlabelledTable(slices: readonly SliceReport[]): string[] {
  return [
    row('Slice', ['Images', 'Cameras', 'Boxes']),
    ...slices.map(({ name, pictures, cameras, detections }) =>
      row(name, [String(pictures), String(cameras.length), String(detections)]),
    ),
    'no labels: what the model says, not whether it is right',
  ];
}

function clipTable({ slices, convention }: ModelComparison['report']): string[] {
  return [
    row('Slice', ['Frames', 'Blocks', 'Boxes', 'Tracks', 'Flicker', 'Jitter']),
    ...slices.map(({ name, pictures, blocks, detections, flicker }) =>
      row(name, [
        String(pictures),
        String(blocks ?? '-'),
        String(detections),
        String(flicker?.tracks ?? '-'),
        value(flicker?.rate),
        value(flicker?.jitter),
      ]),
    ),
    `no labels: what the model says, not whether it is right; Flicker: how often a track crosses ${convention.threshold.toFixed(3)}, Jitter: step of its score, a frame`,
  ];
}

const WIDE = 28;

/** @param clips of one camera: the changes within it and over all are the same */
function changeLines(comparison: SliceComparison, clips: boolean): string[] {
  const { first, second } = comparison;
  const [changes, whole] = [changesOf(comparison), wholeChangesOf(comparison)];
  const figures = [
    ...changes.flatMap(({ within, pooled }) => [within, pooled]),
    ...whole.map(({ change }) => change),
  ];
  const reasons = figures.flatMap((figure) => (figure.kind === 'none' ? [figure.reason] : []));
  return [
    `${`${first} to ${second}`.padStart(WIDE)}  ${clips ? 'change' : `${'within cameras'.padEnd(WIDE)}pooled`}`,
    ...changes.map(
      ({ label, within, pooled }) =>
        `${label.padStart(WIDE)}  ${clips ? figureText(pooled) : `${figureText(within).padEnd(WIDE)}${figureText(pooled)}`}`,
    ),
    ...whole.map(({ label, change }) => `${label.padStart(WIDE)}  ${' '.repeat(WIDE)}${figureText(change)}`),
    ...[...new Set(reasons)].map((reason) => `no verdict: ${reason}`),
  ];
}

const PROTOCOLS = {
  'first-half-per-camera': 'chosen on the first half of each camera, tested on the second',
  'leave-one-camera-out': 'chosen on the other cameras',
} as const;

function trialLines({ trials, slices }: ModelComparison['report']): string[] {
  if (trials === null || trials.length === 0) return [];
  return [
    `\na threshold for each of ${slices.map(({ name }) => name).join(', ')} less one for all, on pictures that did not choose:`,
    ...trials.map(
      ({ protocol, f1Gain, recallGainAtEqualPrecision }) =>
        `  F1 ${figureText(f1Gain)}, recall at equal precision ${figureText(recallGainAtEqualPrecision)}, ${PROTOCOLS[protocol]}`,
    ),
  ];
}

function row(name: string, cells: readonly string[]): string {
  const label = name.length > NAME ? `${name.slice(0, NAME - 1)}…` : name;
  return label.padStart(NAME) + cells.map((cell) => cell.padStart(CELL)).join('');
}

function value(figure: Figure | undefined): string {
  return figure?.kind === 'estimate' ? fixed(figure.value) : '-';
}
