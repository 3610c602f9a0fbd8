// The error of a gate that did not let a model pass: which floors, by how much, and where to look.
import { ModelError } from '#core';
import type { ExportPaths } from '../export-paths.ts';
import type { FloorCheck } from './floors.ts';
import type { GateResult } from './gate.ts';

/** Exit code 5. */
export function gateRefusal(paths: ExportPaths, { checks, worst }: GateResult): ModelError {
  const failed = checks.filter(({ passed }) => !passed);
  const [picture] = worst;
  return new ModelError(
    `${paths.model} is not written: the export differs from its source by more than is allowed: ${failed.map(describe).join('; ')}${
      picture === undefined ? '' : `; most in ${picture.name}`
    }`,
    {
      hint: `look at ${paths.report}; then calibrate on more pictures of your cameras, choose a finer precision, give another floor (${failed.map(({ floor }) => optionOf(floor)).join(', ')}), or write it all the same with force=True`,
    },
  );
}

function describe({ floor, what, found, allowed, note }: FloorCheck): string {
  const least = floor === 'minFound' ? 'at least ' : 'at most ';
  return `${what} ${format(found)} (${least}${format(allowed)}${note === undefined ? '' : `; ${note}`})`;
}

function format(value: number | null): string {
  return value === null ? '–' : Number(value.toPrecision(3)).toString();
}

/** `maxApDrop` → `max_ap_drop=`. */
function optionOf(floor: string): string {
  return `${floor.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}=`;
}
