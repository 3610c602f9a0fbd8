// What was measured under all seeds, as rows of tables with one value per seed.

import { correlation, partialRankCorrelation, rankCorrelation } from '../common/correlation.ts';
import type { Figures } from '../common/seeded-tables.ts';
import { type RowPlace, type StudyRow, type StudyTable, seedRow } from '../common/study-file.ts';
import { errata } from './errata.ts';
import { type Case, type Measured, SETS, type SetName } from './measure.ts';
import { WAYS } from './ways.ts';

/** Figures of the class branch and of boxes, in the order of the columns. */
const CLASS_COLUMNS = [
  { figure: 'range', title: 'logit range', digits: 2 },
  { figure: 'norm', title: 'logit norm', digits: 2 },
  { figure: 'norm without mean', title: 'norm without its mean', digits: 2 },
  { figure: 'accuracy', title: 'accuracy' },
  { figure: 'ece', title: 'ECE, 15 bins', plot: 'class branch at objects; smaller is better' },
  { figure: 'ece 10 bins', title: '10 bins' },
  { figure: 'confidence - accuracy', title: 'confidence − accuracy' },
  { figure: 'nll', title: 'NLL' },
] as const;

const BOX_COLUMNS = [
  { figure: 'ap50', title: 'AP50' },
  { figure: 'ap', title: 'AP', plot: 'boxes; larger is better' },
  { figure: 'laEce0', title: 'LaECE0', plot: 'boxes of .01 or more; smaller is better' },
  { figure: 'score - IoU', title: 'score − IoU' },
  { figure: 'laEce0 best', title: 'LaECE0, best boxes' },
  { figure: 'score - IoU best', title: 'score − IoU, best boxes' },
] as const;

const COLUMNS = [...CLASS_COLUMNS, ...BOX_COLUMNS];

/** On the pictures of what was adapted to, which no claim is about. */
const FEW = ['accuracy', 'ece', 'confidence - accuracy', 'ap50', 'ap', 'laEce0'];

/** Differences that claims are about; `none` under the same seed is taken off. */
const DIFFERENCES = [
  'range',
  'norm',
  'accuracy',
  'ece',
  'nll',
  'ap50',
  'ap',
  'laEce0',
  'laEce0 best',
] as const;

export interface Found {
  readonly seeds: number;
  readonly cases: readonly Case[];
  readonly measured: readonly Measured[];
}

/** The figures of a way under every seed. */
function valuesOf({ measured, seeds }: Found, caseName: string, set: SetName, way: string, figure: string) {
  return Array.from({ length: seeds }, (_, seed) => {
    const one = measured.find(
      (run) => run.case === caseName && run.set === set && run.way === way && run.seed === seed,
    );
    return one?.figures[figure] ?? null;
  });
}

export function differencesOf(
  found: Found,
  caseName: string,
  set: SetName,
  [way, base]: readonly [way: string, base: string],
  figure: string,
): readonly (number | null)[] {
  const own = valuesOf(found, caseName, set, way, figure);
  const other = valuesOf(found, caseName, set, base, figure);
  return own.map((value, seed) => (value === null || other[seed] == null ? null : value - other[seed]));
}

export function studyTables(found: Found): {
  readonly tables: readonly StudyTable[];
  readonly rows: readonly StudyRow[];
} {
  const parts = [
    waysTable(),
    ...SETS.flatMap((set) => found.cases.map((one) => figureTable(found, one.name, set))),
    ...found.cases.map((one) => differenceTable(found, one.name)),
    correlationTable(found),
    errataTable(),
  ];
  return { tables: parts.map(({ table }) => table), rows: parts.flatMap(({ rows }) => rows) };
}

interface Part {
  readonly table: StudyTable;
  readonly rows: readonly StudyRow[];
}

function waysTable(): Part {
  const table: StudyTable = {
    table: 'ways',
    title: 'What was compared',
    text: 'Every way begins with the same reference under a seed, and all that are trained see the same pictures in the same order.',
    columns: [],
    words: { columns: ['way', 'what it is'], rows: WAYS.map(({ name, text }) => [name, text]) },
  };
  return { table, rows: [] };
}

const SET_WORDS: Readonly<Record<SetName, Readonly<Record<Case['adaptation'], string>>>> = {
  unseen: {
    night: 'dusk of the held-out cameras, which neither reference nor adaptation saw',
    camera: 'the held-out cameras in all light, which neither reference nor adaptation saw',
  },
  adapted: {
    night: 'night of the held-out cameras: the light that was adapted to',
    camera: 'later pictures of the camera that was adapted to',
  },
};

function figureTable(found: Found, caseName: string, set: SetName): Part {
  const { adaptation } = found.cases.find(({ name }) => name === caseName)!;
  const table = `${caseName}, ${set}`;
  const columns = COLUMNS.filter(({ figure }) => set === 'unseen' || FEW.includes(figure));
  const rows = WAYS.flatMap(({ name }) =>
    columns.flatMap(({ figure }) => {
      const values = valuesOf(found, caseName, set, name, figure);
      return values.every((value) => value === null) ? [] : [seedRow({ table, row: name, figure }, values)];
    }),
  );
  const text = `Judged by ${SET_WORDS[set][adaptation]}. Range, norm, accuracy, ECE and NLL are of the class branch, at up to 10 anchors an object whose box meets it with an IoU of .5 or more; the rest is of the boxes.`;
  return { table: { table, title: table, text, columns }, rows };
}

function differenceTable(found: Found, caseName: string): Part {
  const table = `${caseName}, minus none`;
  const rows = WAYS.filter(({ name }) => name !== 'none').flatMap(({ name }) =>
    DIFFERENCES.flatMap((figure) => {
      const values = differencesOf(found, caseName, 'unseen', [name, 'none'], figure);
      return values.every((value) => value === null) ? [] : [seedRow({ table, row: name, figure }, values)];
    }),
  );
  const columns = DIFFERENCES.map((figure) => ({
    ...COLUMNS.find((column) => column.figure === figure)!,
    ...(figure === 'ece' || figure === 'laEce0' || figure === 'ap'
      ? { plot: 'minus none under the same seed; unseen pictures' }
      : { plot: undefined }),
  }));
  const text =
    'Under the same seed, on the unseen pictures. The row of the reference, read with the other sign, is what plain adaptation did.';
  return {
    table: {
      table,
      title: table,
      text,
      columns: columns.map(({ plot, ...rest }) => ({ ...rest, ...(plot !== undefined && { plot }) })),
    },
    rows,
  };
}

/** Ways that act in training: what the paper compares. */
const TRAINED = ['reference', 'none', 'zs-norm', 'penalty', 'LogitNorm'] as const;

/** What may explain, and what is to be explained. */
const EXPLAINED = ['ece', 'confidence - accuracy'] as const;

export const CORRELATION_TABLE = 'range or norm';

function correlationTable(found: Found): Part {
  const scopes = [
    {
      row: 'heads as trained, all cases',
      keep: ({ way }: Measured) => (TRAINED as readonly string[]).includes(way),
    },
    { row: 'all ways, all cases', keep: () => true },
    ...found.cases.map(({ name }) => ({
      row: `all ways, ${name}`,
      keep: (run: Measured) => run.case === name,
    })),
  ];
  const rows = scopes.flatMap(({ row, keep }) =>
    EXPLAINED.flatMap((explained) => {
      const perSeed = Array.from({ length: found.seeds }, (_, seed) =>
        explanations(
          found.measured.filter((run) => run.seed === seed && run.set === 'unseen' && keep(run)),
          explained,
        ),
      );
      return CORRELATIONS.map(({ figure }) =>
        seedRow(
          { table: CORRELATION_TABLE, row, series: explained, figure } satisfies RowPlace,
          perSeed.map((one) => one[figure] ?? null),
        ),
      );
    }),
  );
  const text =
    'Within one seed, over the ways on the unseen pictures: how closely mean logit range and mean logit norm go with ECE and with confidence − accuracy. Ranks (Spearman), and ranks with the other of the two held (partial); one value per seed.';
  return {
    table: { table: CORRELATION_TABLE, title: 'Range or norm?', text, columns: [...CORRELATIONS] },
    rows,
  };
}

const CORRELATIONS = [
  { figure: 'range', title: 'range, ranks', digits: 2, plot: 'rank correlation' },
  { figure: 'norm', title: 'norm, ranks', digits: 2, plot: 'rank correlation' },
  { figure: 'range, norm held', title: 'range, norm held', digits: 2 },
  { figure: 'norm, range held', title: 'norm, range held', digits: 2 },
  { figure: 'range, linear', title: 'range, linear', digits: 2 },
  { figure: 'norm, linear', title: 'norm, linear', digits: 2 },
  { figure: 'range with norm', title: 'range with norm, ranks', digits: 2 },
] as const;

function explanations(runs: readonly Measured[], explained: (typeof EXPLAINED)[number]): Figures {
  const whole = runs.filter(({ figures }) => figures[explained] != null && figures['range'] != null);
  const column = (figure: string) => whole.map(({ figures }) => figures[figure]!);
  const [range, norm, error] = [column('range'), column('norm'), column(explained)];
  return {
    range: rankCorrelation(range, error),
    norm: rankCorrelation(norm, error),
    'range, norm held': partialRankCorrelation(range, error, norm),
    'norm, range held': partialRankCorrelation(norm, error, range),
    'range, linear': correlation(range, error),
    'norm, linear': correlation(norm, error),
    'range with norm': rankCorrelation(range, norm),
  };
}

function errataTable(): Part {
  const table = 'errata';
  return {
    table: {
      table,
      title: 'Errata of the published text',
      text: "Each line computed by the product's code; – where the formula gives no number.",
      columns: [{ figure: 'value', title: 'value', digits: 4 }],
    },
    rows: errata().map(({ line, text, value }) =>
      seedRow({ table, row: `${line}: ${text}`, figure: 'value' }, [value]),
    ),
  };
}
