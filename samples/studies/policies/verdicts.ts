// What the figures of the policies say to three claims. The rule is that of all studies (a difference
// counts where its interval leaves out 0); figures of an earlier run by hand were known when these votes were chosen.
import type { Figure } from 'edge-detect/core';
import { gainsWithout, isAbove, shownGain } from '../common/judged-figures.ts';
import type { StudyVerdict } from '../common/study-file.ts';
import { graded } from '../common/verdict-rules.ts';
import { type HostResult, PLAIN, type SuppressionRow, type ThresholdRow } from './host.ts';
import { LIGHT_CHOICE, PER_CLASS_CHOICE } from './thresholds.ts';

export function policyVerdicts(results: readonly HostResult[]): readonly StudyVerdict[] {
  return [suppressionVerdict(results), perClassVerdict(results), lightVerdict(results)];
}

/** Each suppression with each host has a vote: it surely finds more with as many boxes, and surely loses no AP. */
function suppressionVerdict(results: readonly HostResult[]): StudyVerdict {
  const whole = results.map(({ host, suppressions }) => ({
    host,
    others: suppressions.filter(({ policy, slice }) => slice === 'all' && policy !== PLAIN),
  }));
  const others = whole.flatMap((one) => one.others);
  const said = whole.map(
    ({ host, others: own }) =>
      `${host}: ${own
        .map(
          ({ policy, ap, equal }) =>
            `${policy} ${shownGain(equal.recallGain)} of recall, ${shownGain(ap.apGain)} of AP`,
        )
        .join('; ')}`,
  );
  return {
    claim: 'Suppressions other than hard find more with as many boxes, at no lower AP',
    source:
      'Bodla et al., ICCV 2017; Solovyev et al., Image and Vision Computing 107, 2021; He et al., CVPR 2019',
    verdict: graded(others.map(({ ap, equal }) => gainsWithout(equal.recallGain, ap.apGain))),
    because: `Minus hard, IoU .5, all light. ${said.join('. ')}.`,
    default: `nms=hard, which leaves the scores that a calibrator was fitted to; the largest sure gain of another is ${largest(others, ({ equal }) => equal.recallGain)} of recall, ${largest(others, ({ ap }) => ap.apGain)} of AP`,
    options: [{ command: 'stream', key: 'nms', value: 'hard' }],
  };
}

/** The highest of those that are sure, and whose it is. */
function largest(rows: readonly SuppressionRow[], of: (row: SuppressionRow) => Figure): string {
  const sure = rows.flatMap((row) => {
    const figure = of(row);
    return figure.kind !== 'none' && isAbove(figure) === true ? [{ policy: row.policy, figure }] : [];
  });
  const [first] = sure.sort((a, b) => b.figure.value - a.figure.value);
  return first === undefined ? 'none' : `${shownGain(first.figure)} (${first.policy})`;
}

/** F1 at equally many boxes surely rises, with every host. */
function perClassVerdict(results: readonly HostResult[]): StudyVerdict {
  const rows = rowsOf(results, PER_CLASS_CHOICE, () => true);
  const whole = rows.filter(({ slice }) => slice === 'all');
  return {
    claim: 'Thresholds per class, fitted on other cameras, beat one fixed threshold that keeps as many boxes',
    source: 'this project',
    verdict: graded(whole.map(({ equal }) => isAbove(equal.f1Gain))),
    because: `F1 and recall minus those of the fixed threshold, all light: ${whole.map(ownText).join('; ')}.`,
    default: 'one fixed threshold for all classes; a thresholds file brings others',
    options: [{ command: 'stream', key: 'threshold', value: 'fixed' }],
  };
}

/** F1 at equally many boxes surely rises, with every host. */
function lightVerdict(results: readonly HostResult[]): StudyVerdict {
  const rows = rowsOf(results, LIGHT_CHOICE, (slice) => slice === 'all' || slice === 'night');
  const whole = rows.filter(({ slice }) => slice === 'all');
  return {
    claim:
      'A threshold per light, fitted on other cameras, beats one fixed threshold that keeps as many boxes',
    source: 'second note',
    verdict: graded(whole.map(({ equal }) => isAbove(equal.f1Gain))),
    because:
      whole.length === 0
        ? 'Nothing tells the light of these pictures.'
        : `F1 and recall minus those of the fixed threshold: ${rows.map(ownText).join('; ')}.`,
    default:
      'one threshold in every light; thresholds follow the light where light= and thresholds= ask for it',
    options: [{ command: 'stream', key: 'light', value: 'not followed' }],
  };
}

interface HostRow extends ThresholdRow {
  readonly host: string;
}

function rowsOf(
  results: readonly HostResult[],
  choice: string,
  takes: (slice: string) => boolean,
): readonly HostRow[] {
  return results.flatMap(({ host, thresholds }) =>
    thresholds
      .filter(({ policy, slice }) => policy === choice && takes(slice))
      .map((row) => ({ ...row, host })),
  );
}

function ownText({ host, slice, equal }: HostRow): string {
  const { f1Gain, recallGain, precisionGain } = equal;
  const price = slice === 'all' ? '' : `, precision ${shownGain(precisionGain)}`;
  return `${host}${slice === 'all' ? '' : `, ${slice}`}: F1 ${shownGain(f1Gain)}, recall ${shownGain(recallGain)}${price}`;
}
