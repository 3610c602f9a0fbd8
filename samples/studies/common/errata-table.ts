// Errata of a note: a table of words, and their figures as rows that a check compares.
import { type StudyFile, seedRow } from './study-file.ts';

export interface ErratumFigure {
  readonly figure: string;
  /** Null where there is no number. */
  readonly value: number | null;
}

export interface Erratum {
  readonly id: string;
  /** As the note has it. */
  readonly said: string;
  /** What is true. */
  readonly found: string;
  readonly figures: readonly ErratumFigure[];
}

/** @param place what the figures were computed by, and the section of the page; its own without */
export function errataTable(
  errata: readonly Erratum[],
  { by, section }: { readonly by: string; readonly section?: string },
): Pick<StudyFile, 'tables' | 'rows'> {
  const table = 'errata';
  return {
    tables: [
      {
        table,
        title: 'Errata of the note',
        ...(section !== undefined && { section }),
        text: `What the note says, and the figures that say otherwise, computed by ${by}.`,
        columns: [],
        words: {
          columns: ['', 'said', 'found', 'figures'],
          rows: errata.map(({ id, said, found, figures }) => [
            id,
            said,
            found,
            figures.map(({ figure, value }) => `${figure}: ${short(value)}`).join('; '),
          ]),
        },
      },
    ],
    rows: errata.flatMap(({ id, figures }) =>
      figures.map(({ figure, value }) => seedRow({ table, row: id, figure }, [value])),
    ),
  };
}

function short(value: number | null): string {
  if (value === null) return 'no number';
  return value === 0 ? '0' : String(Number(value.toPrecision(5)));
}
