// What the figures say of a default head. The rule is that of all studies (a figure counts where its interval leaves out 0);
// figures of earlier runs with more epochs were known when these votes were chosen.
import type { SeededFigures } from '../common/seeded-tables.ts';
import { figureOf } from '../common/seeded-verdicts.ts';
import type { StudyVerdict } from '../common/study-file.ts';
import { graded, gradedBy, isAbove, plain, shown } from '../common/verdict-rules.ts';
import { ALL, GAIN_TABLE, ONE, VARIANCE_TABLE } from './tables.ts';

/** A variance that is off by no more than a quarter is taken for the squared error. */
const NEAR_ONE = { least: 0.75, most: 1.25 } as const;

export function verdictsOf(found: SeededFigures): readonly StudyVerdict[] {
  const gain = (row: string, figure: string) => figureOf(found, GAIN_TABLE, row, figure);
  const law = (row: string, figure: string) => figureOf(found, VARIANCE_TABLE, row, figure);
  const gains = [gain(ONE, 'gain'), gain(ALL, 'gain')];
  const ratios = [law(ONE, 'overstatement'), law(ALL, 'overstatement')];
  const correlations = [law(ONE, 'correlation'), law(ALL, 'correlation')];
  const isNear = ({ mean }: (typeof ratios)[number]) =>
    mean !== null && mean >= NEAR_ONE.least && mean <= NEAR_ONE.most;
  return [
    {
      claim:
        'A default head finds more than the head it replaced, on cameras that neither has seen, with one class and with several',
      source: 'this project',
      verdict: gradedBy(gains, isAbove),
      because: `AP50 minus that of the host: ${ONE} ${shown(gains[0]!)} (suppressed across classes ${shown(gain(ONE, 'gain, agnostic'))}), ${ALL} ${shown(gains[1]!)}, of them the car ${shown(gain(ALL, 'gain, car'))}.`,
      default: 'train fits the head and its box layer on a frozen host',
      options: [
        { command: 'train', key: 'freeze', value: 'towers' },
        { command: 'train', key: 'freeze_box', value: false },
      ],
    },
    {
      claim:
        'The variance of its scores is the squared error to expect (within a quarter), and says more than the score',
      source: 'this project',
      verdict: graded([...ratios.map(isNear), ...correlations.map(isAbove)], [...ratios, ...correlations]),
      because: `Predicted variance over measured squared error: ${ONE} ${plain(ratios[0]!, 2)}, ${ALL} ${plain(ratios[1]!, 2)}; partial correlation with it: ${ONE} ${shown(correlations[0]!)}, ${ALL} ${shown(correlations[1]!)}.`,
      default: 'the variance is reported as it is',
    },
  ];
}
