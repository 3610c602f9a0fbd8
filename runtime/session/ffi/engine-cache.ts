// TensorRT engines that the runtime built here, by a key of all that an engine depends on: one folder for each key, which
// appears under its name only when it is whole.
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Everything that makes one engine another. */
export interface EngineCacheKey {
  /** Of the graph as the runtime gets it. */
  readonly modelSha256: string;
  readonly tensorrt: string;
  readonly gpu: string;
  readonly computeCapability: string;
  readonly precision: string;
  /** `images 1x3x640x640` */
  readonly shapes: string;
  readonly onnxRuntime: string;
  /** Options of the provider that the user gave. */
  readonly options: string;
}

export interface EngineCache {
  /** Where the runtime reads engines and writes them. */
  readonly folder: string;
  /** Whether whole engines of this key lie there already. */
  readonly isFilled: boolean;
  /** Why what lay there was not taken. */
  readonly note?: string;
  /** Gives what was built its name. */
  keep(): Promise<void>;
  /** Removes what was begun. */
  discard(): Promise<void>;
}

interface Stored {
  readonly version: 1;
  readonly key: EngineCacheKey;
  readonly files: readonly StoredFile[];
}

interface StoredFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

const RECORD = 'key.json';

/** `$XDG_CACHE_HOME/edge-detect/engines`, or below `~/.cache`. */
export function engineCacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  return join(environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'edge-detect', 'engines');
}

/** @param root folder of all engines; made where it is not there */
export async function openEngineCache(root: string, key: EngineCacheKey): Promise<EngineCache> {
  const folder = join(root, nameOf(key));
  const fault = await faultOf(folder, key);
  if (fault === undefined) {
    return {
      folder,
      isFilled: true,
      keep: async () => void (await seal(folder, key)),
      discard: async () => undefined,
    };
  }
  await removeLeftovers(root);
  const partial = join(root, `${PARTIAL}${randomUUID()}`);
  await mkdir(partial, { recursive: true });
  const discard = () => rm(partial, { recursive: true, force: true });
  return {
    folder: partial,
    isFilled: false,
    ...(fault !== NOTHING && { note: `the engine in ${folder} is not used: ${fault}` }),
    async keep() {
      if (!(await seal(partial, key))) return discard();
      await rm(folder, { recursive: true, force: true });
      // Another process may have been faster: then its engine is as good.
      await rename(partial, folder).catch(discard);
    },
    discard,
  };
}

const PARTIAL = '.building-';
const DAY_MS = 86_400_000;

/** What builds left that were killed: no build takes a day. */
async function removeLeftovers(root: string): Promise<void> {
  const names = await readdir(root).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(PARTIAL))) {
    const facts = await stat(join(root, name)).catch(() => undefined);
    if (facts !== undefined && Date.now() - facts.mtimeMs > DAY_MS)
      await rm(join(root, name), { recursive: true, force: true });
  }
}

const NOTHING = 'there is none';

/** @returns undefined where the folder holds exactly what its record says, for this very key */
async function faultOf(folder: string, key: EngineCacheKey): Promise<string | undefined> {
  const text = await readFile(join(folder, RECORD), 'utf8').catch(() => undefined);
  if (text === undefined)
    return (await stat(folder).catch(() => undefined)) ? `it has no ${RECORD}` : NOTHING;
  let stored: Stored;
  try {
    stored = JSON.parse(text) as Stored;
    if (stored.version !== 1 || !Array.isArray(stored.files)) return `its ${RECORD} is of another version`;
  } catch {
    return `its ${RECORD} is damaged`;
  }
  const names = Object.keys(key) as (keyof EngineCacheKey)[];
  const differs = names.find((name) => stored.key?.[name] !== key[name]);
  if (differs !== undefined)
    return `it is for ${differs} ${stored.key?.[differs]}, and here it is ${key[differs]}`;
  for (const file of stored.files) {
    const found = await factsOf(folder, file.name).catch(() => undefined);
    if (found === undefined) return `${file.name} is gone`;
    if (found.bytes !== file.bytes) return `${file.name} has ${found.bytes} bytes of ${file.bytes}`;
    if (found.sha256 !== file.sha256) return `${file.name} was changed`;
  }
  return undefined;
}

/** Writes the record of what lies in the folder. @returns whether there is anything */
async function seal(folder: string, key: EngineCacheKey): Promise<boolean> {
  const names = (await readdir(folder)).filter((name) => name !== RECORD && !name.startsWith('.')).sort();
  const files = await Promise.all(names.map((name) => factsOf(folder, name)));
  if (files.every(({ name }) => !name.endsWith('.engine'))) return false;
  const stored: Stored = { version: 1, key, files };
  const partial = join(folder, `.${RECORD}-${randomUUID()}`);
  await writeFile(partial, `${JSON.stringify(stored, null, 2)}\n`);
  await rename(partial, join(folder, RECORD));
  return true;
}

async function factsOf(folder: string, name: string): Promise<StoredFile> {
  const bytes = await readFile(join(folder, name));
  return { name, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

function nameOf(key: EngineCacheKey): string {
  const parts = (Object.keys(key) as (keyof EngineCacheKey)[]).sort().map((name) => [name, key[name]]);
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
