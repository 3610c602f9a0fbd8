// Least scores of a camera: by class, and in each state of the light.
import type { SiteThresholds } from './site.ts';

/** Stands for every class that is not named. */
const OTHERS = '*';

/** What the state of the light says of the class, then of the others, then what holds in every light. */
export function leastScore(
  { base, classes, conditions }: SiteThresholds,
  className: string,
  light: string | undefined,
): number {
  const own = light === undefined ? undefined : conditions.get(light);
  return own?.get(className) ?? own?.get(OTHERS) ?? classes.get(className) ?? classes.get(OTHERS) ?? base;
}

/** The lowest that any class has in any light. */
export function lowestScore({ base, classes, conditions }: SiteThresholds): number {
  const all = [...classes.values(), ...[...conditions.values()].flatMap((state) => [...state.values()])];
  return Math.min(base, ...all);
}
