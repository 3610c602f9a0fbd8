// What a head is judged by: how much it finds, and how honest its scores are, over the whole list and over the best boxes.
import {
  formTables,
  joined,
  type SeededFigures,
  type StudyPart,
  type TableForm,
} from '../common/seeded-tables.ts';
import { ARMS, DEFAULT } from './arms.ts';

export const TABLE = 'losses';
export const BEST_TABLE = 'best boxes';

const FORMS: readonly TableForm[] = [
  {
    table: TABLE,
    title: 'Losses',
    section: 'Losses',
    text: `${ARMS.map(({ name, text }) => `${name}: ${text}`).join('. ')}. D-ECE: IoU .5, 10 bins, scores of .3 or more. LaECE0: any overlap, 25 bins, scores of .01 or more, mean over classes. Platt: per class, fitted on one held-out camera and judged on the other.`,
    columns: [
      { figure: 'ap50', title: 'AP50' },
      { figure: 'ap', title: 'AP' },
      { figure: 'dEce', title: 'D-ECE' },
      { figure: 'dEcePlatt', title: 'D-ECE, Platt' },
      { figure: 'laEce0', title: 'LaECE0' },
      { figure: 'laEce0Platt', title: 'LaECE0, Platt' },
      { figure: 'signed', title: 'score − IoU' },
      { figure: 'boxesPerPicture', title: 'boxes ≥ .01 a picture', digits: 0 },
      { figure: 'recallAt3', title: 'recall, score ≥ .3' },
      { figure: 'recallAt3Platt', title: 'the same, Platt' },
    ],
    base: DEFAULT,
  },
  {
    table: BEST_TABLE,
    title: 'As many boxes as there are objects',
    section: 'Losses',
    text: 'The highest scores of all pictures together: over the whole list an arm that leaves more background above .01 looks better.',
    columns: [
      { figure: 'dEce', title: 'D-ECE' },
      { figure: 'dEcePlatt', title: 'D-ECE, Platt' },
      { figure: 'laEce0', title: 'LaECE0' },
      { figure: 'laEce0Platt', title: 'LaECE0, Platt' },
      { figure: 'signed', title: 'score − IoU' },
    ],
    base: DEFAULT,
  },
];

export function studyTables(found: SeededFigures): StudyPart {
  return joined(FORMS.flatMap((form) => formTables(found, form)));
}
