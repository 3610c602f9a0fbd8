// How often the light that is measured in pictures is the light of a table, per camera: no model is needed.
//   node dist/samples/studies/light-states/main.js [out=results.json] [page=page.html] [check=results.json]
import { DataError } from 'edge-detect/core';
import { runFramedStudy, type StudyContext } from '../common/framed-study.ts';
import { measureLights, STATES } from './measure.ts';
import { lightTables } from './tables.ts';
import { lightVerdicts } from './verdicts.ts';

async function measure({ data, signal }: StudyContext) {
  const [set] = data;
  if (set === undefined) throw new Error('a study has data');
  const seen = await measureLights(set, signal);
  if (!seen.some(({ truth }) => STATES.includes(truth))) {
    throw new DataError(`${set.name}: no picture is known to be of ${STATES.join(', ')}`, {
      hint: 'give frames.csv a column period with these words, or put them between dashes into the names',
    });
  }
  return {
    setting: { pictures: seen.length, cameras: new Set(seen.map(({ camera }) => camera)).size },
    ...lightTables(seen),
    verdicts: lightVerdicts(seen),
  };
}

await runFramedStudy(
  {
    name: 'light-states',
    question: 'How often is the light that is measured in pictures the light of a table?',
    wants: [{ name: 'lta_daynight_2021' }],
    seeded: false,
    hosted: false,
    interval: '95 % interval over resampled pictures of every camera; the value alone where it is exact',
    measure,
  },
  process.argv.slice(2),
);
