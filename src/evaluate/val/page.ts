// The page of `val`: verdict first, then the tables, then the plots.
import { htmlReport, type ReportBlock, type ReportSection, type TableColumn } from '#report';
import type { Charts } from '../chart-files.ts';
import type { EvaluationReport } from '../report.ts';
import type { ValidationFigures } from './figures.ts';

export interface ValidationPage {
  readonly model: string;
  readonly data: string;
  readonly split: string;
  readonly report: EvaluationReport;
  readonly figures: ValidationFigures;
  readonly charts: Charts;
  /** For programs; lies in the page as JSON. */
  readonly numbers: unknown;
}

export function validationPage(page: ValidationPage): string {
  const { report, figures, charts } = page;
  const { averagePrecision, calibration } = report;
  const { measured, recall } = calibration.dEce;
  return htmlReport({
    title: `${page.model} on ${page.data}`,
    summary: {
      text: [summaryText(page)],
      facts: [
        { label: 'mAP50', value: fixed(averagePrecision.ap50) },
        { label: 'mAP50-95', value: fixed(averagePrecision.ap) },
        { label: 'oLRP', value: fixed(figures.lrp.optimalLrp), note: '0 is perfect' },
        {
          label: 'D-ECE',
          value: fixed(measured?.error),
          note: recall === null ? 'nothing to measure' : `at recall ${fixed(recall)}`,
        },
        { label: 'LaECE0', value: fixed(calibration.quality.laEce.mean), note: '0 is perfect' },
      ],
    },
    sections: [
      { title: 'Classes', blocks: [classTable(page)] },
      { title: 'Thresholds', blocks: thresholdBlocks(page) },
      section('Do the scores mean what they say?', [
        charts.reliability,
        charts.scoreHistogram,
        charts.sigmaCalibration,
      ]),
      section('Precision and recall', [charts.precisionRecall, charts.f1, charts.precision, charts.recall]),
      section('What is taken for what', [charts.confusionMatrix, charts.confusionMatrixNormalized]),
    ].filter(({ blocks }) => blocks.length > 0),
    numbers: page.numbers,
    footer: `edge-detect val, split ${page.split}: ${report.pictures} pictures, ${report.objects} objects, ${report.detections} detections`,
  });
}

function summaryText({ report }: ValidationPage): string {
  const { bestF1 } = report.averagePrecision;
  const { signed, convention } = report.calibration.quality;
  const found =
    bestF1 === null
      ? 'Nothing was found.'
      : `At a score of ${fixed(bestF1.threshold)}, where the mean F1 is best, precision is ${fixed(bestF1.precision)} and recall ${fixed(bestF1.recall)}.`;
  const honest =
    signed === null
      ? ''
      : ` Scores of ${convention.minScore} or more are too ${signed > 0 ? 'high' : 'low'} by ${Math.abs(signed).toFixed(3)} on average, against the IoU that came true.`;
  return found + honest;
}

function classTable({ report, figures }: ValidationPage): ReportBlock {
  const { classNames, averagePrecision, calibration } = report;
  return {
    kind: 'table',
    caption: 'P and R at each class’s own best F1; oLRP and LaECE0: 0 is perfect',
    columns: columnsOf(['class', 'objects', 'P', 'R', 'AP50', 'AP', 'oLRP', 'LaECE0']),
    rows: averagePrecision.perClass
      .filter(({ objects }) => objects > 0)
      .map(({ classId, objects, bestF1, ap50, ap }) => [
        classNames[classId] ?? String(classId),
        objects,
        bestF1?.precision ?? null,
        bestF1?.recall ?? null,
        ap50,
        ap,
        figures.lrp.perClass[classId]?.optimal?.lrp ?? null,
        calibration.quality.laEce.perClass[classId] ?? null,
      ]),
  };
}

function thresholdBlocks({ report, figures, charts }: ValidationPage): ReportBlock[] {
  const { perClass, pooled, minObjects } = figures.bestF1;
  const known = perClass.filter(({ objects }) => objects > 0);
  const rows = [...known, pooled].flatMap(({ classId, objects, chosen }) => {
    if (chosen === undefined) return [];
    const { threshold, precision, recall, kept } = chosen;
    const name = classId === null ? 'all classes pooled' : (report.classNames[classId] ?? String(classId));
    return [[name, objects, threshold, precision, recall, kept]];
  });
  const silent = known.filter(({ chosen }) => chosen === undefined).length;
  return [
    {
      kind: 'text',
      text: `Where F1 is best on these very pictures, so flattering. ${silent} of ${known.length} classes get no verdict: fewer than ${minObjects} objects, or too few boxes kept; they run with the threshold of all classes pooled.`,
    },
    {
      kind: 'table',
      caption: 'Thresholds of best F1',
      columns: columnsOf(['class', 'objects', 'threshold', 'P', 'R', 'kept']),
      rows,
    },
    ...figuresOf([charts.thresholds]),
  ];
}

function columnsOf(labels: readonly string[]): TableColumn[] {
  return labels.map((label) =>
    label === 'objects' || label === 'kept' ? { label, digits: 0 } : { label, digits: 3 },
  );
}

function section(title: string, charts: readonly (Charts[keyof Charts] | undefined)[]): ReportSection {
  return { title, blocks: figuresOf(charts) };
}

function figuresOf(charts: readonly (Charts[keyof Charts] | undefined)[]): ReportBlock[] {
  return charts.flatMap((chart) => (chart === undefined ? [] : [{ kind: 'figure' as const, chart }]));
}

function fixed(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : value.toFixed(3);
}
