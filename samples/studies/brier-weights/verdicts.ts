// Verdicts by rule, from the rows alone: a difference counts where its 95 % interval leaves out 0.
import type { StudyRow, StudyVerdict } from '../common/study-file.ts';
import { OPTIMIZERS, type Optimizer, WEIGHT_NAMES } from './arms.ts';
import {
  AS_IT_IS,
  differencesName,
  ENTROPY_ROW,
  gradientRow,
  otherRow,
  SAME_STEP,
  tableName,
} from './object-tables.ts';
import { keysOf, TOYS, UNCERTAINTIES } from './toy.ts';
import { type CorrelationKind, TOY_STEPS, toyTable } from './toy-table.ts';

/** On uncertainty-weighted gradients (Lin et al., 2025). */
const NOTE = 'first note';

export function verdictsOf(rows: readonly StudyRow[], sets: readonly string[]): readonly StudyVerdict[] {
  const find = (table: string, row: string, figure: string, series?: string) =>
    rows.find(
      (one) => one.table === table && one.row === row && one.figure === figure && one.series === series,
    );
  const places = sets.flatMap((set) => OPTIMIZERS.map((optimizer) => ({ set, optimizer })));
  const differences = (names: readonly string[], figure: 'ece' | 'eceScaled', series = AS_IT_IS) =>
    places.flatMap(({ set, optimizer }) =>
      names.flatMap((name) => find(differencesName(set, optimizer), name, figure, series) ?? []),
    );
  const gradient = WEIGHT_NAMES.map(gradientRow);
  const others = [otherRow('dual focal'), otherRow('focal')];
  const against = [ENTROPY_ROW];
  const entropy = {
    raw: tally(differences(against, 'ece')),
    scaled: tally(differences(against, 'eceScaled')),
  };
  const beatsEntropy = isWorthIt([entropy.raw, entropy.scaled]);
  const needed = temperatureTally(
    places.map(({ set, optimizer }) =>
      find(tableName(set, 'main', optimizer), 'Brier', 'temperature', 'gradient'),
    ),
  );
  return [
    toyVerdict(rows),
    {
      claim: 'weights on gradients calibrate better than the same weights on losses',
      source: NOTE,
      ...judged([tally(differences(gradient, 'ece')), tally(differences(gradient, 'eceScaled'))]),
      because: `Raw: ${words(tally(differences(gradient, 'ece')))}; after temperature: ${words(tally(differences(gradient, 'eceScaled')))}; raw with equal steps (SGD): ${words(tally(differences(gradient, 'ece', SAME_STEP)))}.`,
      default:
        'none follows: gradient weights are softer than loss weights, which helps a head that is too sure and harms one that is not',
    },
    {
      claim: 'Brier weights calibrate better than focal and dual focal ones',
      source: NOTE,
      ...judged([tally(differences(others, 'ece')), tally(differences(others, 'eceScaled'))]),
      because: `On gradients, raw: ${words(tally(differences(others, 'ece')))}; after temperature: ${words(tally(differences(others, 'eceScaled')))}.`,
      default: isWorthIt([tally(differences(others, 'ece')), tally(differences(others, 'eceScaled'))])
        ? 'of the weighted class losses, bsceGra'
        : 'none follows',
    },
    {
      claim: 'Brier weights on gradients calibrate better than cross entropy',
      source: NOTE,
      ...judged([entropy.raw, entropy.scaled]),
      because: `Raw: ${words(entropy.raw)}; after temperature: ${words(entropy.scaled)}.`,
      default: beatsEntropy
        ? 'Brier weights on the gradient'
        : 'cross entropy; bsceGra stays an option, and a part of preset=published',
      options: [{ command: 'train', key: 'class_loss', value: beatsEntropy ? 'bsceGra' : 'ce' }],
    },
    {
      claim: 'trained so, no temperature is needed',
      source: NOTE,
      verdict: needed.none === needed.count ? 'holds' : needed.none > 0 ? 'holds in part' : 'does not hold',
      because: `The fitted temperature of Brier weights on gradients lies surely within .8 and 1.25 in ${needed.none} of ${needed.count} cases; surely below 1 (too soft) in ${needed.soft}, above (too sure) in ${needed.sharp}.`,
      default: 'every trained detector gets a calibrator, whatever its class loss',
    },
    exponentVerdict(rows, places),
  ];
}

interface Tally {
  /** Tables of the sure ones, one entry for each. */
  readonly better: readonly string[];
  readonly worse: readonly string[];
  readonly count: number;
}

function tally(differences: readonly StudyRow[]): Tally {
  const sure = differences.filter(({ values }) => values.length > 1);
  return {
    better: sure.filter(({ high }) => high !== null && high < 0).map(({ table }) => table),
    worse: sure.filter(({ low }) => low !== null && low > 0).map(({ table }) => table),
    count: differences.length,
  };
}

function words({ better, worse, count }: Tally): string {
  const open = count - better.length - worse.length;
  return `better in ${where(better)}, worse in ${where(worse)}, open in ${open} of ${count}`;
}

/** `3 (set sgd 2, set adamw 1)` */
function where(tables: readonly string[]): string {
  if (tables.length === 0) return '0';
  const names = tables.map((table) => table.replace(', differences,', ''));
  const counts = [...new Set(names)].map((name) => `${name} ${names.filter((one) => one === name).length}`);
  return `${tables.length} (${counts.join(', ')})`;
}

/** Surely better everywhere: holds; somewhere: in part; nowhere: not. One seed says nothing. */
function judged(tallies: readonly Tally[]): Pick<StudyVerdict, 'verdict'> {
  if (tallies.every(({ better, count }) => count > 0 && better.length === count)) return { verdict: 'holds' };
  return { verdict: tallies.some(({ better }) => better.length > 0) ? 'holds in part' : 'does not hold' };
}

/** Better more often than worse, over all tallies. */
function isWorthIt(tallies: readonly Tally[]): boolean {
  return tallies.reduce((sum, { better, worse }) => sum + better.length - worse.length, 0) > 0;
}

/** Temperatures that change no decision. */
const NEAR_ONE = [0.8, 1.25] as const;

function temperatureTally(temperatures: readonly (StudyRow | undefined)[]) {
  const known = temperatures.filter((row) => row !== undefined && row.mean !== null);
  return {
    count: known.length,
    none: known.filter((row) => (row?.low ?? 0) >= NEAR_ONE[0] && (row?.high ?? 0) <= NEAR_ONE[1]).length,
    soft: known.filter((row) => (row?.high ?? 1) < 1).length,
    sharp: known.filter((row) => (row?.low ?? 1) > 1).length,
  };
}

function toyVerdict(rows: readonly StudyRow[]): StudyVerdict {
  const names = keysOf(UNCERTAINTIES);
  const cases = Object.keys(TOYS).flatMap((toy) => names.map((name) => ({ toy, name })));
  const isAbove = (table: string, name: string, figure: string) => {
    const row = rows.find((one) => one.table === table && one.row === name && one.figure === figure);
    return (row?.values.length ?? 0) > 1 && (row?.low ?? 0) > 0;
  };
  const inOrder = (kind: CorrelationKind) =>
    cases
      .filter(({ toy, name }) =>
        TOY_STEPS.every(([a, b]) => isAbove(toyTable(toy, kind), name, `${a} − ${b}`)),
      )
      .map(({ toy, name }) => `${name}, ${toy}`);
  const [linear, ranked] = [inOrder('pearson'), inOrder('spearman')];
  const most = linear.length;
  return {
    claim: 'the Brier weight follows the true uncertainty better than dual focal, that better than focal',
    source: NOTE,
    verdict: most === cases.length ? 'holds' : most > 0 ? 'holds in part' : 'does not hold',
    because: `The order is sure for ${most} of ${cases.length} meanings of uncertainty and toys by Pearson (${linear.join('; ') || 'none'}), for ${ranked.length} by Spearman (${ranked.join('; ') || 'none'}).`,
    default: 'none: the weight needs the label, so no running detector has it',
  };
}

function exponentVerdict(
  rows: readonly StudyRow[],
  places: readonly { readonly set: string; readonly optimizer: Optimizer }[],
): StudyVerdict {
  let [lower, surely, count] = [0, 0, 0];
  for (const { set, optimizer } of places) {
    const of = (group: 'main' | 'grid') =>
      rows.filter(
        ({ table, row, series, figure }) =>
          table === tableName(set, group, optimizer) &&
          row.startsWith('Brier') &&
          series === 'gradient' &&
          figure === 'ece',
      );
    const [standard] = of('main');
    for (const { mean, high } of of('grid')) {
      count++;
      if (standard?.mean == null || mean === null) continue;
      if (mean < standard.mean) lower++;
      if (high !== null && standard.low !== null && high < standard.low) surely++;
    }
  }
  return {
    claim: 'no exponent needs tuning: β 2, γ 2 will do',
    source: NOTE,
    verdict: lower === 0 ? 'holds' : surely > 0 ? 'does not hold' : 'holds in part',
    because: `Of ${count} other pairs of exponents ${lower} have a lower raw ECE, ${surely} with an interval wholly below.`,
    default:
      surely > 0
        ? 'cross entropy, which has no exponents; 2 and 2, as in the note, where a weighted loss is asked for'
        : 'γ 2, β 2 where a weighted loss is asked for',
  };
}
