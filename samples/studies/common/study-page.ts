// One page of HTML of what a study found, from its JSON alone.
import { writeFile } from 'node:fs/promises';
import {
  htmlReport,
  type MetricPanel,
  metricDots,
  type ReportBlock,
  type ReportSection,
} from 'edge-detect/evaluate';
import {
  CHECK_RULE,
  type StudyColumn,
  type StudyFile,
  type StudyRow,
  type StudyTable,
} from './study-file.ts';

/** Whole, without script and network. */
export async function studyPage(file: StudyFile): Promise<string> {
  const { study, question, setting, data, cost, interval } = file;
  const weaker = data.flatMap(({ name, weaker: why }) => (why === undefined ? [] : [`${name}: ${why}.`]));
  return htmlReport({
    title: `Study: ${study}`,
    summary: {
      text: [question],
      facts: [
        { label: 'Seeds', value: String(setting['seeds'] ?? 1) },
        ...data.map(({ name, host }) => ({
          label: 'Data',
          value: name,
          ...(host && { note: `host ${host}` }),
        })),
        {
          label: 'Time',
          value: `${minutes(cost.seconds)} min`,
          note: `${minutes(cost.cpuSeconds)} min of CPU`,
        },
      ],
    },
    sections: [
      ...verdictSection(file, weaker),
      ...(await Promise.all(file.tables.map((table) => tableSection(table, file.rows)))),
      {
        title: 'How it was made',
        blocks: [
          { kind: 'text', text: `Intervals: ${interval}. ${capital(CHECK_RULE)}.` },
          {
            kind: 'table',
            caption: 'Setting',
            columns: [{ label: 'key' }, { label: 'value' }],
            rows: Object.entries(setting).map(([key, value]) => [key, String(value)]),
          },
        ],
      },
    ],
    numbers: { study, setting, rows: file.rows },
    footer: `Every figure stands in the results.json that this page was made from; run the study with check= to compare.`,
  });
}

export async function writeStudyPage(path: string, file: StudyFile): Promise<void> {
  await writeFile(path, await studyPage(file));
}

function verdictSection({ verdicts }: StudyFile, weaker: readonly string[]): readonly ReportSection[] {
  const warnings = weaker.map((text): ReportBlock => ({ kind: 'warning', text }));
  if (verdicts.length === 0 && warnings.length === 0) return [];
  const table: ReportBlock = {
    kind: 'table',
    caption: 'What was claimed, and what was found',
    columns: [{ label: 'claim' }, { label: 'verdict' }, { label: 'because' }, { label: 'default' }],
    rows: verdicts.map(({ claim, source, verdict, because, default: chosen }) => [
      `${claim} (${source})`,
      verdict,
      because,
      chosen,
    ]),
  };
  return [{ title: 'Verdicts', blocks: [...warnings, ...(verdicts.length > 0 ? [table] : [])] }];
}

async function tableSection(
  { table, title, text, columns }: StudyTable,
  all: readonly StudyRow[],
): Promise<ReportSection> {
  const rows = all.filter((row) => row.table === table);
  const panels = columns.flatMap((column) => panelOf(column, rows));
  const chart: readonly ReportBlock[] =
    panels.length === 0
      ? []
      : [{ kind: 'figure', chart: await metricDots(panels, { title, note: 'Lines: 95 % intervals.' }) }];
  return {
    title,
    blocks: [
      { kind: 'text', text },
      ...chart,
      {
        kind: 'table',
        caption: `${title}: mean (95 % interval)`,
        columns: [{ label: '' }, ...columns.map(({ title: label }) => ({ label }))],
        rows: namesOf(rows).map(({ label, of }) => [label, ...columns.map((column) => cellOf(column, of))]),
      },
    ],
  };
}

function panelOf({ figure, title, plot }: StudyColumn, rows: readonly StudyRow[]): readonly MetricPanel[] {
  if (plot === undefined) return [];
  const shown = rows.filter((row) => row.figure === figure);
  return [
    {
      title,
      note: plot,
      rows: shown.map(({ row, series, mean, low, high }) => ({
        name: row,
        value: mean,
        interval: low === null || high === null ? null : ([low, high] as const),
        ...(series !== undefined && { series }),
      })),
    },
  ];
}

/** Rows of the table in the order in which they came. */
export function namesOf(
  rows: readonly StudyRow[],
): readonly { readonly label: string; readonly of: readonly StudyRow[] }[] {
  const groups = new Map<string, StudyRow[]>();
  for (const row of rows) {
    const label = row.series === undefined ? row.row : `${row.row}, ${row.series}`;
    groups.set(label, [...(groups.get(label) ?? []), row]);
  }
  return [...groups].map(([label, of]) => ({ label, of }));
}

/** `.412 (.398 to .426)`; the value alone where it has no interval. */
export function cellOf({ figure, digits = 3 }: StudyColumn, rows: readonly StudyRow[]): string {
  const row = rows.find((one) => one.figure === figure);
  if (row?.mean == null) return '–';
  const short = (value: number) =>
    value
      .toFixed(digits)
      .replace(/^(-?)0\./, '$1.')
      .replace(/^-/, '−');
  const { mean, low, high } = row;
  return low === null || high === null || low === high
    ? short(mean)
    : `${short(mean)} (${short(low)} to ${short(high)})`;
}

function minutes(seconds: number): string {
  return (seconds / 60).toFixed(1);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
