// Tables of the study of policies: for every host its suppressions and its thresholds, in all light, and folded per light.
import {
  figureRow,
  type StudyColumn,
  type StudyRow,
  type StudyTable,
  seedRow,
} from '../common/study-file.ts';
import { type HostResult, PLAIN, type SuppressionRow, type ThresholdRow } from './host.ts';
import type { ChoiceSetting } from './setting.ts';

const GAIN = 'above 0: better';

const SUPPRESSION_COLUMNS: readonly StudyColumn[] = [
  { figure: 'ap', title: 'AP' },
  { figure: 'apGain', title: 'AP, gain', plot: GAIN },
  { figure: 'ap50Gain', title: 'AP50, gain' },
  { figure: 'recallGain', title: 'recall at .5, gain', plot: GAIN },
  { figure: 'strictRecallGain', title: 'recall at .75, gain', plot: GAIN },
];

const THRESHOLD_COLUMNS: readonly StudyColumn[] = [
  { figure: 'f1Gain', title: 'F1, gain', plot: GAIN },
  { figure: 'recallGain', title: 'recall, gain', plot: GAIN },
  { figure: 'precisionGain', title: 'precision, gain', plot: GAIN },
  { figure: 'recall', title: 'recall' },
  { figure: 'boxes', title: 'boxes a picture', digits: 1 },
  { figure: 'fixedBoxes', title: 'boxes, fixed', digits: 1 },
];

/** Rows of all pictures together, and those of one light. */
const SCOPES = [
  { name: '', title: 'all light', own: (slice: string) => slice === 'all' },
  { name: ' by light', title: 'each light', own: (slice: string) => slice !== 'all' },
] as const;

export function policyTables(
  results: readonly HostResult[],
  setting: ChoiceSetting,
): { readonly tables: readonly StudyTable[]; readonly rows: readonly StudyRow[] } {
  const parts = results.flatMap((result) => [
    ...SCOPES.map((scope) => suppressionTable(result, scope, setting)),
    ...SCOPES.map((scope) => thresholdTable(result, scope)),
  ]);
  const shown = parts.filter(({ rows }) => rows.length > 0);
  return { tables: shown.map(({ table }) => table), rows: shown.flatMap(({ rows }) => rows) };
}

interface Part {
  readonly table: StudyTable;
  readonly rows: readonly StudyRow[];
}

type Scope = (typeof SCOPES)[number];

function suppressionTable(
  { host, suppressions }: HostResult,
  { name, title, own }: Scope,
  { conf }: ChoiceSetting,
): Part {
  const table = `suppression${name}, ${host}`;
  const plain = suppressions.find(({ policy, slice }) => policy === PLAIN && slice === 'all');
  const boxes = plain?.equal.boxes[1].toFixed(2) ?? '0';
  return {
    table: {
      table,
      title: `Suppressions, ${host}, ${title}`,
      section: `Suppressions, ${host}`,
      folded: name !== '',
      text: `AP needs no threshold. Recall: with as many boxes as ${PLAIN} keeps above ${conf} (${boxes} a picture), at IoU .5 and .75. Gains: minus ${PLAIN}.`,
      columns: SUPPRESSION_COLUMNS,
    },
    rows: suppressions.filter(({ slice }) => own(slice)).flatMap((row) => suppressionFigures(table, row)),
  };
}

function suppressionFigures(table: string, row: SuppressionRow): readonly StudyRow[] {
  const at = (figure: string) => ({ table, ...placeOf(row), figure });
  const { ap, equal, equalStrict } = row;
  const level = figureRow(at('ap'), ap.ap);
  if (row.policy === PLAIN) return [level];
  return [
    level,
    figureRow(at('apGain'), ap.apGain),
    figureRow(at('ap50Gain'), ap.ap50Gain),
    figureRow(at('recallGain'), equal.recallGain),
    figureRow(at('strictRecallGain'), equalStrict.recallGain),
  ];
}

function thresholdTable({ host, thresholds }: HostResult, { name, title, own }: Scope): Part {
  const table = `thresholds${name}, ${host}`;
  return {
    table: {
      table,
      title: `Thresholds, ${host}, ${title}`,
      section: `Thresholds, ${host}`,
      folded: name !== '',
      text: 'Gains: minus the one fixed threshold that keeps as many boxes over all light, at IoU .5. Every camera has thresholds that were fitted on the other cameras.',
      columns: THRESHOLD_COLUMNS,
    },
    rows: thresholds.filter(({ slice }) => own(slice)).flatMap((row) => thresholdFigures(table, row)),
  };
}

function thresholdFigures(table: string, row: ThresholdRow): readonly StudyRow[] {
  const at = (figure: string) => ({ table, ...placeOf(row), figure });
  const { f1Gain, recallGain, precisionGain, recall, boxes } = row.equal;
  return [
    figureRow(at('f1Gain'), f1Gain),
    figureRow(at('recallGain'), recallGain),
    figureRow(at('precisionGain'), precisionGain),
    figureRow(at('recall'), recall),
    seedRow(at('boxes'), [boxes[0]]),
    seedRow(at('fixedBoxes'), [boxes[1]]),
  ];
}

function placeOf({ policy, slice }: { readonly policy: string; readonly slice: string }) {
  return slice === 'all' ? { row: policy } : { row: policy, series: slice };
}
