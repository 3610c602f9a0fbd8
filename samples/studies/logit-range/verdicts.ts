// Claims of the note on logit ranges, and what the differences between ways say about each. The rules were written before
// the figures were seen: a claim holds where the intervals of all cases agree with it, in part where those of some do.
import { type StudyRow, type StudyVerdict, seedRow } from '../common/study-file.ts';
import { differencesOf, type Found } from './tables.ts';

const SOURCE = 'Murugesan et al., ECCV 2024';

export function verdictsOf(found: Found, rows: readonly StudyRow[]): readonly StudyVerdict[] {
  return [
    adaptationVerdict(found),
    normVerdict(found),
    rangeVerdict(rows),
    wayVerdict(found, {
      way: 'zs-norm',
      claim: 'ZS-Norm lowers the ECE of the adapted head',
      chosen: 'logit_range=off; zs-norm stays an option',
    }),
    wayVerdict(found, {
      way: 'penalty',
      claim: 'The range penalty lowers the ECE of the adapted head',
      chosen: 'logit_range=off; penalty stays an option',
    }),
    wayVerdict(found, {
      way: 'sals as published',
      claim: 'SaLS in use lowers the ECE of the adapted head',
      chosen: 'export scales nothing unless sals= asks, and then only shrinks',
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

interface Interval {
  readonly mean: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

function difference(
  found: Found,
  caseName: string,
  pair: readonly [string, string],
  figure: string,
): Interval {
  return seedRow({ table: '', row: '', figure }, differencesOf(found, caseName, 'unseen', pair, figure));
}

const isBelow = ({ high }: Interval) => high !== null && high < 0;
const isAbove = ({ low }: Interval) => low !== null && low > 0;

function graded(votes: readonly boolean[]): StudyVerdict['verdict'] {
  if (votes.every(Boolean)) return 'holds';
  return votes.some(Boolean) ? 'holds in part' : 'does not hold';
}

/** `night, CE +.012 (+.003 to +.021)` for every case. */
function told(found: Found, pair: readonly [string, string], figure: string): string {
  return found.cases.map(({ name }) => `${name} ${shown(difference(found, name, pair, figure))}`).join('; ');
}

function shown({ mean, low, high }: Interval): string {
  if (mean === null || low === null || high === null) return '–';
  return `${signed(mean)} (${signed(low)} to ${signed(high)})`;
}

function signed(value: number): string {
  const text = Math.abs(value).toFixed(3).replace(/^0\./, '.');
  return value < 0 ? `−${text}` : `+${text}`;
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
    because: `adapted minus reference, range: ${told(found, pair, 'range')}. ECE: ${told(found, pair, 'ece')}. Accuracy: ${told(found, pair, 'accuracy')}.`,
    default: 'adaptation is judged on held-out cameras, and calibrated afterwards',
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
  const of = (row: string, series: string, figure: string): Interval =>
    rows.find((one) => one.row === row && one.series === series && one.figure === figure) ?? {
      mean: null,
      low: null,
      high: null,
    };
  const scopes = ['heads as trained, all cases', 'all ways, all cases'];
  const votes = scopes.map((row) => {
    const [range, norm] = ['range, norm held', 'norm, range held'].map((figure) => of(row, 'ece', figure));
    return isAbove(range!) && !isAbove(norm!);
  });
  const words = scopes.map(
    (row) =>
      `${row}: range ${shown(of(row, 'ece', 'range, norm held'))} with the norm held, norm ${shown(of(row, 'ece', 'norm, range held'))} with the range held`,
  );
  return {
    claim: 'Range and not norm explains the miscalibration',
    source: SOURCE,
    verdict: graded(votes),
    because: `Partial rank correlation with ECE. ${words.join('; ')}.`,
    default: 'none follows: train reports ranges, and no default acts on them',
  };
}

function wayVerdict(
  found: Found,
  {
    way,
    claim,
    chosen,
    reverse = false,
  }: { readonly way: string; readonly claim: string; readonly chosen: string; readonly reverse?: boolean },
): StudyVerdict {
  const pair = [way, 'none'] as const;
  const votes = found.cases.map(({ name }) => isBelow(difference(found, name, pair, 'ece')) !== reverse);
  return {
    claim,
    source: SOURCE,
    verdict: graded(votes),
    because: `minus none on unseen pictures, ECE: ${told(found, pair, 'ece')}. NLL: ${told(found, pair, 'nll')}. Accuracy: ${told(found, pair, 'accuracy')}.`,
    default: chosen,
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
    default: 'calibrate fits maps to held-out pictures; sals stays an option of export',
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
    default: 'logit_range=off, sals off, calibrate after every adaptation',
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
