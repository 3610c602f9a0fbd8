// Which split a file, a folder or a subset means by its name.
import type { SplitName } from './types.ts';

/** `val`, `valid`, `Validation`; `test`; all else is train. */
export function splitOf(name: string): SplitName {
  if (/val/i.test(name)) return 'val';
  return /test/i.test(name) ? 'test' : 'train';
}
