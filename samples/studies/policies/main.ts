// Which threshold and which suppression helps where: at equal numbers of kept boxes, and by AP without a cut.
//   node dist/samples/studies/policies/main.js [out=results.json] [page=page.html] [check=results.json]
import { classMapText } from '../common/class-map.ts';
import { runFramedStudy, type StudyContext } from '../common/framed-study.ts';
import { RESAMPLED_INTERVAL } from '../common/judged-figures.ts';
import { type HostResult, measureHost } from './host.ts';
import { CHOICE_OPTIONS, POLICY_DATA, readChoiceSetting } from './setting.ts';
import { policyTables } from './tables.ts';
import { policyVerdicts } from './verdicts.ts';

async function measure({ data, values, signal }: StudyContext) {
  const [set] = data;
  if (set === undefined) throw new Error('a study has data');
  const setting = readChoiceSetting(values, set);
  const results: HostResult[] = [];
  for (const one of data) results.push(await measureHost(one, setting, signal));
  const { conf, iou, alpha, threads } = setting;
  return {
    setting: {
      pictures: results[0]?.pictures ?? 0,
      conf,
      iou,
      alpha,
      threads,
      classes: classMapText(setting.classMap),
    },
    ...policyTables(results, setting),
    verdicts: policyVerdicts(results),
  };
}

await runFramedStudy(
  {
    name: 'policies',
    question:
      'Which suppression and which threshold finds more than hard suppression and one fixed threshold?',
    wants: POLICY_DATA,
    options: CHOICE_OPTIONS,
    seeded: false,
    interval: RESAMPLED_INTERVAL,
    measure,
  },
  process.argv.slice(2),
);
