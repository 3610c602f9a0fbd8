// Claims of the note on score distributions, and what the figures say about each. The rules were written before the figures
// were seen: a difference counts where its 95 % interval leaves out 0.
import { differenceOf, figureOf } from '../common/seeded-verdicts.ts';
import type { StudyOption, StudyVerdict } from '../common/study-file.ts';
import {
  type Graded,
  graded,
  gradedBy,
  type Interval,
  isAbove,
  isBelow,
  isSure,
  plain,
  shown,
} from '../common/verdict-rules.ts';
import { type Found, percent } from './tables.ts';

const SOURCE = 'second note';

const TEN_BINS: StudyOption = { command: 'train', key: 'bins', value: 10 };
const FIXED_THRESHOLD: StudyOption = { command: 'stream', key: 'threshold', value: 'fixed' };

export function verdictsOf(found: Found): readonly StudyVerdict[] {
  return [
    binsVerdict(found),
    argmaxVerdict(found),
    smoothingVerdict(found),
    varianceVerdict(found),
    focalVerdict(found),
    weightVerdict(found),
    duskVerdict(found),
    unsureVerdict(found),
    farVerdict(found),
    suppressionVerdict(found),
    costVerdict(found),
    twoGaussiansVerdict(found),
    publishedVarianceVerdict(found),
    passesVerdict(found),
  ];
}

function binsVerdict(found: Found): StudyVerdict {
  const minusTen = (bins: number, figure: string) =>
    differenceOf(found, 'bins', [`${bins} bins`, '10 bins'], figure);
  const others = [5, 20, 50];
  const best = others.every((bins) => !isAbove(minusTen(bins, 'ap50')) && !isBelow(minusTen(bins, 'laEce0')));
  const seen = ['ap50', 'gap', 'unrest'].map((figure) => minusTen(50, figure));
  const bad = [
    isBelow(minusTen(50, 'ap50')),
    isAbove(minusTen(50, 'gap')) || isAbove(minusTen(50, 'rise')),
    isAbove(minusTen(50, 'unrest')),
  ];
  return {
    claim: '10 bins are best, and 50 train unsteadily and over-fit',
    source: SOURCE,
    verdict: bad.some(Boolean) ? graded([best, ...bad], seen) : graded([false], seen),
    because: `Minus 10 bins, AP50: ${others.map((bins) => `${bins} bins ${shown(minusTen(bins, 'ap50'))}`).join(', ')}; LaECE0: ${others.map((bins) => `${bins} bins ${shown(minusTen(bins, 'laEce0'))}`).join(', ')}. 50 bins: gap of the held-out loss ${shown(minusTen(50, 'gap'))}, its rise ${shown(minusTen(50, 'rise'))}, unrest ${shown(minusTen(50, 'unrest'))}.`,
    default: best
      ? 'bins=10 stays'
      : 'bins=10 stays; another number is measurably better here, see the table',
    options: [TEN_BINS],
  };
}

function argmaxVerdict(found: Found): StudyVerdict {
  const minus = (reading: string, figure: string) =>
    differenceOf(found, 'decode', [reading, 'expectation'], figure);
  const ordered = 'argmax, ties by expectation';
  return {
    claim: 'Taking the highest bin in place of the expectation loses accuracy',
    source: SOURCE,
    verdict: gradedBy([minus('argmax', 'ap50'), minus('argmax', 'ap')], isBelow),
    because: `Argmax minus expectation, AP50 ${shown(minus('argmax', 'ap50'))}, AP ${shown(minus('argmax', 'ap'))}, LaECE0 ${shown(minus('argmax', 'laEce0'))}; with equal peaks ordered by the expectation AP50 ${shown(minus(ordered, 'ap50'))}; median ${shown(minus('median', 'ap50'))}.`,
    default: 'the score is the expectation',
  };
}

const GAMMAS = ['γ 0', 'γ 2'] as const;

function labelPair(found: Found, pair: readonly [string, string], figure: string): string {
  return GAMMAS.map(
    (gamma) =>
      `${gamma} ${shown(differenceOf(found, 'labels', [`${pair[0]}, ${gamma}`, `${pair[1]}, ${gamma}`], figure))}`,
  ).join(', ');
}

function smoothingVerdict(found: Found): StudyVerdict {
  const minus = (gamma: string, figure: string) =>
    differenceOf(found, 'labels', [`smoothed, ${gamma}`, `hard, ${gamma}`], figure);
  const votes = GAMMAS.map((gamma) => isAbove(minus(gamma, 'ap50')) && !isAbove(minus(gamma, 'laEce0')));
  const pair = ['smoothed', 'hard'] as const;
  const quality = ['smoothed', 'quality'] as const;
  return {
    claim: 'Hard labels do not suit a distribution, .95 / .05 do',
    source: SOURCE,
    verdict: graded(
      votes,
      GAMMAS.map((gamma) => minus(gamma, 'ap50')),
    ),
    because: `Smoothed minus hard, AP50: ${labelPair(found, pair, 'ap50')}; LaECE0: ${labelPair(found, pair, 'laEce0')}. Smoothed minus quality targets, AP50: ${labelPair(found, quality, 'ap50')}; LaECE0: ${labelPair(found, quality, 'laEce0')}.`,
    default: 'quality targets; labels stay a preset (preset=published)',
    options: [{ command: 'train', key: 'preset', value: 'not set' }],
  };
}

function varianceVerdict(found: Found): StudyVerdict {
  const rows = ['quality, γ 0', 'smoothed, γ 2', 'hard, γ 2'];
  const of = (row: string, figure: string) => figureOf(found, 'labels', row, figure);
  return {
    claim: 'The variance of the distribution says how unsure a score is, beyond the score',
    source: SOURCE,
    verdict: gradedBy(
      rows.slice(0, 2).map((row) => of(row, 'excess .1')),
      isAbove,
    ),
    because: `Partial correlation of the excess variance with the squared error, scores of .1 or more: ${rows.map((row) => `${row} ${shown(of(row, 'excess .1'))}`).join('; ')}. Variance over squared error: ${rows.map((row) => `${row} ${plain(of(row, 'variance overstates'), 2)}`).join('; ')}.`,
    default:
      'variance is reported of heads with quality targets; those with labels say that theirs follows from the score',
  };
}

function focalVerdict(found: Found): StudyVerdict {
  const kinds = ['quality', 'smoothed', 'hard'];
  const minus = (kind: string, figure: string) =>
    differenceOf(found, 'labels', [`${kind}, γ 2`, `${kind}, γ 0`], figure);
  const better = (kind: string) =>
    (isAbove(minus(kind, 'ap50')) && !isAbove(minus(kind, 'laEce0'))) ||
    (isBelow(minus(kind, 'laEce0')) && !isBelow(minus(kind, 'ap50')));
  return {
    claim: 'A focal factor of γ 2 belongs on the loss of the distribution',
    source: SOURCE,
    verdict: graded(
      kinds.map(better),
      kinds.map((kind) => minus(kind, 'ap50')),
    ),
    because: `γ 2 minus γ 0, AP50: ${kinds.map((kind) => `${kind} ${shown(minus(kind, 'ap50'))}`).join(', ')}; LaECE0: ${kinds.map((kind) => `${kind} ${shown(minus(kind, 'laEce0'))}`).join(', ')}.`,
    default: 'γ 0 on the law',
  };
}

function weightVerdict(found: Found): StudyVerdict {
  const weights = [0.1, 0.25, 1.5];
  const minus = (weight: number, figure: string) =>
    differenceOf(found, 'weights', [`weight ${weight}`, 'weight 1'], figure);
  const [ap50, laEce0] = [minus(0.1, 'ap50'), minus(0.1, 'laEce0')];
  const [better, worse] = [isAbove(ap50) || isBelow(laEce0), isBelow(ap50) || isAbove(laEce0)];
  const told = (figure: string) =>
    weights.map((weight) => `${weight} ${shown(minus(weight, figure))}`).join(', ');
  return {
    claim: 'The loss of the distribution starts with a weight of 0.1',
    source: SOURCE,
    verdict: graded(better ? [true, !worse] : [false], [ap50, laEce0]),
    because: `Minus weight 1, AP50: ${told('ap50')}; LaECE0: ${told('laEce0')}.`,
    default: 'weight 1 beside 0.5 of the classes',
    options: [
      { command: 'train', key: 'quality', value: 1 },
      { command: 'train', key: 'cls', value: 0.5 },
    ],
  };
}

const HEADS = ['quality targets', 'published labels'] as const;
const BASES = [0.5, 0.25] as const;

interface RuleCase {
  readonly name: string;
  readonly of: (figure: string) => Interval;
}

/** Both heads at both bases, where the rule keeps boxes at all. */
function ruleCases(found: Found, slice: string): readonly RuleCase[] {
  return HEADS.flatMap((head) =>
    BASES.map((base) => ({
      name: `${head}, base ${base}`,
      of: (figure: string) => figureOf(found, `rules, ${head}`, `base ${base}, ${slice}`, figure),
    })),
  ).filter(({ of }) => (of('kept').mean ?? 0) > 0);
}

/** Over the cases of which there is an interval. */
function gradedCases(cases: readonly RuleCase[], figure: string): Graded {
  return gradedBy(cases.map(({ of }) => of(figure)).filter(isSure), isAbove);
}

function told(cases: readonly RuleCase[], figure: string, digits?: number): string {
  return cases.map(({ name, of }) => `${name} ${shown(of(figure), digits)}`).join('; ');
}

function duskVerdict(found: Found): StudyVerdict {
  const cases = ruleCases(found, 'dusk');
  return {
    claim: 'A dynamic threshold raises mAP at dusk by 3.2 %',
    source: SOURCE,
    verdict: gradedCases(cases, 'ap50 over equal'),
    because: `AP50 at dusk, over the fixed base (what gives back recall): ${told(cases, 'ap50 over fixed')}; over the fixed threshold that keeps as many boxes: ${told(cases, 'ap50 over equal', 4)}; over no cut: ${told(cases, 'ap50 over no cut')}. By day over as many boxes: ${told(ruleCases(found, 'day'), 'ap50 over equal', 4)}.`,
    default: 'threshold=fixed; the rule stays an option and tells its reach',
    options: [FIXED_THRESHOLD],
  };
}

function unsureVerdict(found: Found): StudyVerdict {
  const cases = ['all', 'day', 'dusk', 'night'].flatMap((slice) =>
    ruleCases(found, slice).map(({ name, of }) => ({ name: `${slice}, ${name}`, of })),
  );
  return {
    claim: 'Unsure boxes deserve a lower threshold, in any light',
    source: SOURCE,
    verdict: gradedCases(cases, 'recall over equal'),
    because: `Of ${cases.length} cases the recall over as many boxes by score alone is surely higher in ${cases.filter(({ of }) => isAbove(of('recall over equal'))).length}, surely lower in ${cases.filter(({ of }) => isBelow(of('recall over equal'))).length}; all lights: ${told(ruleCases(found, 'all'), 'recall over equal', 4)}; boxes exchanged: ${ruleCases(
      found,
      'all',
    )
      .map(({ name, of }) => `${name} ${plain(of('exchanged'), 1)} of ${of('kept').mean?.toFixed(0) ?? '–'}`)
      .join('; ')}.`,
    default: 'threshold=fixed',
    options: [FIXED_THRESHOLD],
  };
}

function farVerdict(found: Found): StudyVerdict {
  const cases = ruleCases(found, 'all');
  return {
    claim: 'The dynamic threshold finds far, small vehicles',
    source: SOURCE,
    verdict: gradedCases(cases, 'far recall over equal'),
    because: `Recall below 32 × 32 px, over the fixed base: ${told(cases, 'far recall over fixed')}; over as many boxes: ${told(cases, 'far recall over equal', 4)}; near objects over as many boxes: ${told(cases, 'near recall over equal', 4)}.`,
    default: 'threshold=fixed',
    options: [FIXED_THRESHOLD],
  };
}

function suppressionVerdict(found: Found): StudyVerdict {
  const slices = ['all', 'day', 'dusk', 'night'];
  const of = (slice: string, figure: string) => figureOf(found, 'suppression', slice, figure);
  return {
    claim: 'Suppression ordered by E · exp(−2 Var) is better',
    source: SOURCE,
    verdict: gradedBy(
      slices.map((slice) => of(slice, 'ap50 gain')),
      isAbove,
    ),
    because: `AP50: ${slices.map((slice) => `${slice} ${shown(of(slice, 'ap50 gain'), 4)}`).join(', ')}; recall of as many boxes: ${slices.map((slice) => `${slice} ${shown(of(slice, 'recall gain'), 4)}`).join(', ')}.`,
    default: 'nms=hard',
    options: [{ command: 'stream', key: 'nms', value: 'hard' }],
  };
}

/** An interval as wide as this says nothing. */
const CLAIMED_COST = 0.15;

function costVerdict({ costs }: Found): StudyVerdict {
  const ten = costs.find(({ bins }) => bins === 10);
  const [, low = 0, high = 0] = ten?.added ?? [];
  const toldCosts = costs
    .slice(1)
    .map(
      ({ bins, added }) => `${bins} bins ${percent(added[0])} (${percent(added[1])} to ${percent(added[2])})`,
    )
    .join(', ');
  return {
    claim: '10 bins slow inference by about 15 %',
    source: SOURCE,
    verdict:
      high - low > CLAIMED_COST
        ? 'not measured'
        : low <= CLAIMED_COST && high >= CLAIMED_COST
          ? 'holds'
          : 'does not hold',
    because: `CPU time over one channel, on this machine and not on the note's Jetson Nano: ${toldCosts}.`,
    default: 'bins=10; exports may say the law in fewer channels (head=two-gaussian)',
    options: [TEN_BINS],
  };
}

function twoGaussiansVerdict(found: Found): StudyVerdict {
  const two = (figure: string) => figureOf(found, 'laws', 'two Gaussians', figure);
  const one = (figure: string) => figureOf(found, 'laws', 'one Gaussian', figure);
  const minus = differenceOf(found, 'laws', ['two Gaussians', 'one Gaussian'], 'tail middle');
  const small = (two('tail middle').mean ?? 1) <= 0.05;
  return {
    claim: 'Two Gaussians stand for the whole distribution',
    source: SOURCE,
    verdict: graded([isBelow(minus), small, (two('flag agrees').mean ?? 0) >= 0.9], [minus]),
    because: `E and Var are exact in both; error of P(score ≥ .5): two ${plain(two('tail middle'))}, one ${plain(one('tail middle'))}; flags of two answers agree for ${plain(two('flag agrees'))} (one: ${plain(one('flag agrees'))}), and ${plain(two('bimodal found'))} of those are still shown; mass outside [0, 1]: two ${plain(two('mass outside'))}, one ${plain(one('mass outside'))}.`,
    default:
      'head=distribution in training; head=two-gaussian offered for export, with five channels and exact moments',
  };
}

function publishedVarianceVerdict(found: Found): StudyVerdict {
  const [published, bounded] = ['published variance, sigmoid · .5', 'our variance, sigmoid · m (1 − m)'].map(
    (row) => figureOf(found, 'laws', row, 'impossible'),
  ) as [Interval, Interval];
  return {
    claim: 'sigmoid · 0.5 limits the variance to its range',
    source: SOURCE,
    verdict: published.mean === null ? 'not measured' : published.mean > 0 ? 'does not hold' : 'holds',
    because: `At the expectations of real boxes ${plain(published)} of that range is impossible, of sigmoid · m (1 − m) ${plain(bounded)}.`,
    default: 'compact heads bound the variance by m (1 − m)',
  };
}

function passesVerdict(found: Found): StudyVerdict {
  const figure = 'law − dropout, equal score';
  const of = (row: string, own = figure) => figureOf(found, 'passes', row, own);
  const unseen = ['night', 'another world'].filter((row) => of(row).mean !== null);
  const rows = ['noise', ...unseen];
  const votes = [...unseen.map((row) => isAbove(of(row))), isBelow(of('noise'))];
  const on = ['noise', 'night'].map((row) => of(row));
  return {
    claim:
      'The distribution knows what the network does not know (epistemic), MC dropout what the data do not say',
    source: SOURCE,
    verdict: graded(votes, on),
    because: `AUROC at equal scores, law: ${rows.map((row) => `${row} ${plain(of(row, 'law tells, equal score'))}`).join(', ')}; dropout: ${rows.map((row) => `${row} ${plain(of(row, 'dropout tells, equal score'))}`).join(', ')}; law minus dropout: ${rows.map((row) => `${row} ${shown(of(row))}`).join(', ')}. With the squared error, law: ${['as they are', 'night'].map((row) => `${row} ${shown(of(row, 'law and error'))}`).join(', ')}; dropout: ${['as they are', 'night'].map((row) => `${row} ${shown(of(row, 'dropout and error'))}`).join(', ')}.`,
    default:
      'the spread of the law is reported as aleatoric, that between passes as epistemic; dropout=0 unless asked for',
    options: [{ command: 'train', key: 'dropout', value: 0 }],
  };
}
