// Does the number mean what it says: confidence against what came true, predicted variance against the squared error.
import type { TopLevelSpec } from 'vega-lite';
import { DataError } from '#core';
import { distinct } from './labels.ts';
import { type Chart, renderChart } from './render-chart.ts';
import { COLOURS } from './style.ts';

/** A group of detections; `CalibrationBin` of the core is one. */
export interface ConfidenceBin {
  readonly count: number;
  readonly meanConfidence: number;
  /** Share that is right (precision), or mean quality. */
  readonly meanTarget: number;
}

/** Detections of like predicted variance; the fifths of `checkVariance` are such. */
export interface VarianceBin {
  readonly count: number;
  readonly meanPredicted: number;
  /** Mean squared error of the score. */
  readonly meanMeasured: number;
}

export interface ReliabilityBins {
  readonly confidence?: readonly ConfidenceBin[];
  readonly variance?: readonly VarianceBin[];
}

const RESOLVE = {
  scale: { x: 'independent', xOffset: 'independent', y: 'independent', color: 'independent' },
  legend: { color: 'independent' },
};

interface Pair {
  readonly group: string;
  readonly what: string;
  readonly value: number;
}

/**
 * Pairs of bars: what was said, light, beside what was measured, dark. Empty bins are left out.
 * @throws DataError where no bin has a count
 */
export async function reliabilityBars({ confidence = [], variance = [] }: ReliabilityBins): Promise<Chart> {
  const said = confidence.filter(({ count }) => count > 0);
  const spread = variance.filter(({ count }) => count > 0);
  if (said.length + spread.length === 0) {
    throw new DataError('no bin of the reliability chart holds a detection', {
      hint: 'evaluate on pictures with objects, or lower the least score',
    });
  }
  const panels = [
    ...(said.length > 0 ? [confidencePanel(said)] : []),
    ...(spread.length > 0 ? [variancePanel(spread)] : []),
  ];
  const spec = { concat: panels, columns: 2, resolve: RESOLVE } as unknown as TopLevelSpec;
  return renderChart(spec, 'Pairs of bars: what the model said beside what was measured.');
}

function confidencePanel(bins: readonly ConfidenceBin[]): object {
  const groups = distinct(bins.map(({ meanConfidence }) => meanConfidence.toFixed(2)));
  return panel({
    title: 'Confidence and precision',
    labels: ['confidence', 'measured'],
    x: 'detections by confidence (mean of the bin)',
    y: 'share, 0 to 1',
    groups,
    pairs: bins.map(({ meanConfidence, meanTarget }) => [meanConfidence, meanTarget]),
  });
}

function variancePanel(bins: readonly VarianceBin[]): object {
  return panel({
    title: 'Predicted variance and squared error',
    labels: ['predicted', 'measured'],
    x: `detections by predicted variance, ${bins.length} groups (count)`,
    y: 'variance of the score, score²',
    groups: bins.map(({ count }, place) => `${place + 1} (${count})`),
    pairs: bins.map(({ meanPredicted, meanMeasured }) => [meanPredicted, meanMeasured]),
  });
}

interface PanelParts {
  readonly title: string;
  readonly labels: readonly [said: string, measured: string];
  readonly x: string;
  readonly y: string;
  readonly groups: readonly string[];
  readonly pairs: readonly (readonly [said: number, measured: number])[];
}

function panel({ title, labels, x, y, groups, pairs }: PanelParts): object {
  const values: Pair[] = pairs.flatMap((pair, place) =>
    labels.map((what, side) => ({ group: groups[place] ?? '', what, value: pair[side] ?? 0 })),
  );
  return {
    title: { text: title, subtitle: y },
    width: 300,
    height: 180,
    data: { values },
    mark: { type: 'bar' },
    encoding: {
      x: {
        field: 'group',
        type: 'nominal',
        sort: null,
        title: x,
        axis: { labelAngle: 0, labelOverlap: 'greedy' },
      },
      xOffset: { field: 'what', type: 'nominal', sort: null },
      y: { field: 'value', type: 'quantitative', title: null },
      color: {
        field: 'what',
        type: 'nominal',
        scale: { domain: labels, range: [COLOURS.light, COLOURS.dark] },
        legend: { orient: 'bottom', title: null, symbolType: 'square' },
      },
    },
  };
}
