// The errata as a table of words, and their figures as rows that a check compares.
import { type StudyFile, seedRow } from '../common/study-file.ts';
import { errata } from './errata.ts';

export function errataTable(): Pick<StudyFile, 'tables' | 'rows'> {
  const found = errata();
  const short = (value: number) => (value === 0 ? '0' : String(Number(value.toPrecision(5))));
  return {
    tables: [
      {
        table: 'errata',
        title: 'Errata of the note',
        text: "What the note says, and the figures that say otherwise, computed by the product's own losses.",
        columns: [],
        words: {
          columns: ['', 'said', 'found', 'figures'],
          rows: found.map(({ id, said, found: truth, figures }) => [
            id,
            said,
            truth,
            figures.map(({ figure, value }) => `${figure}: ${short(value)}`).join('; '),
          ]),
        },
      },
    ],
    rows: found.flatMap(({ id, figures }) =>
      figures.map(({ figure, value }) => seedRow({ table: 'errata', row: id, figure }, [value])),
    ),
  };
}
