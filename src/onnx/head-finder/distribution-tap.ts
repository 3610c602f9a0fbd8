// From the plan of a tap and its measured shape to how the decoder has to read it.
import type { BoxDistributionTap, Level } from '#core';
import { anchorCount } from '#core';
import type { HeadFacts } from './facts.ts';

type Order = BoxDistributionTap['order'];

const ORDERS: Readonly<Record<string, Order>> = {
  'bins,sides,anchors': 'bins-sides-anchors',
  'anchors,sides,bins': 'anchors-sides-bins',
  'sides,bins,anchors': 'sides-bins-anchors',
  'sides,anchors,bins': 'sides-anchors-bins',
};

/** @returns undefined where there is no tap, or where its shape does not belong to these anchors */
export function distributionTap(facts: HeadFacts, levels: readonly Level[]): BoxDistributionTap | undefined {
  const tap = facts.taps.boxDistribution;
  const shape = tap && facts.measured.get(tap.tensor);
  if (!tap || shape?.length !== 4) return undefined;
  const binsAxis = tap.axis < 0 ? tap.axis + 4 : tap.axis;
  const anchors = anchorCount(levels);
  const names = shape.slice(1).map((length, index) => {
    if (index + 1 === binsAxis) return length === tap.bins ? 'bins' : '?';
    return length === anchors ? 'anchors' : length === 4 ? 'sides' : '?';
  });
  const order = ORDERS[names.join(',')];
  return order && { output: tap.tensor, bins: tap.bins, order, values: 'probabilities', levels };
}
