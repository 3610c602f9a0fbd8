// The plots of a comparison; one that would show nothing is left out.
import type { Figure } from '#core';
import {
  type MetricPanel,
  metricDots,
  type PairedGroup,
  pairedDifferences,
  pairedScores,
  reliabilityOverlay,
  thresholdChart,
} from '#report';
import { type Charts, reliabilityBins } from '../chart-files.ts';
import type { CompareReport, SliceComparison, SliceReport } from './compare.ts';
import { signedErrorOf } from './signed-error.ts';

export async function comparisonCharts(report: CompareReport, reference: string): Promise<Charts> {
  const labelled = report.slices.filter(({ evaluation }) => evaluation !== null);
  const own = report.comparisons.filter(({ first }) => first === reference);
  return {
    ...(await metricChart(report, labelled)),
    ...(await reliabilityChart(labelled)),
    ...(await thresholdCharts(labelled)),
    ...(await pairCharts(own)),
  };
}

async function metricChart(report: CompareReport, slices: readonly SliceReport[]): Promise<Charts> {
  if (slices.length === 0) return {};
  const panel = (
    title: string,
    note: string,
    read: (slice: SliceReport) => Figure | undefined,
  ): MetricPanel => ({
    title,
    note,
    rows: slices.map((slice) => {
      const figure = read(slice);
      return figure?.kind === 'estimate'
        ? { name: slice.name, value: figure.value, interval: [figure.low, figure.high] }
        : { name: slice.name, value: null };
    }),
  });
  const sliceMetrics = await metricDots([
    panel('AP50', '1 is perfect', ({ figures }) => figures?.ap50),
    panel(
      'Recall',
      `at the fixed threshold of ${report.convention.threshold.toFixed(3)}`,
      ({ figures }) => figures?.recall,
    ),
    panel('Threshold of the best F1', 'all classes under one', ({ figures }) => figures?.bestThreshold),
    panel('D-ECE', '0 is perfect', ({ figures }) => figures?.dEce),
    panel('LaECE0', '0 is perfect', ({ figures }) => figures?.laEce0),
    panel('Signed error', 'score less hit; above 0: too sure', ({ name }) => signedErrorOf(report, name)),
  ]);
  return { sliceMetrics };
}

async function reliabilityChart(slices: readonly SliceReport[]): Promise<Charts> {
  const series = slices.flatMap(({ name, evaluation }) => {
    const measured = evaluation?.calibration.dEce.measured;
    if (!measured) return [];
    const bins = reliabilityBins(measured.bins, measured.convention.bins);
    return { name, bins, note: `D-ECE ${measured.error.toFixed(3)}, ${measured.count} detections` };
  });
  return series.length === 0 ? {} : { reliabilitySlices: await reliabilityOverlay(series) };
}

async function thresholdCharts(slices: readonly SliceReport[]): Promise<Charts> {
  const panels = slices.flatMap(({ name, evaluation }) => {
    const { curves, bestF1 } = evaluation?.averagePrecision ?? {};
    if (!curves) return [];
    const points = bestF1 ? [{ label: 'best mean F1', threshold: bestF1.threshold }] : [];
    return { name, ...curves, points };
  });
  return panels.length === 0
    ? {}
    : { thresholds: await thresholdChart(panels, { title: 'Thresholds by slice, mean over classes' }) };
}

/** Of the comparisons with the reference: a panel for each, the cameras or classes apart in the differences. */
async function pairCharts(comparisons: readonly SliceComparison[]): Promise<Charts> {
  const groups: PairedGroup[] = comparisons.flatMap((comparison) => {
    const pairing = pairingOf(comparison);
    if (pairing === null || pairing.scores.first.length === 0) return [];
    return { name: comparison.second, before: pairing.scores.first, after: pairing.scores.second };
  });
  if (groups.length === 0) return {};
  const first = comparisons[0]?.first ?? '';
  const labels = [first, groups.length === 1 ? (groups[0]?.name ?? '') : 'the other slice'] as const;
  return {
    pairedScores: await pairedScores(groups, { labels }),
    pairedDifferences: await pairedDifferences(groups, { labels }),
  };
}

/** The strictest pairing that there is: the same picture, track, or place of the scene. */
export function pairingOf({ samePictures, tracks, objects }: SliceComparison) {
  return samePictures ?? tracks ?? objects;
}
