// A head is adapted to another light or to a new camera: does holding its logit range keep it honest?
//   node dist/samples/studies/logit-range/main.js [out=results.json] [page=page.html] [check=results.json]
import { join } from 'node:path';
import { ConfigError } from 'edge-detect/core';
import { runFramedStudy, type StudyContext, wholeNumber } from '../common/framed-study.ts';
import { say } from '../common/output.ts';
import type { LastModel } from '../common/train-last.ts';
import { LOGIT_NORM_TEMPERATURE } from './heads.ts';
import { placedPictures } from './lights.ts';
import { CASES, type Case, type Measured, measureSeed } from './measure.ts';
import { picturesOfSeed } from './pictures.ts';
import { studyTables } from './tables.ts';
import { verdictsOf } from './verdicts.ts';

async function measure({ data, seeds, values, scratch, signal }: StudyContext) {
  const [set] = data;
  if (set === undefined) throw new Error('a study has data');
  const { classNames, placed } = await placedPictures(set);
  const count = (key: string, least: number) => wholeNumber(values, key, least);
  const numbers = {
    epochs: count('epochs', 1),
    adaptEpochs: count('adapt', 1),
    variants: count('variants', 0),
    batch: count('batch', 1),
  };
  const cases = chosenCases(values.get('cases') ?? '');
  const told = new Set<string>();
  const setting = {
    ...numbers,
    model: set.model,
    classNames,
    cacheFolder: join(scratch, 'cache'),
    signal,
    onNote: (text: string) => {
      // Every run says that it has no val split, and under another name.
      if (!told.has(text) && !text.includes('no val split')) say(text);
      told.add(text);
    },
  };
  const measured: Measured[] = [];
  const heads: LastModel[] = [];
  for (let seed = 0; seed < seeds; seed++) {
    const found = await measureSeed(setting, picturesOfSeed(placed, seed), {
      seed,
      folder: join(scratch, 'heads'),
      cases,
    });
    measured.push(...found.measured);
    heads.push(...found.heads);
  }
  const slowest = Math.max(...heads.map((head) => head.seconds));
  say(`${heads.length} heads; the slowest took ${slowest.toFixed(0)} s, features included`);
  const found = { seeds, cases, measured };
  const { tables, rows } = studyTables(found);
  return {
    setting: {
      ...numbers,
      logitNormTemperature: LOGIT_NORM_TEMPERATURE,
      classes: classNames.length,
      cases: cases.map(({ id }) => id).join(' '),
    },
    tables,
    rows,
    verdicts: verdictsOf(found, rows),
  };
}

/** @throws ConfigError for a name that is no case */
function chosenCases(words: string): readonly Case[] {
  if (words === '') return CASES;
  return words.split(',').map((id) => {
    const one = CASES.find((known) => known.id === id);
    if (one !== undefined) return one;
    throw new ConfigError(`cases=${id}: known are ${CASES.map((known) => known.id).join(', ')}`, {
      hint: 'leave cases= away to run all',
    });
  });
}

await runFramedStudy(
  {
    name: 'logit-range',
    question:
      'A head is adapted to another light or to a new camera: does holding its logit range keep it honest?',
    wants: [{ name: 'lta_daynight_2021', host: 'yolox_nano.onnx' }],
    options: { epochs: '12', adapt: '10', variants: '1', batch: '8', cases: '' },
    measure,
  },
  process.argv.slice(2),
);
