// What a comparison leaves in its folder: figures, thresholds, plots and a page.
import { join } from 'node:path';
import { formatThresholdsFile } from '#core';
import { writeWholeFile } from '#runtime';
import { writeCharts } from '../chart-files.ts';
import type { ModelComparison } from './compare-model.ts';
import { comparisonCharts } from './comparison-charts.ts';
import { comparisonPage } from './comparison-page.ts';
import { comparisonThresholds } from './comparison-thresholds.ts';

/** The report with what it rests on: what `results.json` holds. */
export function comparisonResults({ report, ranWith, source, rule, reference, remarks }: ModelComparison) {
  return { model: ranWith, data: source, slicedBy: rule, reference, remarks, ...report };
}

/**
 * Writes `results.json`, `thresholds.json` where a class has a verdict, and with `plots` the charts as PNG and `report.html`.
 * @returns why there are no thresholds, where there are none
 * @throws DataError where a file cannot be written
 */
export async function writeComparison(
  comparison: ModelComparison,
  folder: string,
  { plots }: { readonly plots: boolean },
): Promise<{ readonly withoutThresholds?: string }> {
  const numbers = comparisonResults(comparison);
  await writeWholeFile(join(folder, 'results.json'), `${JSON.stringify(numbers, null, 2)}\n`);
  if (plots) {
    const charts = await comparisonCharts(comparison.report, comparison.reference);
    await writeCharts(charts, folder);
    await writeWholeFile(join(folder, 'report.html'), comparisonPage({ comparison, charts, numbers }));
  }
  const thresholds = comparisonThresholds(comparison);
  if (thresholds !== undefined) {
    const path = join(folder, 'thresholds.json');
    await writeWholeFile(path, formatThresholdsFile(thresholds, path));
    return {};
  }
  return { withoutThresholds: whyNone(comparison) };
}

function whyNone({ report: { thresholds } }: ModelComparison): string {
  if (thresholds === null) return 'without labels nothing says which boxes are right';
  const [all] = thresholds;
  const reasons = all?.conditions.map(({ condition, bestF1 }) =>
    bestF1.kind === 'none' ? `${condition}: ${bestF1.reason}` : condition,
  );
  return `no class has a verdict in any slice (${reasons?.join('; ')})`;
}
