// File names for results: the source's own name, never the same one for two sources.
import { basename, extname } from 'node:path';

export interface OutputNames {
  /**
   * A name for what comes from this source, with `ending` (`.txt`, `_12.txt`) behind its stem. The first source of a
   * name has it; the next ones (`b/a.jpg` after `a/a.jpg`) get `a-2`, `a-3` in the order in which they come.
   */
  nameFor(source: string, ending: string): string;
}

// 255 bytes are the limit of usual file systems; the rest is for the number and the ending.
const MAX_STEM_BYTES = 200;

export function createOutputNames(): OutputNames {
  const stems = new Map<string, string>();
  const taken = new Set<string>();
  return {
    nameFor(source, ending) {
      const known = `${source}\u0000${extensionOf(ending)}`;
      let stem = stems.get(known);
      if (stem === undefined) {
        const own = stemOf(source);
        stem = own;
        // Without regard to case: on some file systems `A.txt` and `a.txt` are one file.
        for (let number = 2; taken.has((stem + extensionOf(ending)).toLowerCase()); number++)
          stem = `${own}-${number}`;
        taken.add((stem + extensionOf(ending)).toLowerCase());
        stems.set(known, stem);
      }
      return stem + ending;
    },
  };
}

function extensionOf(ending: string): string {
  return ending.slice(ending.lastIndexOf('.'));
}

/** The name of a file without its ending; of a URL or a camera, what of it can stand in a file name. */
function stemOf(source: string): string {
  const isUrl = source.includes('://');
  const name = isUrl ? source.replace(/^[a-z0-9+.-]+:\/\//i, '').replace(/[?#].*$/, '') : basename(source);
  const stem = isUrl ? name.replace(/[^\p{L}\p{N}._-]+/gu, '_') : basename(name, extname(name));
  let cut = stem || 'source';
  while (Buffer.byteLength(cut) > MAX_STEM_BYTES) cut = cut.slice(0, -1);
  return cut;
}
