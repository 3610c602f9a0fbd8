// How many of an anchor's values are classes, and how many are masks or keypoints.
import type { HeadFacts } from './facts.ts';

/**
 * @param values values of one anchor that are left after box and objectness
 * @returns undefined where the count that somebody stated does not fit
 */
export function classesAmong(facts: HeadFacts, values: number): number | undefined {
  const { classCount } = facts;
  const extra = extraValues(facts);
  if (classCount === undefined) {
    const left = values - (extra ?? 0);
    return left >= 1 ? left : undefined;
  }
  if (classCount < 1 || classCount > values) return undefined;
  const rest = values - classCount;
  if (rest === 0 || rest === extra) return classCount;
  // Keypoints are written as pairs or triples, and some exporters leave their number out.
  const keypoints =
    facts.metadata.task === 'pose' && extra === undefined && (rest % 3 === 0 || rest % 2 === 0);
  return keypoints ? classCount : undefined;
}

function extraValues({ metadata, maskChannels }: HeadFacts): number | undefined {
  if (maskChannels > 0) return maskChannels;
  if (metadata.keypointShape) return metadata.keypointShape.reduce((product, count) => product * count, 1);
  return metadata.task === 'pose' ? undefined : 0;
}

/** ` and 32 mask coefficients`, for the evidence. */
export function describeExtra(facts: HeadFacts, extra: number): string {
  if (extra === 0) return '';
  return facts.maskChannels > 0 ? ` and ${extra} mask coefficients` : ` and ${extra} values of keypoints`;
}
