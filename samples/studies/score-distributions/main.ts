// Is a score better said as a distribution, as the note on distribution focal loss has it, and which of its recipes hold?
//   node dist/samples/studies/score-distributions/main.js [seeds=5] [out=results.json] [page=page.html] [check=results.json]
import { basename } from 'node:path';
import { type LabelledPicture, loadDataset } from 'edge-detect/data';
import { runFramedStudy, type StudyContext, wholeNumber } from '../common/framed-study.ts';
import { loadStudyData } from '../common/hold-out.ts';
import { sayOnce, trainingNumbers } from '../common/measure-arms.ts';
import { say } from '../common/output.ts';
import type { Measured } from '../common/seeded-tables.ts';
import type { StudyData } from '../common/study-data.ts';
import { placedPictures } from '../logit-range/lights.ts';
import type { LightName } from '../logit-range/pictures.ts';
import { chooseArms } from './arms.ts';
import { measureHeadCosts } from './cost.ts';
import { NOISE_SIGMA } from './passes.ts';
import { measureSeed } from './seed.ts';
import { studyTables } from './tables.ts';
import { verdictsOf } from './verdicts.ts';

/** Pictures of another world that the passes are asked about. */
const OTHER_PICTURES = 60;

async function measure({ data, seeds, values, scratch, signal }: StudyContext) {
  const [set, otherSet] = data;
  if (set === undefined) throw new Error('a study has data');
  const numbers = trainingNumbers(values);
  const arms = chooseArms(values.get('arms') ?? '');
  const rounds = wholeNumber(values, 'rounds', 5);
  const options = { data: set.data, model: set.model, ...numbers };
  const dataset = await loadStudyData(set.data);
  const lights = await lightsByName(set);
  const setting = {
    options,
    arms,
    dataset,
    lightOf: (path: string) => lights.get(basename(path)),
    other: otherSet === undefined ? [] : await firstPictures(otherSet),
    scratch,
    signal,
    onNote: sayOnce(),
  };
  const costs = await measureHeadCosts(set.model, rounds, signal);
  say(`${costs.length} heads timed`);
  const measured: Measured[] = [];
  const seconds: number[] = [];
  for (let seed = 0; seed < seeds; seed++) {
    const found = await measureSeed(setting, seed);
    measured.push(...found.measured);
    seconds.push(...found.seconds);
  }
  say(`${seconds.length} heads; the slowest took ${Math.max(...seconds).toFixed(0)} s, features included`);
  const found = { seeds, measured, costs };
  return {
    setting: { ...numbers, rounds, noise: NOISE_SIGMA, arms: arms.map(({ name }) => name).join(', ') },
    ...studyTables(found),
    verdicts: verdictsOf(found),
  };
}

async function lightsByName(set: StudyData): Promise<ReadonlyMap<string, LightName>> {
  const { placed } = await placedPictures(set);
  return new Map(placed.map(({ picture, light }) => [basename(picture.path), light]));
}

async function firstPictures({ data }: StudyData): Promise<readonly LabelledPicture[]> {
  const { splits } = await loadDataset(data);
  return Object.values(splits).flat().slice(0, OTHER_PICTURES);
}

await runFramedStudy(
  {
    name: 'score-distributions',
    question:
      'Is a score better said as a distribution, and which recipes of the note on distribution focal loss hold?',
    wants: [
      { name: 'lta_daynight_2021', host: 'yolox_nano.onnx' },
      // No vehicle in it: what a head says there, it says of a world that it has never seen.
      { name: 'bccd_voc159', host: 'yolox_nano.onnx' },
    ],
    options: { epochs: '5', variants: '1', batch: '8', rounds: '60', arms: '' },
    measure,
  },
  process.argv.slice(2),
);
