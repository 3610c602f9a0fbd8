// Older files of a log: `path.1` is the youngest, and no more than a number of them is kept.
import { existsSync, renameSync, rmSync } from 'node:fs';

/**
 * Moves `path` to `path.1` and every older one by one. A process that is killed in between leaves a gap, which the next
 * turn fills; no file is lost by it.
 * @param keep older files that stay; 0: `path` is removed
 * @throws the system's error; what was not moved is where it was
 */
export function rotate(path: string, keep: number): void {
  let free = 1;
  while (free <= keep && existsSync(older(path, free))) free++;
  // All places are taken: the oldest goes.
  const last = Math.min(free, keep);
  for (let place = last; place > 1; place--) renameSync(older(path, place - 1), older(path, place));
  if (keep > 0) renameSync(path, older(path, 1));
  else rmSync(path, { force: true });
}

/** Removes what a smaller `keep` leaves over. */
export function removeOlder(path: string, keep: number): void {
  for (let place = keep + 1; existsSync(older(path, place)); place++) rmSync(older(path, place));
}

function older(path: string, place: number): string {
  return `${path}.${place}`;
}
