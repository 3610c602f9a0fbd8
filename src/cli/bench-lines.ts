// What `bench` prints: one line for each model, device and number of threads.
import { basename } from 'node:path';
import type { BenchEntry, BenchReport, Spread } from '#evaluate';
import { providerName } from '#runtime';
import { fixed } from './number-text.ts';

const COLUMNS = [
  ['device', 8],
  ['threads', 8],
  ['pre', 8],
  ['infer', 9],
  ['post', 8],
  ['ms/frame', 10],
  ['fps', 8],
  ['time ratio', 20],
  ['CPU ms', 9],
  ['CPU ratio', 20],
  ['MiB', 7],
  ['boxes', 7],
] as const;
const LABEL_COLUMNS = [
  ['AP50', 8],
  ['AP50-95', 9],
  ['LaECE0', 8],
] as const;
const WIDEST_NAME = 40;

export function benchLines(report: BenchReport): string[] {
  const { entries, data } = report;
  const width = Math.min(WIDEST_NAME, Math.max(5, ...entries.map(({ name }) => name.length)));
  const columns = data === undefined ? COLUMNS : [...COLUMNS, ...LABEL_COLUMNS];
  const header = 'model'.padStart(width) + columns.map(([name, room]) => name.padStart(room)).join('');
  const rows = entries.map((entry) => {
    const cells = [...cellsOf(entry), ...(data === undefined ? [] : labelCells(entry))];
    const name = entry.name.length > width ? `…${entry.name.slice(1 - width)}` : entry.name;
    return name.padStart(width) + cells.map((cell, at) => cell.padStart(columns[at]?.[1] ?? 0)).join('');
  });
  return [about(report), header, ...rows];
}

function about({ frames, sources, rounds, machine }: BenchReport): string {
  const [first = '', ...others] = sources;
  const on = others.length === 0 ? basename(first) : `${basename(first)} and ${others.length} more`;
  return `${frames} frames of ${on}; ${rounds === 1 ? '1 round' : `medians of ${rounds} rounds`} in fresh processes, ratios round by round [least, greatest]; ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}`;
}

function cellsOf(entry: BenchEntry): string[] {
  const { figures, ratios, rounds, threads } = entry;
  return [
    providerName(entry.provider),
    String(threads),
    fixed(figures?.preMs.median, 2),
    fixed(figures?.inferMs.median, 2),
    fixed(figures?.postMs.median, 2),
    fixed(figures?.frameMs.median, 2),
    fixed(figures?.fps, 1),
    ratioText(ratios?.frameMs),
    fixed(figures?.cpuMs.median, 2),
    ratioText(ratios?.cpuMs),
    fixed(figures?.peakMib.median, 0),
    fixed(rounds[0]?.detections, 0),
  ];
}

function labelCells({ labels }: BenchEntry): string[] {
  return [fixed(labels?.ap50), fixed(labels?.ap), fixed(labels?.laEce)];
}

function ratioText(ratio: Spread | undefined): string {
  if (ratio === undefined) return '-';
  return `${ratio.median.toFixed(2)} [${ratio.least.toFixed(2)}, ${ratio.greatest.toFixed(2)}]`;
}
