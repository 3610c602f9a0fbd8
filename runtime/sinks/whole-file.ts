// Writes a small file so that it is there whole or not at all.
import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { outputFault } from './output-fault.ts';

/** @throws DataError naming the path; nothing is left behind then */
export async function writeWholeFile(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = temporaryBeside(path);
  try {
    await writeFile(temporary, content);
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw outputFault(path, cause);
  }
}

/** A hidden name in the same folder, so that the final rename stays on one disk. */
export function temporaryBeside(path: string): string {
  return join(dirname(path), `.partial-${randomUUID()}`);
}
