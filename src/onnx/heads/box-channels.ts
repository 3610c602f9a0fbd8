// How many channels a box code takes per location.
import type { BoxCode } from './types.ts';

export function boxChannels(code: BoxCode): number {
  return code.kind === 'dfl' ? 4 * code.bins : 4;
}
