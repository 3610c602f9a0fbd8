// Is our head better than the head it replaced, on cameras that neither has seen?
//   node dist/samples/studies/held-out-cameras/main.js [seeds=5] [out=results.json] [page=page.html] [check=results.json]
import { classMapText, readClassMap } from '../common/class-map.ts';
import { runFramedStudy, type StudyContext } from '../common/framed-study.ts';
import { measureArms, trainingNumbers } from '../common/measure-arms.ts';
import { ARMS, measureHead, studyTables } from './tables.ts';
import { verdictsOf } from './verdicts.ts';

async function measure({ data: [set], seeds, values, scratch, signal }: StudyContext) {
  if (set === undefined) throw new Error('a study has data');
  const numbers = trainingNumbers(values);
  const classMap = readClassMap(values, set);
  const measured = await measureArms({
    ...{ arms: ARMS, seeds, scratch, signal },
    options: { data: set.data, model: set.model, ...numbers },
    measure: (trained, heldOut) => measureHead(trained, heldOut, { classMap }),
  });
  const found = { seeds, measured };
  return {
    setting: { ...numbers, classes: classMapText(classMap) },
    ...studyTables(found),
    verdicts: verdictsOf(found),
  };
}

await runFramedStudy(
  {
    name: 'held-out-cameras',
    question: "Is a default head better than the host's own, on cameras that neither has seen?",
    wants: [{ name: 'lta_daynight_2021', host: 'yolox_nano.onnx' }],
    options: { epochs: '20', variants: '2', batch: '8', map: '' },
    measure,
  },
  process.argv.slice(2),
);
