// A digest of everything that cached features depend on, by content and never by date.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { DataError } from '#core';
import type { LabelledPicture } from '#data/datasets';

/** Raised when the same inputs would give other features or targets than before. */
const VERSION = 1;
/** Files read at once. */
const PARALLEL = 4;

/**
 * @param parts whatever JSON tells apart, in a fixed order
 * @throws DataError naming a picture that cannot be read
 */
export async function fingerprint(
  model: Uint8Array,
  pictures: readonly LabelledPicture[],
  parts: unknown,
): Promise<string> {
  const digests: string[] = [];
  let next = 0;
  async function digestNext(): Promise<void> {
    for (let place = next++; place < pictures.length; place = next++) {
      digests[place] = await fileDigest(pictures[place]!.path);
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, digestNext));
  const hash = createHash('sha256');
  hash.update(JSON.stringify([VERSION, parts])).update(createHash('sha256').update(model).digest());
  pictures.forEach(({ path, objects }, place) => {
    hash.update(JSON.stringify([path, digests[place], objects]));
  });
  return hash.digest('hex');
}

async function fileDigest(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const bytes of createReadStream(path)) hash.update(bytes);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new DataError(`${path}: cannot be read: ${code}`, {
      hint: 'check the path and its permissions; `edge-detect inspect data=…` lists all faults of a set',
      cause,
    });
  }
  return hash.digest('hex');
}
