// The plots of `val` under their habitual names; a plot that would show nothing is left out.
import { calibrationError } from '#core';
import {
  confidenceChart,
  confusionMatrixChart,
  precisionRecallChart,
  type ReliabilitySeries,
  reliabilityDiagrams,
  scoreHistogram,
  sigmaCalibrationChart,
  thresholdChart,
} from '#report';
import { type Charts, reliabilityBins } from '../chart-files.ts';
import type { EvaluationReport } from '../report.ts';
import type { ValidationFigures } from './figures.ts';

const RELIABILITY_BINS = 10;

export async function validationCharts(
  report: EvaluationReport,
  figures: ValidationFigures,
): Promise<Charts> {
  if (report.objects === 0 || report.detections === 0) return {};
  return {
    ...(await curveCharts(report, figures)),
    ...(await confusionCharts(report, figures)),
    ...(await scoreCharts(report, figures)),
    ...(await varianceChart(report)),
  };
}

async function curveCharts(
  { classNames, averagePrecision }: EvaluationReport,
  { curves: { thresholds, perClass, mean, iou } }: ValidationFigures,
): Promise<Charts> {
  const named = perClass.map((one) => ({ ...one, name: classNames[one.classId] ?? '', count: one.objects }));
  const recalls = Float64Array.from({ length: 101 }, (_, index) => index / 100);
  const over = (quantity: 'F1' | 'precision' | 'recall', key: 'f1' | 'precision' | 'recall') =>
    confidenceChart({
      quantity,
      thresholds,
      classes: named.map((one) => ({ name: one.name, count: one.count, values: one[key] })),
      ...(mean && { mean: mean[key] }),
      ...(quantity === 'F1' &&
        mean?.bestF1 && { best: { threshold: mean.bestF1.threshold, value: mean.bestF1.f1 } }),
    });
  const areaOf = (classId: number) => averagePrecision.perClass[classId]?.ap50;
  return {
    precisionRecall: await precisionRecallChart({
      recalls,
      iou,
      classes: named.map(({ name, count, classId, precisionAtRecall }) => ({
        name,
        count,
        values: precisionAtRecall,
        ...area(areaOf(classId)),
      })),
      ...(mean && { mean: { values: mean.precisionAtRecall, ...area(averagePrecision.ap50) } }),
    }),
    f1: await over('F1', 'f1'),
    precision: await over('precision', 'precision'),
    recall: await over('recall', 'recall'),
  };
}

function area(value: number | null | undefined): { readonly averagePrecision?: number } {
  return value === null || value === undefined ? {} : { averagePrecision: value };
}

async function confusionCharts(
  { classNames }: EvaluationReport,
  { confusion: { counts, minScore, iou } }: ValidationFigures,
): Promise<Charts> {
  const matrix = { classNames, counts, minScore, iou };
  return {
    confusionMatrix: await confusionMatrixChart(matrix),
    confusionMatrixNormalized: await confusionMatrixChart(matrix, { normalized: true }),
  };
}

/** Classes by name with their rows, the most frequent first. */
function rowsByName({ classNames }: EvaluationReport, { rows }: ValidationFigures) {
  const groups = classNames.map((name) => ({ name, scores: [] as number[], targets: [] as number[] }));
  for (const [row, classId] of rows.classIds.entries()) {
    groups[classId]?.scores.push(rows.scores[row] ?? 0);
    groups[classId]?.targets.push(rows.targets[row] ?? 0);
  }
  return groups.filter(({ scores }) => scores.length > 0).sort((a, b) => b.scores.length - a.scores.length);
}

async function scoreCharts(report: EvaluationReport, figures: ValidationFigures): Promise<Charts> {
  const groups = rowsByName(report, figures);
  if (groups.length === 0) return {};
  const { curves, bestF1, lrpOptimal } = figures;
  const nameOf = (classId: number) => report.classNames[classId] ?? '';
  const point = (label: string, threshold: number | undefined) =>
    threshold === undefined ? [] : [{ label, threshold }];
  return {
    reliability: await reliabilityDiagrams(groups.map(reliabilityOf)),
    scoreHistogram: await scoreHistogram(
      groups.map(({ name, scores, targets }) => ({
        name,
        hits: scores.filter((_, row) => targets[row] === 1),
        falseAlarms: scores.filter((_, row) => targets[row] !== 1),
      })),
    ),
    thresholds: await thresholdChart(
      [...curves.perClass]
        .sort((a, b) => b.objects - a.objects)
        .map(({ classId, precision, recall, f1 }) => ({
          name: nameOf(classId),
          thresholds: curves.thresholds,
          precision,
          recall,
          f1,
          points: [
            ...point('best F1', bestF1.perClass[classId]?.chosen?.threshold),
            ...point('least LRP', lrpOptimal.perClass[classId]?.chosen?.threshold),
          ],
        })),
    ),
  };
}

function reliabilityOf({ name, scores, targets }: ReturnType<typeof rowsByName>[number]): ReliabilitySeries {
  const measured = calibrationError(scores, targets, { bins: RELIABILITY_BINS });
  const bins = reliabilityBins(measured?.bins ?? [], RELIABILITY_BINS);
  return { name, bins, ...(measured && { note: `ECE ${measured.error.toFixed(3)}` }) };
}

async function varianceChart({ variance }: EvaluationReport): Promise<Charts> {
  if (variance === null) return {};
  const groups = variance.fifths.map(({ count, meanPredicted, meanMeasured }) => ({
    count,
    predicted: meanPredicted,
    measured: meanMeasured,
  }));
  return {
    sigmaCalibration: await sigmaCalibrationChart([
      { name: 'score', unit: 'variance and squared error', groups },
    ]),
  };
}
