// Records of half-precision features in one file, believed only when an index says that all of them are there.
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DataError } from '#core';

const INDEX_NAME = 'features-index.json';
const FORMAT = 1;
/** Names of files that this module writes; everything else in the folder is left alone. */
const OWN_FILE = /^features-(?:index\.json|[0-9a-f]{16}\.f16)(?:\.part)?$/;

/** A complete cache. */
export interface FeatureFile {
  /** @param target exactly one record */
  readInto(target: Uint8Array, record: number): Promise<void>;
  /** What was stored beside the records. */
  readonly notes: unknown;
  close(): Promise<void>;
}

/** A cache that is being made. Nothing in the folder points to it before `finish`. */
export interface FeatureFileWriter {
  /** Records may come in any order, each once. */
  write(record: number, bytes: Uint8Array): Promise<void>;
  /** @param notes anything JSON can hold; given back by `FeatureFile.notes` */
  finish(notes: unknown): Promise<FeatureFile>;
  /** Closes and deletes what was written. */
  discard(): Promise<void>;
}

export interface FeatureFileShape {
  readonly recordCount: number;
  readonly recordBytes: number;
  /** Digest of all that the features depend on. */
  readonly fingerprint: string;
}

interface Index extends FeatureFileShape {
  readonly format: number;
  readonly file: string;
  readonly digests: readonly string[];
  readonly notes: unknown;
}

/** Begins a new cache in a folder of its own; what earlier runs left there is deleted. */
export async function createFeatureFile(folder: string, shape: FeatureFileShape): Promise<FeatureFileWriter> {
  await removeFeatureFiles(folder);
  await mkdir(folder, { recursive: true });
  const file = `features-${randomBytes(8).toString('hex')}.f16`;
  const part = join(folder, `${file}.part`);
  const handle = await open(part, 'wx+').catch(unwritable(part));
  const digests: string[] = [];
  return {
    async write(record, bytes) {
      digests[record] = digestOf(bytes);
      await writeAll(handle, bytes, record * shape.recordBytes).catch(unwritable(part));
    },
    async finish(notes) {
      const missing = Array.from({ length: shape.recordCount }, (_, record) => digests[record]).indexOf(
        undefined,
      );
      if (missing !== -1) throw new Error(`record ${missing} of ${shape.recordCount} was never written`);
      // The records must be on the disk before the index that vouches for them.
      await handle.datasync();
      await rename(part, join(folder, file));
      const index: Index = { format: FORMAT, ...shape, file, digests, notes };
      const indexPart = join(folder, `${INDEX_NAME}.part`);
      const indexHandle = await open(indexPart, 'w').catch(unwritable(indexPart));
      await indexHandle.writeFile(JSON.stringify(index));
      await indexHandle.datasync();
      await indexHandle.close();
      await rename(indexPart, join(folder, INDEX_NAME));
      return reader(handle, shape, notes);
    },
    async discard() {
      await handle.close();
      await rm(part, { force: true });
    },
  };
}

/**
 * The cache of an earlier run, or undefined where there is none that is whole and was made from the same: length and
 * the digest of every record are checked.
 */
export async function openFeatureFile(
  folder: string,
  shape: FeatureFileShape,
): Promise<FeatureFile | undefined> {
  const index = await readIndex(folder);
  if (index === undefined || !isSame(index, shape)) return undefined;
  const handle = await open(join(folder, index.file), constants.O_RDONLY).catch(() => undefined);
  if (handle === undefined) return undefined;
  if (await isWhole(handle, index)) return reader(handle, shape, index.notes);
  await handle.close();
  return undefined;
}

/** What the files of this module take now: they are reused or deleted before others are written. */
export async function featureFileBytes(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const sizes = names
    .filter((name) => OWN_FILE.test(name))
    .map((name) => stat(join(folder, name)).then(({ size }) => size));
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Deletes the files of this module; the folder too where nothing else is in it. */
export async function removeFeatureFiles(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const own = names.filter((name) => OWN_FILE.test(name));
  await Promise.all(own.map((name) => rm(join(folder, name), { force: true })));
  if (names.length > 0 && own.length === names.length) await rm(folder, { recursive: true, force: true });
}

function reader(handle: FileHandle, { recordBytes }: FeatureFileShape, notes: unknown): FeatureFile {
  return {
    notes,
    async readInto(target, record) {
      const { bytesRead } = await handle.read(target, 0, recordBytes, record * recordBytes);
      if (bytesRead !== recordBytes) {
        throw new DataError(
          `the feature cache ends within record ${record}: something has shortened its file`,
          {
            hint: 'run the command again: the cache is then made anew',
          },
        );
      }
    },
    close: () => handle.close(),
  };
}

async function readIndex(folder: string): Promise<Index | undefined> {
  try {
    const index: Index = JSON.parse(await readFile(join(folder, INDEX_NAME), 'utf8'));
    return index.format === FORMAT && OWN_FILE.test(index.file) ? index : undefined;
  } catch {
    // Absent, cut off or no JSON at all: the cache is made anew in each case.
    return undefined;
  }
}

function isSame(index: Index, shape: FeatureFileShape): boolean {
  return (
    index.fingerprint === shape.fingerprint &&
    index.recordCount === shape.recordCount &&
    index.recordBytes === shape.recordBytes &&
    index.digests.length === shape.recordCount
  );
}

async function isWhole(handle: FileHandle, { recordCount, recordBytes, digests }: Index): Promise<boolean> {
  if ((await handle.stat()).size !== recordCount * recordBytes) return false;
  const bytes = new Uint8Array(recordBytes);
  for (let record = 0; record < recordCount; record++) {
    await handle.read(bytes, 0, recordBytes, record * recordBytes);
    if (digestOf(bytes) !== digests[record]) return false;
  }
  return true;
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}

/** 64 bits: against cut files and broken disks, not against anybody. */
function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}

function unwritable(path: string) {
  return (cause: unknown): never => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new DataError(`${path}: the feature cache cannot be written: ${code}`, {
      hint:
        code === 'ENOSPC' || code === 'EDQUOT'
          ? 'the disk is full: free some of it, lower variants=, or use cache=none'
          : 'name another project= folder, or use cache=none',
      cause,
    });
  };
}
