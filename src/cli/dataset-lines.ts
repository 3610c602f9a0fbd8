// A data set and its faults in lines for people, and as one value for the next program.
import { ConfigError } from '#core';
import {
  type Dataset,
  type DatasetFormat,
  type FaultSummary,
  formatFault,
  type LintReport,
  type SplitStatistics,
  summarizeFaults,
} from '#data/datasets';

const DEFAULT_FAULTS_PER_KIND = 5;
const CLASSES_SHOWN = 20;

const FORMATS: Readonly<Record<DatasetFormat, string>> = {
  yolo: 'YOLO',
  coco: 'COCO JSON',
  voc: 'Pascal VOC',
  openimages: 'OpenImages CSV',
  cvat: 'CVAT XML',
  labelme: 'labelme JSON',
};

/**
 * @param text value of faults=
 * @throws ConfigError where it is neither a count nor `all`
 */
export function parseFaultLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_FAULTS_PER_KIND;
  if (text === 'all') return Number.POSITIVE_INFINITY;
  if (/^\d+$/.test(text)) return Number(text);
  throw new ConfigError(`faults=${text}: expected a count or all`, { hint: 'write faults=all or faults=20' });
}

export function datasetLines(
  dataset: Dataset,
  report: LintReport,
  faultLimit: number,
  verbose: boolean,
): readonly string[] {
  const { source, format, classNames } = dataset;
  const groups = summarizeFaults(report);
  const written = FORMATS[format];
  return [
    field('file', source),
    field('format', `${written}, ${count(classNames.length, 'class', 'classes')}`),
    ...report.splits.map((split) => field(split.name, describeSplit(split))),
    ...classTable(dataset, report.splits, verbose ? Number.POSITIVE_INFINITY : CLASSES_SHOWN),
    field('faults', describeCounts(groups)),
    ...groups.flatMap((group) => describeGroup(group, faultLimit)),
  ];
}

/** What `json=true` prints. */
export function datasetReport(dataset: Dataset, report: LintReport) {
  const { source, format, classNames, classKeys } = dataset;
  const faultCounts = summarizeFaults(report).map(({ faults: _, ...summary }) => summary);
  return { source, format, classNames, classKeys, splits: report.splits, faultCounts, faults: report.faults };
}

function field(name: string, text: string): string {
  return `${name.padEnd(13)} ${text}`;
}

function describeSplit(split: SplitStatistics): string {
  const background = split.backgroundEmpty + split.backgroundMissing;
  const apart = [
    ...(split.backgroundEmpty > 0 ? [`${split.backgroundEmpty} with empty labels`] : []),
    ...(split.backgroundMissing > 0 ? [`${split.backgroundMissing} without label file`] : []),
  ];
  const special = [
    ...(split.crowd > 0 ? [`${split.crowd} crowd`] : []),
    ...(split.difficult > 0 ? [`${split.difficult} difficult`] : []),
  ];
  return (
    `${count(split.pictures, 'picture')}: ${split.labelled} labelled, ${background} background` +
    `${inBrackets(apart)}; ${count(split.objects, 'object')}${inBrackets(special)}`
  );
}

function inBrackets(parts: readonly string[]): string {
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

function classTable(
  { classNames }: Dataset,
  splits: readonly SplitStatistics[],
  shown: number,
): readonly string[] {
  const nameWidth = Math.max(5, ...classNames.map((name) => name.length));
  const row = (cells: readonly (string | number)[], id: string, name: string) =>
    `  ${id.padStart(4)}  ${name.padEnd(nameWidth)}${cells.map((cell) => String(cell).padStart(9)).join('')}`;
  const rows = classNames.slice(0, shown).map((name, id) =>
    row(
      splits.map(({ perClass }) => perClass[id] ?? 0),
      String(id),
      name,
    ),
  );
  const more = classNames.length - rows.length;
  return [
    row(
      splits.map(({ name }) => name),
      'id',
      'class',
    ),
    ...rows,
    ...(more > 0 ? [`        … and ${more} more (verbose=True)`] : []),
  ];
}

function describeCounts(groups: readonly FaultSummary[]): string {
  const total = (wanted: string) =>
    groups.reduce((sum, { severity, count: found }) => sum + (severity === wanted ? found : 0), 0);
  if (groups.length === 0) return 'none';
  return `${count(total('error'), 'error')}, ${count(total('warning'), 'warning')}, ${count(total('notice'), 'notice')}`;
}

function describeGroup(group: FaultSummary, limit: number): readonly string[] {
  const shown = group.faults.slice(0, limit);
  const more = group.count - shown.length;
  return [
    `${group.severity} ${group.kind}: ${group.count} in ${count(group.fileCount, 'file')}`,
    ...shown.map((fault) => `  ${formatFault(fault)}`),
    ...(more > 0 ? [`  … and ${more} more (faults=all)`] : []),
  ];
}

function count(value: number, singular: string, plural = `${singular}s`): string {
  return `${value} ${value === 1 ? singular : plural}`;
}
