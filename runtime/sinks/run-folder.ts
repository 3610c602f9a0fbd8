// A new folder for the results of each run: runs/detect/predict, predict2, predict3, …
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { outputFault } from './output-fault.ts';

/** What the folder of a run is called. */
export interface RunFolderOptions {
  /** Folder of all runs; `runs/detect` where the user names none. */
  readonly project: string;
  /** Name of this kind of run: `predict`, `stream`. */
  readonly name: string;
  /** Write into the folder of that name, whether it exists or not. */
  readonly existOk: boolean;
}

/**
 * Makes the folder and gives its path. Two runs that start at once get two folders.
 * @throws DataError where it cannot be made
 */
export async function createRunFolder({ project, name, existOk }: RunFolderOptions): Promise<string> {
  try {
    await mkdir(existOk ? join(project, name) : project, { recursive: true });
  } catch (cause) {
    throw outputFault(join(project, name), cause);
  }
  if (existOk) return join(project, name);
  for (let number = 1; ; number++) {
    const folder = join(project, number === 1 ? name : `${name}${number}`);
    try {
      await mkdir(folder); // not recursive: it fails where another run was faster
      return folder;
    } catch (cause) {
      if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST'))
        throw outputFault(folder, cause);
    }
  }
}
