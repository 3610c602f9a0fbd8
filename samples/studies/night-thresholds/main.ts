// Recall at night with thresholds of its own against one fixed threshold, both chosen for the same precision, per camera.
//   node dist/samples/studies/night-thresholds/main.js [out=results.json] [page=page.html] [check=results.json]
import { ConfigError, DataError } from 'edge-detect/core';
import { classMapText } from '../common/class-map.ts';
import { runFramedStudy, type StudyContext } from '../common/framed-study.ts';
import { RESAMPLED_INTERVAL } from '../common/judged-figures.ts';
import type { StudyData } from '../common/study-data.ts';
import { loadSliced, POLICY_DATA, POLICY_OPTIONS, readPolicySetting } from '../policies/setting.ts';
import { measureNight, type NightResult, type NightSetting } from './measure.ts';
import { nightTables } from './tables.ts';
import { nightVerdicts } from './verdicts.ts';

/** @throws ConfigError */
function readSetting(values: ReadonlyMap<string, string>, set: StudyData): NightSetting {
  const text = values.get('precision') ?? '';
  const precisions = text.split(',').map(Number);
  if (!precisions.every((precision) => precision > 0 && precision <= 1)) {
    throw new ConfigError(`precision=${text}: expected numbers above 0, at most 1`, {
      hint: 'write precision=0.8',
    });
  }
  return { ...readPolicySetting(values, set), precisions, night: values.get('night') ?? '' };
}

async function measure({ data, values, signal }: StudyContext) {
  const [set] = data;
  if (set === undefined) throw new Error('a study has data');
  const setting = readSetting(values, set);
  const { night, precisions, iou, threads } = setting;
  const results: NightResult[] = [];
  for (const one of data) {
    const sliced = await loadSliced(one.data);
    if (!sliced.slices.includes(night)) {
      throw new DataError(`${one.name}: no picture was taken at "${night}"`, {
        hint: `its lights are ${[...new Set(sliced.slices)].join(', ')}: name one with night=`,
      });
    }
    results.push(await measureNight(one, sliced, setting, signal));
  }
  return {
    setting: {
      precision: precisions.join(','),
      night,
      iou,
      threads,
      classes: classMapText(setting.classMap),
    },
    ...nightTables(results, night),
    verdicts: nightVerdicts(results),
  };
}

await runFramedStudy(
  {
    name: 'night-thresholds',
    question: 'Does a threshold of its own find more at night, at equal precision?',
    wants: POLICY_DATA,
    options: { ...POLICY_OPTIONS, precision: '0.7,0.8,0.9', night: 'night' },
    seeded: false,
    interval: RESAMPLED_INTERVAL,
    measure,
  },
  process.argv.slice(2),
);
