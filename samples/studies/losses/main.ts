// Does a score that is a distribution beat the usual losses, and what do Brier weights on the classes change?
//   node dist/samples/studies/losses/main.js [seeds=5] [out=results.json] [page=page.html] [check=results.json]
import { runFramedStudy, type StudyContext } from '../common/framed-study.ts';
import { armsNamed, measureArms, trainingNumbers } from '../common/measure-arms.ts';
import { bestFigures, qualityFigures } from '../common/quality-figures.ts';
import type { SeededFigures } from '../common/seeded-tables.ts';
import { ARMS } from './arms.ts';
import { BEST_TABLE, studyTables, TABLE } from './tables.ts';
import { verdictsOf } from './verdicts.ts';

async function measure({ data: [set], seeds, values, scratch, signal }: StudyContext) {
  if (set === undefined) throw new Error('a study has data');
  const numbers = trainingNumbers(values);
  const arms = armsNamed(ARMS, values.get('arms') ?? '');
  const measured = await measureArms({
    ...{ arms, seeds, scratch, signal },
    options: { data: set.data, model: set.model, ...numbers },
    measure: (trained, heldOut) => [
      [TABLE, qualityFigures(trained, heldOut)],
      [BEST_TABLE, bestFigures(trained, heldOut)],
    ],
  });
  const found: SeededFigures = { seeds, measured };
  return {
    setting: { ...numbers, arms: arms.map(({ name }) => name).join(', ') },
    ...studyTables(found),
    verdicts: verdictsOf(found),
  };
}

await runFramedStudy(
  {
    name: 'losses',
    question:
      'Does a score that is a distribution beat heads of BCE, QFL, focal loss and FL-GRA, and what do Brier weights change?',
    wants: [{ name: 'lta_daynight_2021', host: 'yolox_nano.onnx' }],
    options: { epochs: '8', variants: '1', batch: '8', arms: '' },
    measure,
  },
  process.argv.slice(2),
);
