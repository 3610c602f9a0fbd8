// Is our head better than the head it replaced, on cameras that neither has seen?
//   node dist/samples/studies/held-out-cameras/main.js data=… model=… [seeds=3] [epochs=20] [variants=4] [classes=all]
import { evaluatePredictions, predictDataset } from 'edge-detect/evaluate';
import type { HeldOut } from '../common/hold-out.ts';
import type { FoundOptions } from '../common/options.ts';
import { TIME_COLUMNS } from '../common/quality-figures.ts';
import { runStudy, type Study } from '../common/study.ts';
import type { Figures } from '../common/summary.ts';
import { figureTable } from '../common/table.ts';
import { fifthsTable, varianceColumns, varianceFigures } from '../common/variance-figures.ts';

/** Classes of COCO that a traffic set names otherwise; it has no van. */
const COCO_NAMES: Readonly<Record<string, string>> = {
  car: 'car',
  truck: 'lorry_truck',
  motorcycle: 'bike',
  bus: 'bus',
};

const BINS = 10;

const study: Study = {
  name: 'held-out-cameras',
  question: "Is a default head better than the host's own, on cameras that neither has seen?",
  classes: 'one',
  arms: [
    {
      name: 'default head',
      text: 'the defaults of `train`: adapter, quality law and box layer train, everything before them is the host',
      request: { freezeBox: false },
    },
  ],
  async measure({ options, validation, predictions, seconds, cachingSeconds, cpuSeconds }, heldOut) {
    const { averagePrecision } = validation.report;
    const ofClass = (name: string) =>
      averagePrecision.perClass[heldOut.classNames.indexOf(name)]?.ap50 ?? null;
    const host = await hostFigures(heldOut, options);
    return {
      ap50: validation.ap50,
      ap: validation.ap,
      'ap50 car': ofClass('car'),
      // The host has no van, so its mean is over the classes that both can name.
      'ap50 shared': meanOf(Object.values(COCO_NAMES).map(ofClass)),
      ...host,
      gain: difference(validation.ap50, host['host ap50']),
      'gain agnostic': difference(validation.ap50, host['host ap50 agnostic']),
      ...varianceFigures(predictions, heldOut, BINS),
      minutes: (seconds + cachingSeconds) / 60,
      seconds,
      cpuSeconds,
    };
  },
  tables: (summaries) => [
    figureTable(summaries, [
      { figure: 'ap50', title: 'AP50' },
      { figure: 'host ap50', title: "host's" },
      { figure: 'host ap50 agnostic', title: 'host, suppressed across classes' },
      { figure: 'gain', title: 'gain' },
      { figure: 'gain agnostic', title: 'gain over the latter' },
      { figure: 'ap50 shared', title: 'AP50 of shared classes' },
      { figure: 'host shared', title: "host's" },
      { figure: 'ap50 car', title: 'AP50 car' },
      { figure: 'host car', title: "host's" },
      { figure: 'minutes', title: 'minutes in all', digits: 1 },
      ...TIME_COLUMNS,
    ]),
    figureTable(summaries, varianceColumns('.01')),
    `Fifths by predicted variance, scores of .01 or more: predicted → measured squared error:\n\n${fifthsTable(summaries, 'variance', '.01')}`,
    `The same, scores of .1 or more:\n\n${fifthsTable(summaries, 'variance')}`,
  ],
};

/** The host as it is, its classes mapped by name or taken as one. */
async function hostFigures(
  heldOut: HeldOut,
  { model, classes }: Pick<FoundOptions, 'model' | 'classes'>,
): Promise<Figures> {
  const split = { classNames: heldOut.classNames, pictures: heldOut.pictures };
  const known = Object.keys(COCO_NAMES);
  const predict = (agnostic: boolean) =>
    predictDataset(model, heldOut.pictures, { classes: known, agnostic });
  if (classes === 'one') {
    const ap50 = async (agnostic: boolean) =>
      evaluatePredictions(split, await predict(agnostic), { singleClass: true, resamples: 0 })
        .averagePrecision.ap50;
    return { 'host ap50': await ap50(false), 'host ap50 agnostic': await ap50(true) };
  }
  const { averagePrecision } = evaluatePredictions(split, await predict(false), {
    classMap: COCO_NAMES,
    resamples: 0,
  });
  const car = averagePrecision.perClass[heldOut.classNames.indexOf('car')]?.ap50 ?? null;
  return { 'host shared': averagePrecision.ap50, 'host car': car };
}

function difference(value: number, base: number | null | undefined): number | null {
  return base == null ? null : value - base;
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

await runStudy(study, process.argv.slice(2));
