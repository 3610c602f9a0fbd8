// Do weights by the Brier score, on gradients and not on losses, calibrate classes better, and without a temperature?
//   node dist/samples/studies/brier-weights/main.js [seeds=5] [out=results.json] [page=results.html] [check=results.json]
import { basename } from 'node:path';
import { errataTable } from '../common/errata-table.ts';
import { type FramedStudy, runFramedStudy, wholeNumber } from '../common/framed-study.ts';
import { say } from '../common/output.ts';
import { joined } from '../common/seeded-tables.ts';
import type { WantedData } from '../common/study-data.ts';
import { type Arm, gridArms, mainArms, plainArms } from './arms.ts';
import { errata } from './errata.ts';
import { OPTIMIZER_TEXT } from './head.ts';
import { objectTables, type SetRuns } from './object-tables.ts';
import { divide, type HeadFigures, judgeHead, readObjects } from './objects.ts';
import { runToy, TOYS } from './toy.ts';
import { toyTables } from './toy-table.ts';
import { verdictsOf } from './verdicts.ts';

/** Slides that follow each other come from the same blood: 60 numbers are one group. */
const BLOCK = 60;

const WANTS: readonly WantedData[] = [
  { name: 'lta_daynight_2021', host: 'yolox_nano.onnx' },
  {
    name: 'bccd_voc159',
    host: 'yolox_nano.onnx',
    groupOf: ({ path }) => `slides ${Math.floor(Number(/(\d+)/.exec(basename(path))?.[1] ?? 0) / BLOCK)}`,
  },
];

const study: FramedStudy = {
  name: 'brier-weights',
  question:
    'Do weights by the Brier score, put on gradients and not on losses, tell uncertain samples and calibrate classes better than focal ones, and without a temperature?',
  wants: WANTS,
  options: { epochs: '20', hidden: '32', batch: '32' },
  async measure({ data, seeds, values, signal }) {
    const setting = {
      epochs: wholeNumber(values, 'epochs', 1),
      hidden: wholeNumber(values, 'hidden', 1),
      batch: wholeNumber(values, 'batch', 1),
    };
    const toys = new Map(
      Object.entries(TOYS).map(([name, toy]) => [
        name,
        Array.from({ length: seeds }, (_, seed) => runToy(seed, toy)),
      ]),
    );
    say(`${toys.size} toys, ${seeds} seeds`);
    const arms = [...mainArms(setting.hidden), ...gridArms(setting.hidden), ...plainArms()];
    const sets: SetRuns[] = [];
    for (const one of data) {
      const objects = await readObjects(one, signal);
      const runs = new Map<Arm, HeadFigures[]>(arms.map((arm) => [arm, []]));
      for (let seed = 0; seed < seeds; seed++) {
        const parts = divide(objects, seed);
        const started = performance.now();
        for (const arm of arms) {
          signal.throwIfAborted();
          const { epochs, batch } = setting;
          const recipe = { ...arm.recipe(objects.classNames.length), epochs, batch, seed };
          runs.get(arm)?.push(judgeHead(parts, objects.classNames.length, recipe));
        }
        const seconds = (performance.now() - started) / 1000;
        say(
          `${one.name}, seed ${seed}: ${parts.training.labels.length} objects train, ${parts.text}; ${arms.length} heads, ${seconds.toFixed(0)} s`,
        );
      }
      sets.push({ set: one.name, runs });
    }
    const { tables, rows } = joined([
      toyTables(toys),
      ...sets.map(objectTables),
      errataTable(errata(), { by: "the product's own losses" }),
    ]);
    return {
      setting: { ...setting, bins: 15, optimisers: OPTIMIZER_TEXT, toys: JSON.stringify(TOYS) },
      tables,
      rows,
      verdicts: verdictsOf(
        rows,
        sets.map(({ set }) => set),
      ),
    };
  },
};

await runFramedStudy(study, process.argv.slice(2));
