// What a comparison of speed leaves in its folder: figures as JSON and CSV, and a chart.
import { join } from 'node:path';
import { type Chart, type MetricPanel, metricDots } from '#report';
import { providerName, writeWholeFile } from '#runtime';
import { writeCharts } from '../chart-files.ts';
import type { BenchEntry, BenchReport } from './bench-models.ts';

const CSV_COLUMNS =
  'model,device,threads,rounds,pre_ms,infer_ms,post_ms,frame_ms,fps,frame_ratio,cpu_ms,cpu_ratio,peak_mib,open_ms,detections,ap50,ap,la_ece0,fault';

/**
 * Writes `results.json` with every round, `bench.csv` with medians, and `bench.png` where something was measured.
 * @throws DataError where a file cannot be written
 */
export async function writeBench(
  report: BenchReport,
  folder: string,
  { plots }: { readonly plots: boolean },
): Promise<void> {
  await writeWholeFile(join(folder, 'results.json'), `${JSON.stringify(benchResults(report), null, 2)}\n`);
  await writeWholeFile(join(folder, 'bench.csv'), benchCsv(report));
  if (!plots || report.entries.every(({ figures }) => figures === undefined)) return;
  await writeCharts({ bench: await benchChart(report) }, folder);
}

/** Plain data. */
export function benchResults(report: BenchReport) {
  const entries = report.entries.map(({ provider: _, fault, ...entry }, place) => ({
    ...entry,
    device: providerName((report.entries[place] as BenchEntry).provider),
    ...(fault && { fault: { message: fault.message, hint: fault.hint } }),
  }));
  return { ...report, entries };
}

function benchCsv({ entries }: BenchReport): string {
  const rows = entries.map((entry) => {
    const { model, threads, rounds, figures, ratios, labels, fault } = entry;
    const values: readonly (string | number | null | undefined)[] = [
      model,
      providerName(entry.provider),
      threads,
      rounds.length,
      figures?.preMs.median,
      figures?.inferMs.median,
      figures?.postMs.median,
      figures?.frameMs.median,
      figures?.fps,
      ratios?.frameMs.median,
      figures?.cpuMs.median,
      ratios?.cpuMs.median,
      figures?.peakMib.median,
      figures?.openMs.median,
      rounds[0]?.detections,
      labels?.ap50,
      labels?.ap,
      labels?.laEce,
      fault?.message,
    ];
    return values.map(csvCell).join(',');
  });
  return `${[CSV_COLUMNS, ...rows].join('\n')}\n`;
}

function csvCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(Number(value.toPrecision(6)));
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

function benchChart({ entries, rounds, frames }: BenchReport): Promise<Chart> {
  const seriesOf = (entry: BenchEntry) =>
    `${providerName(entry.provider)}, ${entry.threads} ${entry.threads === 1 ? 'thread' : 'threads'}`;
  const several = new Set(entries.map(seriesOf)).size > 1;
  const rowOf = (entry: BenchEntry) => ({
    name: entry.name,
    ...(several && { series: seriesOf(entry) }),
  });
  const times = (
    title: string,
    key: 'inferMs' | 'frameMs' | 'cpuMs' | 'peakMib',
    note: string,
  ): MetricPanel => ({
    title,
    note,
    rows: entries.flatMap((entry) => {
      const spread = entry.figures?.[key];
      if (spread === undefined) return [];
      return { ...rowOf(entry), value: spread.median, interval: [spread.least, spread.greatest] as const };
    }),
  });
  const quality = (title: string, key: 'ap' | 'laEce', note: string): MetricPanel => ({
    title,
    note,
    rows: entries.flatMap((entry) =>
      entry.labels === undefined ? [] : { ...rowOf(entry), value: entry.labels[key] },
    ),
  });
  return metricDots(
    [
      times('Time of a frame', 'frameMs', 'ms, without decoding; less is better'),
      times('Inference alone', 'inferMs', 'ms'),
      times('CPU time of a frame', 'cpuMs', 'ms of all threads together'),
      times('Peak memory', 'peakMib', 'MiB resident, without the frames'),
      quality('AP', 'ap', 'mean over IoU .5 to .95; more is better'),
      quality('LaECE0', 'laEce', 'less is better'),
    ],
    {
      title: 'Speed',
      note: `Medians of ${rounds} rounds of ${frames} frames, each in a fresh process. Lines: least and greatest round.`,
    },
  );
}
