// Claims of the note on logit ranges, and what the differences between ways say about each. The rules were written before
// the figures were seen, but for the one that says so: a claim holds where the intervals of all cases agree with it, in part
// where those of some do. `does not hold` is therefore often: no effect that five seeds could tell from none.
import { type StudyOption, type StudyRow, type StudyVerdict, seedRow } from '../common/study-file.ts';
import { graded, type Interval, isAbove, isBelow, shown } from '../common/verdict-rules.ts';
import { CORRELATION_TABLE, differencesOf, type Found } from './tables.ts';

const SOURCE = 'Murugesan et al., ECCV 2024';

const HELD_IN_TRAINING: StudyOption = { command: 'train', key: 'logit_range', value: 'off' };
const HELD_IN_USE: StudyOption = { command: 'export', key: 'sals', value: 'not set' };

export function verdictsOf(found: Found, rows: readonly StudyRow[]): readonly StudyVerdict[] {
  return [
    adaptationVerdict(found),
    normVerdict(found),
    rangeVerdict(rows),
    overConfidenceVerdict(rows),
    wayVerdict(found, {
      way: 'zs-norm',
      claim: 'ZS-Norm lowers the ECE of the adapted head',
      chosen: 'logit_range=off; zs-norm stays an option',
      option: HELD_IN_TRAINING,
    }),
    wayVerdict(found, {
      way: 'penalty',
      claim: 'The range penalty lowers the ECE of the adapted head',
      chosen: 'logit_range=off; penalty stays an option',
      option: HELD_IN_TRAINING,
    }),
    wayVerdict(found, {
      way: 'sals as published',
      claim: 'SaLS in use lowers the ECE of the adapted head',
      chosen: 'export scales nothing unless sals= asks, and then only shrinks',
      option: HELD_IN_USE,
    }),
    wayVerdict(found, {
      way: 'LogitNorm',
      claim: 'Holding the norm instead (LogitNorm) helps little',
      chosen: 'off; reachable from studies only',
      reverse: true,
    }),
    temperatureVerdict(found),
    detectorVerdict(found),
    scoreVerdict(found),
  ];
}

function difference(
  found: Found,
  caseName: string,
  pair: readonly [string, string],
  figure: string,
): Interval {
  return seedRow({ table: '', row: '', figure }, differencesOf(found, caseName, 'unseen', pair, figure));
}

/** `night, CE +.012 (+.003 to +.021)` for every case. */
function told(found: Found, pair: readonly [string, string], figure: string): string {
  return found.cases.map(({ name }) => `${name} ${shown(difference(found, name, pair, figure))}`).join('; ');
}

function adaptationVerdict(found: Found): StudyVerdict {
  const pair = ['none', 'reference'] as const;
  const votes = found.cases.map(
    ({ name }) =>
      isAbove(difference(found, name, pair, 'range')) && isAbove(difference(found, name, pair, 'ece')),
  );
  return {
    claim: 'Adapting a head widens its logits and spoils its calibration on what it was not adapted to',
    source: SOURCE,
    verdict: graded(votes),
    because: `adapted minus reference, range: ${told(found, pair, 'range')}. ECE: ${told(found, pair, 'ece')}. Confidence − accuracy: ${told(found, pair, 'confidence - accuracy')}. Accuracy: ${told(found, pair, 'accuracy')}.`,
    default: 'none follows: adaptation is judged on held-out cameras',
  };
}

function normVerdict(found: Found): StudyVerdict {
  const pair = ['none', 'reference'] as const;
  const votes = found.cases.map(({ name }) => isBelow(difference(found, name, pair, 'norm')));
  return {
    claim: 'The norm of the logits shrinks meanwhile',
    source: SOURCE,
    verdict: graded(votes),
    because: `adapted minus reference, norm: ${told(found, pair, 'norm')}.`,
    default: 'none follows',
  };
}

/** Above 0 with the norm held, while the norm with the range held is not. */
function rangeVerdict(rows: readonly StudyRow[]): StudyVerdict {
  const scopes = ['heads as trained, all cases', 'all ways, all cases'];
  return {
    claim: 'Range and not norm explains the miscalibration',
    source: SOURCE,
    ...partialsOf(rows, scopes, 'ece'),
    default: 'none follows: train reports ranges, and no default acts on them',
  };
}

/** Asked because ECE has no sign: a head that is not sure enough gets better where its range grows. */
function overConfidenceVerdict(rows: readonly StudyRow[]): StudyVerdict {
  const tables = [...new Set(rows.filter(({ table }) => table === CORRELATION_TABLE).map(({ row }) => row))];
  return {
    claim: 'Range and not norm goes with over-confidence (asked after the figures above were seen)',
    source: `${SOURCE}, beyond it`,
    ...partialsOf(rows, tables, 'confidence - accuracy'),
    default: 'none follows: how sure is not how wrong',
  };
}

function partialsOf(
  rows: readonly StudyRow[],
  scopes: readonly string[],
  series: string,
): Pick<StudyVerdict, 'verdict' | 'because'> {
  const of = (row: string, figure: string): Interval =>
    rows.find((one) => one.row === row && one.series === series && one.figure === figure) ?? NOTHING;
  const pairs = scopes.map((row) => ({
    row,
    range: of(row, 'range, norm held'),
    norm: of(row, 'norm, range held'),
  }));
  const words = pairs.map(
    ({ row, range, norm }) =>
      `${row}: range ${shown(range)} with the norm held, norm ${shown(norm)} with the range held`,
  );
  const what = series === 'ece' ? 'ECE' : 'confidence − accuracy';
  return {
    verdict: graded(pairs.map(({ range, norm }) => isAbove(range) && !isAbove(norm))),
    because: `Partial rank correlation with ${what}. ${words.join('; ')}.`,
  };
}

const NOTHING: Interval = { values: [], mean: null, low: null, high: null };

interface WayClaim {
  readonly way: string;
  readonly claim: string;
  readonly chosen: string;
  readonly option?: StudyOption;
  /** The claim is that the way does not help. */
  readonly reverse?: boolean;
}

function wayVerdict(found: Found, { way, claim, chosen, option, reverse = false }: WayClaim): StudyVerdict {
  const pair = [way, 'none'] as const;
  const votes = found.cases.map(({ name }) => isBelow(difference(found, name, pair, 'ece')) !== reverse);
  return {
    claim,
    source: SOURCE,
    verdict: graded(votes),
    because: `minus none on unseen pictures, ECE: ${told(found, pair, 'ece')}. NLL: ${told(found, pair, 'nll')}. Accuracy: ${told(found, pair, 'accuracy')}.`,
    default: chosen,
    ...(option && { options: [option] }),
  };
}

function temperatureVerdict(found: Found): StudyVerdict {
  const pair = ['sals as published', 'temperature'] as const;
  const votes = found.cases.map(({ name }) => isBelow(difference(found, name, pair, 'ece')));
  return {
    claim: 'Scaling per sample (SaLS) calibrates better than one temperature for all',
    source: SOURCE,
    verdict: graded(votes),
    because: `SaLS minus temperature, ECE: ${told(found, pair, 'ece')}. NLL: ${told(found, pair, 'nll')}. The temperature was fitted to pictures of other cameras than those that judge.`,
    default: 'sals off; it stays an option of export',
    options: [HELD_IN_USE],
  };
}

function detectorVerdict(found: Found): StudyVerdict {
  const ways = ['zs-norm', 'penalty', 'sals', 'sals as published'];
  const votes = ways.flatMap((way) => found.cases.map(({ name }) => helps(found, name, way)));
  const words = ways.map(
    (way) => `${way}: LaECE0 ${told(found, [way, 'none'], 'laEce0')}; AP ${told(found, [way, 'none'], 'ap')}`,
  );
  return {
    claim: 'Holding the logit range helps a detector (no figure was published)',
    source: `${SOURCE}, beyond it`,
    verdict: graded(votes),
    because: `minus none on unseen pictures. ${words.join('. ')}. Platt map: LaECE0 ${told(found, ['Platt', 'none'], 'laEce0')}.`,
    default: 'logit_range=off, sals off',
    options: [HELD_IN_TRAINING, HELD_IN_USE],
  };
}

/** Better scores or better ranks, and neither at the cost of the other. */
function helps(found: Found, caseName: string, way: string): boolean {
  const [laEce, ap] = ['laEce0', 'ap'].map((figure) => difference(found, caseName, [way, 'none'], figure));
  return (isBelow(laEce!) && !isBelow(ap!)) || (isAbove(ap!) && !isAbove(laEce!));
}

function scoreVerdict(found: Found): StudyVerdict {
  const pair = ['formula on scores', 'none'] as const;
  const votes = found.cases.map(({ name }) => helps(found, name, 'formula on scores'));
  return {
    claim: 'The formula can be put on the scores of a sigmoid head as it is',
    source: `${SOURCE}, beyond it`,
    verdict: graded(votes),
    because: `minus none, AP: ${told(found, pair, 'ap')}. LaECE0: ${told(found, pair, 'laEce0')}. The ceiling on positive logits: AP ${told(found, ['ceiling on scores', 'none'], 'ap')}; LaECE0 ${told(found, ['ceiling on scores', 'none'], 'laEce0')}.`,
    default: 'zs-norm and sals refuse sigmoid classes and fewer than three classes',
  };
}
