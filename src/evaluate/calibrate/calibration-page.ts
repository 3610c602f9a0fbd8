// A calibration as charts and as one page.
import type { CalibrationBin, Figure } from '#core';
import {
  type Chart,
  htmlReport,
  type ReliabilitySeries,
  type ReportBlock,
  type ReportFact,
  reliabilityOverlay,
} from '#report';
import { reliabilityBins } from '../chart-files.ts';
import type { ModelCalibration } from './calibrate-model.ts';
import type { ErrorInterval } from './calibration-intervals.ts';
import type { CalibrationStudy } from './calibration-study.ts';
import { conformalSections } from './conformal-page.ts';

const BINS = 10;
const MEANING = {
  quality: 'the IoU to expect, 0 for a false alarm',
  correct: 'the chance of a hit (IoU 0.5 or more)',
} as const;
const TARGET = { quality: 'mean IoU', correct: 'share that is right' } as const;

/** Raw over calibrated, of the same boxes. */
export function reliabilityOfCalibration({ study }: ModelCalibration): Promise<Chart> {
  const { raw, calibrated } = study.crossFit.sameBoxes;
  return reliabilityOverlay([seriesOf('raw', raw), seriesOf('calibrated', calibrated)], {
    title: 'Reliability, raw and calibrated',
    target: TARGET[study.target],
  });
}

function seriesOf(
  name: string,
  { bins, error }: { readonly bins: readonly CalibrationBin[]; readonly error: number | null },
): ReliabilitySeries {
  return {
    name,
    bins: reliabilityBins(bins, BINS),
    note: `error ${digits(error)}`,
  };
}

/** @param chart of `reliabilityOfCalibration`; absent where plots are off */
export function calibrationPage(calibration: ModelCalibration, chart: Chart | undefined): string {
  const { study, folds, outPath, stored, isOwn } = calibration;
  return htmlReport({
    title: 'Calibration',
    summary: {
      text: [
        `The calibrated score is ${MEANING[study.target]}. Fitted after suppression on ${study.pictures} pictures with ${study.objects} objects and ${study.detections} detections (${stored.data.description}), one ${study.method} map per class.`,
        `All figures below are cross-fitted: judged on ${folds.description}. The written calibrator is fitted on all of them.`,
        `Written to ${outPath}${isOwn ? '' : '; run it with calibrator= that file'}. It holds for nms=${stored.suppression.kind} iou=${stored.suppression.iou}${stored.suppression.agnostic ? ' agnostic_nms=True' : ''} and no other suppression.`,
      ],
      facts: headlines(study),
    },
    sections: [
      {
        title: 'Raw and calibrated',
        blocks: [
          ...(chart ? [{ kind: 'figure', chart } as const] : []),
          figuresTable(study),
          conventionText(study),
          intervalText(study),
        ],
      },
      { title: 'Per class', blocks: [classTable(study), precisionText(study)] },
      ...conformalSections(calibration),
    ],
    numbers: { ...study, ...(calibration.conformal && { conformal: calibration.conformal }) },
    footer: `Model ${calibration.file.path}, SHA-256 ${calibration.file.sha256}.`,
  });
}

function headlines({ target, crossFit: { raw, calibrated, intervals } }: CalibrationStudy): ReportFact[] {
  const fact = (
    label: string,
    values: readonly (number | null)[],
    { change }: ErrorInterval,
  ): ReportFact => ({
    label,
    value: `${digits(values[0])} → ${digits(values[1])}`,
    note: `change ${figureText(change)}`,
  });
  const dEce = fact(
    'D-ECE',
    [raw.dEce.measured?.error ?? null, calibrated.dEce.measured?.error ?? null],
    intervals.dEce,
  );
  const laEce0 = [
    fact('LaECE0', [raw.quality.laEce.mean, calibrated.quality.laEce.mean], intervals.laEce0),
    ...(raw.laEce0OfMapped === raw.quality.laEce.mean
      ? []
      : [
          fact(
            'LaECE0 of mapped classes',
            [raw.laEce0OfMapped, calibrated.laEce0OfMapped],
            intervals.laEce0OfMapped,
          ),
        ]),
  ];
  return target === 'quality' ? [...laEce0, dEce] : [dEce, ...laEce0];
}

function figuresTable({ crossFit }: CalibrationStudy): ReportBlock {
  const { raw, calibrated, sameBoxes } = crossFit;
  const row = (name: string, of: (side: typeof raw) => number | null | undefined) =>
    [name, of(raw) ?? null, of(calibrated) ?? null] as const;
  const same = (name: string, of: (side: typeof sameBoxes.raw) => number | null) =>
    [`Same boxes: ${name}`, of(sameBoxes.raw), of(sameBoxes.calibrated)] as const;
  return {
    kind: 'table',
    caption: 'Cross-fitted figures',
    columns: [{ label: 'Figure' }, { label: 'raw', digits: 4 }, { label: 'calibrated', digits: 4 }],
    rows: [
      row('D-ECE', ({ dEce }) => dEce.measured?.error),
      row('… of right scores', ({ dEceByChance }) => dEceByChance),
      row('LaECE0', ({ quality }) => quality.laEce.mean),
      row('… of mapped classes', ({ laEce0OfMapped }) => laEce0OfMapped),
      row('LaACE0', ({ quality }) => quality.laAce.mean),
      row('Score − IoU', ({ quality }) => quality.signed),
      row('Brier score', ({ dEce }) => dEce.brier),
      row('Log loss', ({ dEce }) => dEce.nll),
      same('error', ({ error }) => error),
      same('score − truth', ({ signed }) => signed),
      same('Brier', ({ brier }) => brier),
      same('log loss', ({ nll }) => nll),
      row('Recall at 0.3', ({ dEce }) => dEce.recall),
      row('LRP at 0.3', ({ lrp }) => lrp),
      row('LRP at its best', ({ optimalLrp }) => optimalLrp),
    ],
  };
}

function conventionText({ target, minScore }: CalibrationStudy): ReportBlock {
  const text = `D-ECE, Brier score, log loss, recall and LRP count scores of 0.3 or more, LaECE0 and LaACE0 of 0.01 or more, each on its own scale: other boxes before than after. "Same boxes" are those with a raw score of ${minScore} or more, held against ${TARGET[target]}. "Of right scores" is the D-ECE that chance alone leaves on so few boxes; "mapped" are classes that got a map.`;
  return { kind: 'text', text };
}

function classTable({ classes }: CalibrationStudy): ReportBlock {
  return {
    kind: 'table',
    caption: '0.25, 0.5 and 0.75: what such raw scores become',
    columns: [
      { label: 'Class' },
      { label: 'Objects' },
      { label: 'Fitted on' },
      { label: 'LaECE0' },
      { label: '→' },
      { label: 'D-ECE' },
      { label: '→' },
      { label: 'mAP50-95' },
      { label: '→' },
      { label: '0.25' },
      { label: '0.5' },
      { label: '0.75' },
      { label: 'Remark' },
    ],
    rows: classes.map((one) => [
      one.className,
      one.objects,
      one.samples,
      one.laEce0.raw,
      one.laEce0.calibrated,
      one.dEce.raw,
      one.dEce.calibrated,
      one.ap.raw,
      one.ap.calibrated,
      ...one.becomes,
      one.whyKept === undefined ? judgedRaw(one.foldsWithoutMap) : `kept raw: ${one.whyKept}`,
    ]),
  };
}

function judgedRaw(parts: number): string {
  return parts === 0 ? '' : `judged raw in ${parts} parts, whose others are too few for a map`;
}

function precisionText({ averagePrecision, minScore }: CalibrationStudy): ReportBlock {
  const { largestChange, largestChangeWithoutTail } = averagePrecision;
  const text = `${unchangedPrecision(largestChange)} Boxes below a raw score of ${minScore}, which a calibrated model does not report, are worth ${largestChangeWithoutTail.toFixed(4)} at most.`;
  return { kind: 'text', text };
}

function intervalText({ crossFit: { intervals } }: CalibrationStudy): ReportBlock {
  const { dEce, laEce0, laEce0OfMapped, drawn, resamples } = intervals;
  const text = [
    `95 % intervals over ${resamples} draws of whole ${drawn}s, calibrated − raw: D-ECE ${figureText(dEce.change)}, LaECE0 ${figureText(laEce0.change)}, LaECE0 of classes with a map ${figureText(laEce0OfMapped.change)}.`,
    drawn === 'camera' ? 'Too narrow below some 20 cameras.' : 'Pictures of one scene are alike: too narrow.',
  ].join(' ');
  return { kind: 'text', text };
}

function unchangedPrecision(largestChange: number): string {
  return largestChange === 0
    ? "The maps, fitted on all pictures, leave each class's AP exactly as it was."
    : `The maps, fitted on all pictures, change no class's AP by more than ${largestChange.toExponential(1)}.`;
}

function figureText(figure: Figure): string {
  if (figure.kind === 'none') return `no verdict (${figure.reason})`;
  return `${signed(figure.value)} (${signed(figure.low)} to ${signed(figure.high)})`;
}

function signed(value: number): string {
  return `${value > 0 ? '+' : ''}${value.toFixed(4)}`;
}

function digits(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : value.toFixed(4);
}
