// Keeps results from taking the place of the pictures and clips that they are made of.
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError } from '#core';

export interface ResultPlaces {
  /** The one file that is written. */
  readonly output?: string;
  /** The folder that takes files under the names of their sources. */
  readonly folder?: string;
}

/**
 * @returns a check to be made before a result of that source is written
 * @throws ConfigError (the check) where the result would overwrite it
 */
export function guardSources({ output, folder }: ResultPlaces): (source: string) => void {
  let checked: string | undefined;
  return (source) => {
    if (source === checked) return;
    checked = source;
    if (output !== undefined && isSame(output, source)) {
      throw new ConfigError(`output=${output} is the source itself and would be overwritten`, {
        hint: 'choose another name for output=',
      });
    }
    if (folder !== undefined && isSame(folder, dirname(source))) {
      throw new ConfigError(`the annotated copy would overwrite ${source}: it lies in the run folder`, {
        hint: 'choose another project= or name=',
      });
    }
  };
}

/** Whether two paths lead to one place, whatever links lie between. */
function isSame(a: string, b: string): boolean {
  const [first, second] = [a, b].map((path) => statSync(path, { throwIfNoEntry: false }));
  return first !== undefined && second !== undefined && first.dev === second.dev && first.ino === second.ino;
}
