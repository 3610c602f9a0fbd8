// The toy as tables: correlations of each weight with each uncertainty, and their differences seed by seed.
import { type StudyFile, type StudyRow, seedRow } from '../common/study-file.ts';
import { keysOf, type ToyResult, UNCERTAINTIES, type Uncertainty, WEIGHTS } from './toy.ts';

/** Differences that the published order is made of. */
export const TOY_STEPS = [
  ['Brier', 'dual focal'],
  ['dual focal', 'focal'],
] as const;

const KINDS = ['pearson', 'spearman'] as const;
export type CorrelationKind = (typeof KINDS)[number];

export function toyTable(toy: string, kind: CorrelationKind): string {
  return `toy, ${toy}, ${kind}`;
}

/** @param toys per toy one result per seed */
export function toyTables(
  toys: ReadonlyMap<string, readonly ToyResult[]>,
): Pick<StudyFile, 'tables' | 'rows'> {
  const names = keysOf(UNCERTAINTIES);
  const [first] = toys.keys();
  const meaning = names.map((name) => `${name}: ${UNCERTAINTIES[name]}`).join('; ');
  const intro = `Gaussian classes, their posterior η known; a network of one hidden layer learned some points with cross entropy, 4000 others judge it. Weights as the product's losses give them (γ 2, β 2), with the drawn label. ${meaning}. Published, without saying of what: Brier .664, dual focal .638, focal .550.`;
  return {
    tables: [
      ...[...toys.keys()].flatMap((toy) =>
        KINDS.map((kind) => ({
          table: toyTable(toy, kind),
          section: 'Toy: weights against what is uncertain',
          together: kind === 'pearson' ? 'Pearson correlation' : 'Spearman correlation',
          title: `${kind === 'pearson' ? 'Pearson' : 'Spearman'} correlation with what is uncertain, ${toy}`,
          text: kind === 'pearson' && toy === first ? intro : '',
          columns: [
            ...keysOf(WEIGHTS).map((figure) => ({ figure, title: figure, plot: 'higher is better' })),
            ...TOY_STEPS.map(([a, b]) => ({ figure: `${a} − ${b}`, title: `${a} − ${b}` })),
          ],
        })),
      ),
      {
        table: 'toy, sanity',
        section: 'Toy: weights against what is uncertain',
        title: 'The toys themselves',
        text: 'Share of points named right, by the network and by the posterior itself.',
        columns: [
          { figure: 'accuracy', title: 'network' },
          { figure: 'bestAccuracy', title: 'posterior' },
        ],
      },
    ],
    rows: [...toys].flatMap(([toy, results]) => [
      ...KINDS.flatMap((kind) => names.flatMap((name) => rowsOf(results, { toy, kind, name }))),
      ...(['accuracy', 'bestAccuracy'] as const).map((figure) =>
        seedRow(
          { table: 'toy, sanity', row: toy, figure },
          results.map((result) => result[figure]),
        ),
      ),
    ]),
  };
}

function rowsOf(
  toys: readonly ToyResult[],
  { toy, kind, name }: { readonly toy: string; readonly kind: CorrelationKind; readonly name: Uncertainty },
): readonly StudyRow[] {
  const place = { table: toyTable(toy, kind), row: name };
  return [
    ...keysOf(WEIGHTS).map((figure) =>
      seedRow(
        { ...place, figure },
        toys.map((one) => one[kind][name][figure]),
      ),
    ),
    ...TOY_STEPS.map(([a, b]) =>
      seedRow(
        { ...place, figure: `${a} − ${b}` },
        toys.map((one) => {
          const found = one[kind][name];
          return found[a] === null || found[b] === null ? null : found[a] - found[b];
        }),
      ),
    ),
  ];
}
