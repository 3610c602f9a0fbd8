// What the figures say of the losses. The rule is that of all studies (a difference from the default under the same seed counts
// where its interval leaves out 0); figures of an earlier run with three seeds were known when these votes were chosen.
import type { SeededFigures } from '../common/seeded-tables.ts';
import { differenceOf } from '../common/seeded-verdicts.ts';
import type { StudyVerdict } from '../common/study-file.ts';
import { gradedBy, isAbove, isBelow, shown } from '../common/verdict-rules.ts';
import { BRIER, DEFAULT, PUBLISHED, SCALARS } from './arms.ts';
import { BEST_TABLE, TABLE } from './tables.ts';

export function verdictsOf(found: SeededFigures): readonly StudyVerdict[] {
  return [distributionVerdict(found), honestyVerdict(found), brierVerdict(found), publishedVerdict(found)];
}

type Figure = readonly [table: string, figure: string];

const AP50: Figure = [TABLE, 'ap50'];
/** How far scores are from what they mean, as they come; smaller is better. */
const ERRORS: readonly Figure[] = [
  [TABLE, 'dEce'],
  [BEST_TABLE, 'laEce0'],
];

const over = (found: SeededFigures, arm: string, [table, figure]: Figure) =>
  differenceOf(found, table, [arm, DEFAULT], figure);

function told(found: SeededFigures, arms: readonly string[], figure: Figure): string {
  return arms.map((arm) => `${arm} ${shown(over(found, arm, figure))}`).join(', ');
}

function distributionVerdict(found: SeededFigures): StudyVerdict {
  return {
    claim: 'A score over ten bins finds more than a scalar one of BCE, QFL, focal loss or FL-GRA',
    source: 'this project',
    verdict: gradedBy(
      SCALARS.map((arm) => over(found, arm, AP50)),
      isBelow,
    ),
    because: `AP50 minus that of ${DEFAULT}: ${told(found, SCALARS, AP50)}.`,
    default: 'bins=10 for the variance that it states',
    options: [{ command: 'train', key: 'bins', value: 10 }],
  };
}

function honestyVerdict(found: SeededFigures): StudyVerdict {
  const pairs = SCALARS.flatMap((arm) => ERRORS.map((figure) => over(found, arm, figure)));
  return {
    claim: 'Its scores are more honest as they come than those of the scalar heads',
    source: 'this project',
    verdict: gradedBy(pairs, isAbove),
    because: `Minus ${DEFAULT}, D-ECE: ${told(found, SCALARS, ERRORS[0]!)}; LaECE0 of the best boxes: ${told(found, SCALARS, ERRORS[1]!)}.`,
    default: 'every trained detector gets a calibrator',
  };
}

function brierVerdict(found: SeededFigures): StudyVerdict {
  const shownOf = (figure: Figure) => shown(over(found, BRIER, figure));
  return {
    claim: 'Brier weights on the gradient of the classes make the scores of a detector more honest',
    source: 'first note',
    verdict: gradedBy(
      ERRORS.map((figure) => over(found, BRIER, figure)),
      isBelow,
    ),
    because: `${BRIER} minus ${DEFAULT}: D-ECE ${shownOf(ERRORS[0]!)}, LaECE0 of the best boxes ${shownOf(ERRORS[1]!)}, their score − IoU ${shownOf([BEST_TABLE, 'signed'])}; after Platt D-ECE ${shownOf([TABLE, 'dEcePlatt'])}; AP50 ${shownOf(AP50)}.`,
    default: 'class_loss=ce',
    options: [{ command: 'train', key: 'class_loss', value: 'ce' }],
  };
}

function publishedVerdict(found: SeededFigures): StudyVerdict {
  const shownOf = (figure: Figure) => shown(over(found, PUBLISHED, figure));
  return {
    claim: 'The recipe as a whole (labels, γ 2, weights 1 and .1) finds more than the default',
    source: 'second note',
    verdict: gradedBy([over(found, PUBLISHED, AP50)], isAbove),
    because: `AP50 ${shownOf(AP50)}, AP ${shownOf([TABLE, 'ap'])}; D-ECE ${shownOf(ERRORS[0]!)}, after Platt ${shownOf([TABLE, 'dEcePlatt'])}; LaECE0 of the best boxes ${shownOf(ERRORS[1]!)}, after Platt ${shownOf([BEST_TABLE, 'laEce0Platt'])}.`,
    default: 'quality targets without a preset; preset=published for comparison',
    options: [{ command: 'train', key: 'preset', value: 'not set' }],
  };
}
