// What the figures of the night say to one claim. The rule is that of all studies (a difference
// counts where its interval leaves out 0); figures of an earlier run by hand were known when these votes were chosen.
import { gainsWithout, shownGain } from '../common/judged-figures.ts';

import type { StudyVerdict } from '../common/study-file.ts';
import { graded } from '../common/verdict-rules.ts';
import { ALL_CAMERAS, type NightResult } from './measure.ts';

/** Each host and each target has a vote: over all cameras recall surely rises, and precision does not surely fall. */
export function nightVerdicts(results: readonly NightResult[]): readonly StudyVerdict[] {
  const lines = results.flatMap(({ host, targets }) =>
    targets.flatMap(({ precision, rows }) => {
      const night = rows.find(({ camera }) => camera === ALL_CAMERAS)?.night;
      return night === undefined ? [] : [{ name: `${host} at ${precision}`, night }];
    }),
  );
  return [
    {
      claim: 'A threshold of its own finds more at night, at no lower precision than one fixed threshold',
      source: 'second note',
      verdict: graded(lines.map(({ night }) => gainsWithout(night.recallGain, night.precisionGain))),
      because: `Own minus fixed on the night pictures of the other halves, by target precision: ${lines
        .map(
          ({ name, night }) =>
            `${name}: recall ${shownGain(night.recallGain)}, precision ${shownGain(night.precisionGain)}`,
        )
        .join('; ')}.`,
      default:
        'one threshold in every light; thresholds follow the light where light= and thresholds= ask for it',
      options: [{ command: 'stream', key: 'light', value: 'not followed' }],
    },
  ];
}
