// Shares of pictures whose measured light is that of the table, per camera and light, and what was taken for what.
import { bootstrapFigures, type Figure } from 'edge-detect/core';
import { cameraTitle } from '../common/study-data.ts';
import {
  figureRow,
  type StudyColumn,
  type StudyRow,
  type StudyTable,
  seedRow,
} from '../common/study-file.ts';
import { type Seen, STATES } from './measure.ts';

/** Which ladder says what a picture shows. */
export type Reading = 'found' | 'foundElsewhere';

const READINGS = [
  {
    reading: 'foundElsewhere',
    table: 'fitted elsewhere',
    title: 'The ladder, fitted without the camera',
    text: 'For every camera the same model is fitted on the other cameras alone.',
  },
  {
    reading: 'found',
    table: 'shipped',
    title: 'The ladder as it is shipped',
    text: 'On lta_daynight_2021 these figures are too good: the shipped ladder was fitted to these very pictures.',
  },
] as const;

/** Brightest first. */
const SHOWN = [...STATES].reverse();

const SHARES: readonly StudyColumn[] = [
  { figure: 'pictures', title: 'pictures', digits: 0 },
  { figure: 'right', title: 'right', plot: 'share of the pictures, higher is better' },
  ...SHOWN.map((state) => ({ figure: state, title: state })),
];

export function lightTables(seen: readonly Seen[]): {
  readonly tables: readonly StudyTable[];
  readonly rows: readonly StudyRow[];
} {
  const parts = READINGS.flatMap(({ reading, table, title, text }) => [
    {
      table: {
        table,
        title,
        text: `${text} Share of the pictures whose measured light is that of the table, and the same of the pictures of one light. Where all are right, resampling has nothing to doubt: ten of ten may still be seven of ten elsewhere.`,
        columns: SHARES,
      },
      rows: shareRows(table, seen, reading),
    },
    {
      table: {
        table: `${table}, confusion`,
        title: `${title}: light of the table, and what was measured`,
        section: title,
        text: 'Numbers of pictures.',
        columns: SHOWN.map((state) => ({ figure: state, title: `measured: ${state}`, digits: 0 })),
      },
      rows: confusionRows(`${table}, confusion`, seen, reading),
    },
  ]);
  return { tables: parts.map(({ table }) => table), rows: parts.flatMap(({ rows }) => rows) };
}

function shareRows(table: string, seen: readonly Seen[], reading: Reading): readonly StudyRow[] {
  const cameras = [...new Set(seen.map(({ camera }) => camera))];
  const lines = [
    ...cameras.map((camera) => [cameraTitle(camera), (one: Seen) => one.camera === camera] as const),
    ['all cameras', () => true] as const,
  ];
  return lines.flatMap(([row, takes]) => {
    const at = (figure: string) => ({ table, row, figure });
    const share = (state?: string) =>
      shareRight(seen, reading, (one) => takes(one) && (state === undefined || one.truth === state));
    return [
      seedRow(at('pictures'), [seen.filter(takes).length]),
      figureRow(at('right'), share()),
      ...SHOWN.map((state) => figureRow(at(state), share(state))),
    ];
  });
}

/** Pictures of every camera are drawn in place of one another, never those of two. */
export function shareRight(
  seen: readonly Seen[],
  reading: Reading,
  takes: (one: Seen) => boolean = () => true,
): Figure {
  const places = new Map<string, number[]>();
  for (const [place, one] of seen.entries()) {
    if (takes(one)) places.set(one.camera, [...(places.get(one.camera) ?? []), place]);
  }
  const strata = [...places].map(([key, groups]) => ({ key, groups }));
  return bootstrapFigures(seen.length, strata, (counts) => {
    const all = counts.reduce((sum, count) => sum + count, 0);
    const right = counts.reduce((sum, count, place) => sum + (isRight(seen[place]!, reading) ? count : 0), 0);
    return { share: all === 0 ? undefined : right / all };
  }).share;
}

const isRight = (one: Seen, reading: Reading) => one[reading] === one.truth;

function confusionRows(table: string, seen: readonly Seen[], reading: Reading): readonly StudyRow[] {
  return SHOWN.flatMap((truth) =>
    SHOWN.map((state) =>
      seedRow({ table, row: truth, figure: state }, [confused(seen, reading, truth, state)]),
    ),
  );
}

/** Number of pictures in the light `truth` that are measured as `state`. */
export function confused(seen: readonly Seen[], reading: Reading, truth: string, state: string): number {
  return seen.filter((one) => one.truth === truth && one[reading] === state).length;
}
