// What the shares say to one claim. The rule is that of all studies (a difference
// counts where its interval leaves out 0); figures of an earlier run by hand were known when these votes were chosen.

import type { Figure } from 'edge-detect/core';
import type { StudyVerdict } from '../common/study-file.ts';
import { graded } from '../common/verdict-rules.ts';
import type { Seen } from './measure.ts';
import { confused, type Reading, shareRight } from './tables.ts';

const LEAST_SHARE = 0.9;

/** Judged on cameras that the ladder was not fitted on: 90 % surely right, and night and day never confused. */
export function lightVerdicts(seen: readonly Seen[]): readonly StudyVerdict[] {
  const reading: Reading = 'foundElsewhere';
  const right = shareRight(seen, reading);
  const mistaken = confused(seen, reading, 'night', 'day') + confused(seen, reading, 'day', 'night');
  const known = right.kind !== 'none';
  return [
    {
      claim:
        'The light measured in pictures of a new camera is the light of the table (90 % right or more, night and day never confused)',
      source: 'this project',
      verdict: graded([known ? right.low >= LEAST_SHARE : undefined, known ? mistaken === 0 : undefined]),
      because: `Fitted on the other cameras, right on ${shareText(right)} of ${seen.length} pictures (as shipped ${shareText(shareRight(seen, 'found'))}); night and day confused on ${mistaken}; dusk right on ${shareText(shareRight(seen, reading, ({ truth }) => truth === 'dusk'))}.`,
      default: 'the light is not followed unless light= asks for it; light=sun needs no picture',
      options: [{ command: 'stream', key: 'light', value: 'not followed' }],
    },
  ];
}

function shareText(figure: Figure): string {
  if (figure.kind === 'none') return 'an unknown share';
  const [value, low, high] = [figure.value, figure.low, figure.high].map((one) => (100 * one).toFixed(0));
  return low === high ? `${value} %` : `${value} % (${low} to ${high})`;
}
