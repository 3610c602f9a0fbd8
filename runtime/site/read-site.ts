// Reads a site file: YAML in, a site with every default filled in out; every mistake with file, line and key.
import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ConfigError, parseThresholdsFile, type ThresholdsFile, toSuppression } from '#core';
import type { Site } from './site.ts';
import { buildCamera, type SiteContext } from './site-camera.ts';
import { type ClassUse, classUses } from './site-class-uses.ts';
import type { Environment } from './site-environment.ts';
import type { SiteFaults } from './site-faults.ts';
import { checkDocument } from './site-issues.ts';
import { buildOutputs } from './site-outputs.ts';
import type { SitePath } from './site-placed.ts';
import type { SiteDocument } from './site-schema.ts';
import { readYaml } from './site-yaml.ts';

/** Larger ones are no site files, whatever they are. */
const LARGEST_BYTES = 1_000_000;

/** A site with what is needed to check it against its model. */
export interface SiteFile {
  /** As it was given, for messages. */
  readonly path: string;
  readonly site: Site;
  /** Every place where a class is named. */
  readonly classUses: readonly ClassUse[];
  /** Which number the thresholds of thresholds files hold for; undefined where there is none. */
  readonly score?: 'raw' | 'calibrated';
}

/** What a site file names and its reader must look at; paths are absolute. */
export interface SiteSurroundings {
  /** Text of a thresholds file. @throws Error where it cannot be read */
  readonly thresholdsText: (path: string) => string;
  readonly modelSha256?: string;
  /** What is wrong with a file that must be there, such as `there is no such file`; undefined where nothing is. */
  readonly faultOfFile: (path: string) => string | undefined;
}

const NOTHING_AROUND: SiteSurroundings = {
  thresholdsText: () => {
    throw new Error('only its path is known here');
  },
  faultOfFile: () => undefined,
};

/**
 * Paths in the file are relative to it.
 * @param env for `${NAME}` and `${NAME:-default}` in texts
 * @throws ConfigError with one line for each mistake: file, line, column, key, what was found, what was expected
 */
export async function readSite(path: string, env: Environment = process.env): Promise<SiteFile> {
  const text = await readText(path);
  const { texts, model } = namedFiles(text, path, env);
  const thresholds = new Map<string, string | Error>();
  for (const named of texts)
    thresholds.set(named, await readFile(named, 'utf8').catch((error: Error) => error));
  const modelSha256 = texts.length > 0 && model !== undefined ? await sha256Of(model) : undefined;
  return parseSite(text, path, env, {
    thresholdsText: (named) => {
      const found = thresholds.get(named);
      if (typeof found === 'string') return found;
      throw found ?? new Error(`${named} was not read`);
    },
    ...(modelSha256 !== undefined && { modelSha256 }),
    faultOfFile,
  });
}

/**
 * The pure part of `readSite`.
 * @param around without it no file is looked for, and `thresholds: <path>` is a mistake
 * @throws ConfigError
 */
export function parseSite(
  text: string,
  path: string,
  env: Environment,
  around: SiteSurroundings = NOTHING_AROUND,
): SiteFile {
  const { root, faults, positionOf } = readYaml(text, path, env);
  const document = checkDocument(root, faults);
  if (document === undefined) {
    faults.throwIfAny();
    throw new Error('a document that is refused has a fault');
  }
  const folder = dirname(resolve(path));
  const files = new Map<string, ThresholdsFile>();
  const context: SiteContext = {
    folder,
    absolute: (named) => resolve(folder, named),
    read: (named) => readThresholds(named, { folder, around, files }),
    faults,
  };
  const site = buildSite(document, { context, around, files });
  faults.throwIfAny();
  const score = files.values().next().value?.score;
  return {
    path,
    site,
    classUses: classUses(document, { root, positionOf, files, absolute: context.absolute }),
    ...(score !== undefined && { score }),
  };
}

interface Building {
  readonly context: SiteContext;
  readonly around: SiteSurroundings;
  /** Thresholds files by their absolute path, as they are read. */
  readonly files: ReadonlyMap<string, ThresholdsFile>;
}

function buildSite(document: SiteDocument, { context, around, files }: Building): Site {
  const { faults, absolute } = context;
  const { device = 'cpu', sessions, threads, iou } = document;
  const model = absolute(document.model);
  expectFile(model, ['model'], { around, context });
  if (Object.keys(document.cameras).length === 0) {
    const hint = 'add a name below cameras:, and its source: rtsp://…';
    faults.addNew(['cameras'], { text: 'found no camera, expected one or more', hint, atKey: true });
  }
  const cameras = Object.entries(document.cameras).map(([name, own]) => {
    const { camera, file } = buildCamera({ name, own, top: document, context });
    if (file !== undefined) expectFile(file, ['cameras', name, 'source'], { around, context });
    return camera;
  });
  const suppression = commonSuppression(document, files, faults);
  return {
    model,
    device,
    ...(sessions !== undefined && { sessions }),
    ...(threads !== undefined && { threads }),
    ...(iou !== undefined && { iou }),
    ...(suppression !== undefined && { suppression }),
    cameras,
    ...buildOutputs(document, context),
  };
}

function expectFile(
  file: string,
  path: SitePath,
  { around, context: { folder, faults } }: Pick<Building, 'around' | 'context'>,
): void {
  const wrong = around.faultOfFile(file);
  if (wrong === undefined) return;
  const hint = `paths are relative to the site file, in ${folder}`;
  faults.addNew(path, { text: `found ${faults.found(path)}: ${wrong}`, hint });
}

/** One detector serves all cameras, so its suppression is one too. */
function commonSuppression(
  document: SiteDocument,
  files: ReadonlyMap<string, ThresholdsFile>,
  faults: SiteFaults,
): Site['suppression'] {
  const [[firstPath, first] = [], ...others] = [...files];
  if (first === undefined) return undefined;
  if (document.iou !== undefined) {
    const text = `the thresholds file decides that already (${first.suppression.iou})`;
    faults.add(['iou'], { text, hint: 'remove iou:', atKey: true });
  }
  const key = ({ suppression, score }: ThresholdsFile) => JSON.stringify([suppression, score]);
  const other = others.find(([, file]) => key(file) !== key(first));
  if (other !== undefined) {
    const text = `${firstPath} and ${other[0]} were chosen with different suppression or scores`;
    faults.add(['cameras'], { text, hint: 'make both with one setting: one model serves all', atKey: true });
  }
  return toSuppression(first);
}

interface ThresholdsPlace {
  readonly folder: string;
  readonly around: SiteSurroundings;
  readonly files: Map<string, ThresholdsFile>;
}

function readThresholds(named: string, { folder, around, files }: ThresholdsPlace): ThresholdsFile {
  const path = resolve(folder, named);
  const known = files.get(path);
  if (known !== undefined) return known;
  const { modelSha256 } = around;
  let text: string;
  try {
    text = around.thresholdsText(path);
  } catch (cause) {
    throw new ConfigError(`found '${named}', which cannot be read: ${reasonOf(cause as Error)}`, {
      hint: `looked at ${path}`,
      cause,
    });
  }
  const file = parseThresholdsFile(text, named, modelSha256 === undefined ? undefined : { modelSha256 });
  files.set(path, file);
  return file;
}

/** Before the site is built: which files must be read for it. Mistakes are told later, all at once. */
function namedFiles(text: string, path: string, env: Environment) {
  const { root } = readYaml(text, path, env);
  const folder = dirname(resolve(path));
  const cameras = [...(root.children.get('cameras')?.children.values() ?? [])];
  const texts = [root, ...cameras]
    .map(({ children }) => children.get('thresholds')?.value)
    .filter((value): value is string => typeof value === 'string' && value !== '')
    .map((named) => resolve(folder, named));
  const model = root.children.get('model')?.value;
  return { texts: [...new Set(texts)], ...(typeof model === 'string' && { model: resolve(folder, model) }) };
}

async function readText(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size <= LARGEST_BYTES) return await readFile(path, 'utf8');
  } catch (cause) {
    throw new ConfigError(`${path}: the site file cannot be read: ${reasonOf(cause as Error)}`, {
      hint: 'write config=<path of a YAML file>',
      cause,
    });
  }
  throw new ConfigError(`${path}: found more than ${LARGEST_BYTES / 1e6} MB, expected a site file`, {
    hint: 'write config=<path of a YAML file>',
  });
}

/** @returns undefined where it cannot be read, which `faultOfFile` then says */
async function sha256Of(path: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), hash);
  } catch {
    return undefined;
  }
  return hash.digest('hex');
}

function faultOfFile(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 'there is no such file';
  return found.isDirectory() ? 'this is a folder' : undefined;
}

function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return 'there is no such file';
  return error.code === 'EISDIR' ? 'this is a folder' : error.message;
}
