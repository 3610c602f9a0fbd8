// Train, calibrate, export as int8 with two Gaussians, stream at dusk: how much of the gain survives to the last file?
//   node dist/samples/studies/whole-chain/main.js [out=results.json] [page=page.html] [check=results.json]
import { join } from 'node:path';
import { ConfigError } from 'edge-detect/core';
import type { Precision } from 'edge-detect/export';
import { runFramedStudy, type StudyContext, wholeNumber } from '../common/framed-study.ts';
import { say } from '../common/output.ts';
import { findStudyData, type StudyData } from '../common/study-data.ts';
import { STUDENT_INTERVAL } from '../common/study-file.ts';
import { placedPictures } from '../logit-range/lights.ts';
import { EXPORTED } from './chain.ts';
import { type ClipFigures, clipFigures } from './clips.ts';
import { measureSeed, type SeedResult } from './measure.ts';
import { studyTables } from './tables.ts';
import { verdictsOf } from './verdicts.ts';

/** Vehicles of COCO; the sample world's host knows its own classes, and all of them count. */
const COCO_VEHICLES = ['car', 'truck', 'bus', 'motorcycle'];
const SECOND_HOST = 'yolov8n_640_int8dyn.onnx';
/** Pictures of the sample world that the clips' thresholds are chosen on, where the study itself runs on real ones. */
const CLIP_PICTURES = 84;

interface Numbers {
  readonly epochs: number;
  readonly variants: number;
  readonly batch: number;
  readonly precision: number;
}

async function measure(context: StudyContext) {
  const { data, seeds, values } = context;
  const [set, ...others] = data;
  if (set === undefined) throw new Error('a study has data');
  const count = (key: string, least: number) => wholeNumber(values, key, least);
  const numbers: Numbers = {
    ...{ epochs: count('epochs', 1), variants: count('variants', 0), batch: count('batch', 1) },
    precision: readPrecision(values.get('precision') ?? ''),
  };
  const secondSeeds = Math.min(count('second', 0), seeds);
  const secondNumbers = {
    ...numbers,
    ...{ epochs: count('second_epochs', 1), variants: count('second_variants', 0) },
  };
  const withClips = count('clips', 0) > 0;
  const clips = withClips ? await measureClips(set, numbers, context) : [];
  const results = await measureHost(set, { ...numbers, seeds, precisions: EXPORTED }, context);
  const second = others.find(({ host }) => host === SECOND_HOST);
  const found = {
    host: set.host ?? '',
    results,
    clips,
    ...(second &&
      secondSeeds > 0 && {
        second: {
          host: SECOND_HOST,
          // Float16 is a format for devices: on a CPU it is slow, and says little that float32 does not.
          results: await measureHost(
            second,
            { ...secondNumbers, seeds: secondSeeds, precisions: ['float32', 'int8'] },
            context,
          ),
        },
      }),
  };
  const parts = studyTables(found);
  const rows = parts.flatMap((part) => part.rows);
  const slowest = Math.max(
    ...[...results, ...(found.second?.results ?? [])].map(({ trainingSeconds }) => trainingSeconds),
  );
  say(`the slowest training took ${slowest.toFixed(0)} s, features included`);
  return {
    setting: {
      ...numbers,
      second: second ? secondSeeds : 0,
      ...(second &&
        secondSeeds > 0 && { second_epochs: secondNumbers.epochs, second_variants: secondNumbers.variants }),
      clips: withClips,
    },
    tables: parts.map(({ table }) => table),
    rows,
    verdicts: verdictsOf(found, rows),
  };
}

function readPrecision(text: string): number {
  const value = Number(text);
  if (text !== '' && value > 0 && value < 1) return value;
  throw new ConfigError(`precision=${text}: expected a number above 0 and below 1`, {
    hint: 'write precision=0.5',
  });
}

async function measureHost(
  set: StudyData,
  { seeds, ...numbers }: Numbers & { readonly seeds: number; readonly precisions: readonly Precision[] },
  { scratch, signal }: StudyContext,
): Promise<readonly SeedResult[]> {
  const { classNames, placed } = await placedPictures(set);
  const told = new Set<string>();
  const setting = {
    ...numbers,
    ...{ classNames, model: set.model, signal },
    stockClasses: set.kind === 'sample world' ? classNames : COCO_VEHICLES,
    cacheFolder: join(scratch, 'cache'),
    onNote: (text: string) => {
      // Every run says that it has no val split, and under another name.
      if (!told.has(text) && !text.includes('no val split')) say(text);
      told.add(text);
    },
  };
  const results: SeedResult[] = [];
  for (let seed = 0; seed < seeds; seed++)
    results.push(await measureSeed(setting, placed, { seed, folder: join(scratch, `chain-${seed}`) }));
  return results;
}

/** Always of the sample world: no real clip here has truth. */
async function measureClips(
  set: StudyData,
  { precision }: Numbers,
  { scratch, signal }: StudyContext,
): Promise<readonly ClipFigures[]> {
  const isWorld = set.kind === 'sample world';
  const [world] = isWorld ? [set] : await findStudyData([], { scratch, worldPictures: CLIP_PICTURES });
  if (world === undefined) throw new Error('a study always finds data');
  const found = await clipFigures(world, { precision, signal, folder: join(scratch, 'clips') });
  for (const { file, rule, light, alarms, seconds, recall } of found)
    say(`${file}, ${light}, ${rule}: ${alarms} alarms in ${seconds} s, recall ${recall.toFixed(3)}`);
  return found;
}

await runFramedStudy(
  {
    name: 'whole-chain',
    question:
      'Train, calibrate, export as int8 with two Gaussians, stream at dusk: how much of the gain survives to the last file?',
    wants: [
      { name: 'lta_daynight_2021', host: 'yolox_nano.onnx' },
      { name: 'lta_daynight_2021', host: SECOND_HOST },
    ],
    options: {
      ...{ epochs: '30', variants: '4', batch: '8', precision: '0.5', clips: '1' },
      // A pass over the second host costs five times as much: fewer, so that a training stays below 90 s.
      ...{ second: '3', second_epochs: '10', second_variants: '2' },
    },
    interval: `${STUDENT_INTERVAL}. Shares: 95 % of all draws of the seeds. Alarms an hour: exact for a Poisson count. AP50 of a single seed: over resampled pictures. Seeds share cameras (seven give three and a half pairs), so intervals are too narrow for a network of other cameras`,
    measure,
  },
  process.argv.slice(2),
);
