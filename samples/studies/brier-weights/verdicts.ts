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
      default: 'gradient forms stay for BS-GRA; nothing is switched because of this claim',
    },
    {
      claim: 'Brier weights calibrate better than focal and dual focal ones',
      source: NOTE,
      ...judged([tally(differences(others, 'ece')), tally(differences(others, 'eceScaled'))]),
      because: `On gradients, raw: ${words(tally(differences(others, 'ece')))}; after temperature: ${words(tally(differences(others, 'eceScaled')))}.`,
      default: 'of the weighted class losses, bsceGra',
    },
    {
      claim: 'Brier weights on gradients calibrate better than cross entropy',
      source: NOTE,
      ...judged([entropy.raw, entropy.scaled]),
      because: `Raw: ${words(entropy.raw)}; after temperature: ${words(entropy.scaled)}.`,
      default:
        entropy.scaled.better > entropy.scaled.worse && entropy.raw.better >= entropy.raw.worse
          ? 'class_loss=bsceGra'
          : 'class_loss=ce is as good or better',
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
  readonly better: number;
  readonly worse: number;
  readonly count: number;
}

function tally(differences: readonly StudyRow[]): Tally {
  const sure = differences.filter(({ values }) => values.length > 1);
  return {
    better: sure.filter(({ high }) => high !== null && high < 0).length,
    worse: sure.filter(({ low }) => low !== null && low > 0).length,
    count: differences.length,
  };
}

function words({ better, worse, count }: Tally): string {
  return `better in ${better}, worse in ${worse}, open in ${count - better - worse} of ${count}`;
}

/** Better everywhere: holds; more often than worse: in part; else not. One seed says nothing. */
function judged(tallies: readonly Tally[]): Pick<StudyVerdict, 'verdict'> {
  if (tallies.every(({ better, count }) => count > 0 && better === count)) return { verdict: 'holds' };
  const more = tallies.reduce((sum, { better, worse }) => sum + better - worse, 0);
  return { verdict: more > 0 ? 'holds in part' : 'does not hold' };
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
    default: surely > 0 ? 'smaller γ, or cross entropy' : 'γ 2, β 2 where bsceGra is used',
  };
}
