// Charts of an evaluation as files, and calibration bins as charts take them.
import { join } from 'node:path';
import type { CalibrationBin } from '#core';
import { CHART_FILES, type Chart, type ReliabilityBin } from '#report';
import { writeWholeFile } from '#runtime';

/** By what they show; one that would show nothing is absent. */
export type Charts = Readonly<Partial<Record<keyof typeof CHART_FILES, Chart>>>;

/** @throws DataError where a file cannot be written */
export async function writeCharts(charts: Charts, folder: string): Promise<void> {
  for (const [key, { png }] of Object.entries(charts)) {
    await writeWholeFile(join(folder, CHART_FILES[key as keyof typeof CHART_FILES]), png);
  }
}

/** @param count bins of equal width, the empty ones too */
export function reliabilityBins(bins: readonly CalibrationBin[], count: number): ReliabilityBin[] {
  return bins.map((bin) => ({ ...bin, from: bin.index / count, to: (bin.index + 1) / count }));
}
