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
        ...('seeds' in setting ? [{ label: 'Seeds', value: String(setting['seeds']) }] : []),
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
      ...(await tableSections(file)),
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
    columns: [{ label: 'verdict' }, { label: 'claim' }],
    rows: verdicts.map(({ claim, verdict }) => [verdict, claim]),
  };
  const reasons = verdicts.map(
    ({ claim, source, verdict, because, default: chosen }): ReportBlock => ({
      kind: 'text',
      text: `${capital(claim)} (${source}): ${verdict}. ${because} Default: ${chosen}.`,
    }),
  );
  return [{ title: 'Verdicts', blocks: [...warnings, ...(verdicts.length > 0 ? [table] : []), ...reasons] }];
}

/** Tables of one section stand under each other, in the order in which they come. */
async function tableSections({ tables, rows }: StudyFile): Promise<readonly ReportSection[]> {
  const sections = new Map<string, ReportBlock[]>();
  for (const table of tables) {
    const title = table.section ?? table.title;
    const own = await tableBlocks(table, rows);
    const blocks: readonly ReportBlock[] =
      table.folded === true ? [{ kind: 'fold', label: table.title, blocks: own }] : own;
    sections.set(title, [...(sections.get(title) ?? []), ...blocks]);
  }
  return [...sections].map(([title, blocks]) => ({ title, blocks }));
}

async function tableBlocks(
  { table, title, text, columns, words, together }: StudyTable,
  all: readonly StudyRow[],
): Promise<readonly ReportBlock[]> {
  const rows = all.filter((row) => row.table === table);
  const panels =
    together === undefined
      ? columns.flatMap((column) => panelOf(column, rows))
      : [panelOfAll(together, columns, rows)];
  const chart: readonly ReportBlock[] =
    panels.length === 0
      ? []
      : [{ kind: 'figure', chart: await metricDots(panels, { title, note: 'Lines: 95 % intervals.' }) }];
  const figures: ReportBlock = {
    kind: 'table',
    caption: `${title} (95 % intervals)`,
    columns: [{ label: '' }, ...columns.map(({ title: label }) => ({ label }))],
    rows: namesOf(rows).map(({ label, of }) => [label, ...columns.map((column) => cellOf(column, of))]),
  };
  return [
    ...(text === '' ? [] : [{ kind: 'text', text } as const]),
    ...chart,
    ...(columns.length > 0 ? [figures] : []),
    ...(words === undefined ? [] : wordBlocks(words)),
  ];
}

/** Drawn columns side by side in one panel. */
function panelOfAll(title: string, columns: readonly StudyColumn[], rows: readonly StudyRow[]): MetricPanel {
  const shown = columns.filter(({ plot }) => plot !== undefined);
  const names = [...new Set(rows.map(({ row }) => row))];
  const note = shown[0]?.plot;
  return {
    title,
    ...(note !== undefined && { note }),
    rows: names.flatMap((name) =>
      shown.flatMap(({ figure, title: series }) => {
        const found = rows.find(({ row, figure: own }) => row === name && own === figure);
        return found === undefined ? [] : [{ ...dotOf(found), series }];
      }),
    ),
  };
}

function dotOf({ row: name, mean: value, low, high }: StudyRow) {
  return { name, value, interval: low === null || high === null ? null : ([low, high] as const) };
}

/** Sentences do not fit into cells: every row is a paragraph. */
function wordBlocks({ columns, rows }: NonNullable<StudyTable['words']>): readonly ReportBlock[] {
  return rows.map(([first = '', ...cells]) => {
    const said = cells.map((cell, place) => `${capital(columns[place + 1] ?? '')}: ${cell}.`);
    return { kind: 'text', text: `${first} – ${said.join(' ')}` };
  });
}

function panelOf({ figure, title, plot }: StudyColumn, rows: readonly StudyRow[]): readonly MetricPanel[] {
  if (plot === undefined) return [];
  const shown = rows.filter((row) => row.figure === figure);
  return [
    {
      title,
      note: plot,
      rows: shown.map((row) => ({ ...dotOf(row), ...(row.series !== undefined && { series: row.series }) })),
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
