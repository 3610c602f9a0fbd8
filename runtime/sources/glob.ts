// Finds files by a pattern such as `frames/**/*.{jpg,png}`. Node 20 has no such thing of its own.
import { type Dirent, readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface GlobMatches {
  /** Files in the order of their code units, as Python's sorted() has it. */
  readonly paths: readonly string[];
  /** Links that lead nowhere, and folders that cannot be read. */
  readonly unreadable: readonly { readonly path: string; readonly reason: string }[];
}

const MAGIC = /[*?[\]{}]/;

export function isGlob(pattern: string): boolean {
  return MAGIC.test(pattern);
}

/**
 * `*` and `?` match within a name and no leading dot, `[a-z]` and `[!a-z]` a character, `{a,b}` alternatives, `**`
 * any number of folders. Links to folders are followed; a link to a folder above itself ends there.
 */
export function globFiles(pattern: string): GlobMatches {
  const segments = pattern.split('/');
  const firstMagic = segments.findIndex((segment) => isGlob(segment));
  const base = segments.slice(0, firstMagic).join('/') || (pattern.startsWith('/') ? '/' : '.');
  const rest = segments.slice(firstMagic).filter((segment) => segment !== '');
  const walk: Walk = {
    matches: globToRegExp(rest.join('/')),
    maxDepth: pattern.includes('**') ? Number.POSITIVE_INFINITY : rest.length,
    paths: [],
    unreadable: [],
  };
  walkFolder(walk, base, '', []);
  // The user's own spelling of the base: no `./` in front where none was given.
  const strip = base === '.' && !pattern.startsWith('./') ? 2 : 0;
  return { paths: walk.paths.map((path) => path.slice(strip)).sort(), unreadable: walk.unreadable };
}

interface Walk {
  readonly matches: RegExp;
  readonly maxDepth: number;
  readonly paths: string[];
  readonly unreadable: { path: string; reason: string }[];
}

function walkFolder(walk: Walk, folder: string, relative: string, ancestors: readonly string[]): void {
  let entries: Dirent[];
  let real: string;
  try {
    real = realpathSync(folder);
    if (ancestors.includes(real)) return;
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (cause) {
    walk.unreadable.push({ path: folder, reason: cause instanceof Error ? cause.message : String(cause) });
    return;
  }
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const below = relative === '' ? entry.name : `${relative}/${entry.name}`;
    const path = folder === '.' ? `./${entry.name}` : join(folder, entry.name);
    const kind = entryKind(entry, path);
    if (kind === 'folder' && below.split('/').length < walk.maxDepth) {
      walkFolder(walk, path, below, [...ancestors, real]);
    } else if (kind === 'file' && walk.matches.test(below)) walk.paths.push(path);
    else if (kind === 'dangling' && walk.matches.test(below)) {
      walk.unreadable.push({ path, reason: 'the link leads nowhere' });
    }
  }
}

/** What stands behind a name in a folder, links followed. */
export function entryKind(entry: Dirent, path: string): 'file' | 'folder' | 'dangling' | 'other' {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'folder';
  if (!entry.isSymbolicLink()) return 'other';
  try {
    const target = statSync(path);
    return target.isFile() ? 'file' : target.isDirectory() ? 'folder' : 'other';
  } catch {
    return 'dangling';
  }
}

/** A regular expression for paths with `/` that are relative to the base of the pattern. */
export function globToRegExp(pattern: string): RegExp {
  let source = '';
  let braces = 0;
  for (let i = 0; i < pattern.length; i++) {
    const rest = pattern.slice(i);
    const set = /^\[(!?)([^\]/]+)\]/.exec(rest);
    if (rest.startsWith('**/')) {
      source += '(?:[^/]+/)*';
      i += 2;
    } else if (rest.startsWith('**')) {
      source += '.*';
      i += 1;
    } else if (set) {
      source += `[${set[1] ? '^/' : ''}${(set[2] ?? '').replace(/[\\^]/g, '\\$&')}]`;
      i += set[0].length - 1;
    } else if (rest.startsWith('{') && rest.includes('}')) {
      source += '(?:';
      braces++;
    } else if (rest.startsWith('}') && braces > 0) {
      source += ')';
      braces--;
    } else if (rest.startsWith(',') && braces > 0) source += '|';
    else if (rest.startsWith('*')) source += '[^/]*';
    else if (rest.startsWith('?')) source += '[^/]';
    else source += (pattern[i] ?? '').replace(/[.+^$()|\\[\]{}]/, '\\$&');
  }
  return new RegExp(`^${source}$`, 's');
}
