// A default head against its host, with one class and with those of the data, and what its variance is worth.
import type { ClassMap } from '../common/class-map.ts';
import type { HeldOut } from '../common/hold-out.ts';
import type { ClassedArm, TableFigures } from '../common/measure-arms.ts';
import {
  type Figures,
  formTables,
  joined,
  type SeededFigures,
  type StudyPart,
  type TableForm,
} from '../common/seeded-tables.ts';
import type { TrainedArm } from '../common/train-arm.ts';
import { overstatement, varianceFigures } from '../common/variance-figures.ts';
import { hostFigures } from './host.ts';

const BINS = 10;

/** The defaults of `train`: adapter, law of the score and box layer train, everything before them is the host. */
const request = { bins: BINS, freezeBox: false };

export const ONE = 'one class';
export const ALL = 'classes of the data';

export const ARMS: readonly ClassedArm[] = [
  { name: ONE, text: 'every object is one class', classes: 'one', request },
  { name: ALL, text: 'the head tells classes apart', classes: 'all', request },
];

export const GAIN_TABLE = 'gain';
export const VARIANCE_TABLE = 'variance';

const FORMS: readonly TableForm[] = [
  {
    table: GAIN_TABLE,
    title: 'A head of ours and the host as it is',
    section: 'Heads',
    text: 'AP50 on two cameras that the head was not trained on. One class: the vehicles of the host as one, suppressed per class as it is used, and across classes. Classes of the data: mean over those that host and data both name (not the van).',
    columns: [
      { figure: 'host', title: 'host' },
      { figure: 'ours', title: 'ours' },
      { figure: 'gain', title: 'gain', plot: 'AP50 minus that of the host; larger is better' },
      { figure: 'host, agnostic', title: 'host, suppressed across classes' },
      { figure: 'gain, agnostic', title: 'gain over it' },
      { figure: 'host, car', title: 'host, car' },
      { figure: 'car', title: 'ours' },
      { figure: 'gain, car', title: 'gain' },
    ],
  },
  {
    table: VARIANCE_TABLE,
    title: 'What the variance of a score says',
    section: 'Heads',
    text: 'Scores of .1 or more. Partial correlation with the squared error against the IoU, a polynomial of the score taken out; predicted variance over measured squared error (1: as large as it says), whole and by fifths of the prediction.',
    columns: [
      { figure: 'correlation', title: 'correlation' },
      { figure: 'overstatement', title: 'variance / squared error', digits: 2 },
      ...[1, 2, 3, 4, 5].map((fifth) => ({ figure: `fifth ${fifth}`, title: `fifth ${fifth}`, digits: 2 })),
    ],
  },
];

export async function measureHead(
  { options, validation, predictions }: TrainedArm,
  heldOut: HeldOut,
  { classMap }: { readonly classMap: ClassMap | undefined },
): Promise<TableFigures> {
  const host = await hostFigures(heldOut, { ...options, classMap });
  const { perClass } = validation.report.averagePrecision;
  const ap50 = (name: string) => perClass[heldOut.classNames.indexOf(name)]?.ap50 ?? null;
  const shared = classMap === undefined ? heldOut.classNames : Object.values(classMap);
  const ours = options.classes === 'one' ? validation.ap50 : meanOf(shared.map(ap50));
  const isMany = options.classes === 'all';
  const gains: Figures = {
    ours,
    gain: difference(ours, host['host']),
    'gain, agnostic': difference(ours, host['host, agnostic']),
    ...(isMany && { car: ap50('car'), 'gain, car': difference(ap50('car'), host['host, car']) }),
  };
  return [
    [GAIN_TABLE, { ...host, ...gains }],
    [VARIANCE_TABLE, lawFigures(varianceFigures(predictions, heldOut, BINS))],
  ];
}

function lawFigures(found: Figures): Figures {
  const fifths = [1, 2, 3, 4, 5].map((fifth) => {
    const side = (name: string) => found[`variance .1 fifth ${fifth} ${name}`];
    const [predicted, measured] = [side('predicted'), side('measured')];
    return [`fifth ${fifth}`, predicted == null || !measured ? null : predicted / measured] as const;
  });
  return {
    correlation: found['variance .1'] ?? null,
    overstatement: overstatement(found),
    ...Object.fromEntries(fifths),
  };
}

export function studyTables(found: SeededFigures): StudyPart {
  return joined(FORMS.flatMap((form) => formTables(found, form)));
}

function difference(value: number | null, base: number | null | undefined): number | null {
  return value === null || base == null ? null : value - base;
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}
