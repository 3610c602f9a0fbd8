// Reads lists of sources: `.txt` and `.csv` of pictures and clips, `.streams` of cameras.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, extname, isAbsolute, join } from 'node:path';
import { DataError } from '#core';
import { isGlob } from './glob.ts';

export interface ListEntry {
  /** 1-based line in the file. */
  readonly line: number;
  readonly text: string;
}

export interface ResolvedList {
  readonly specs: readonly string[];
  readonly notices: readonly string[];
  /** Lines that lead nowhere. */
  readonly missing: readonly { readonly source: string; readonly reason: string }[];
}

const CSV_HEADERS = new Set(['path', 'file', 'filename', 'image', 'source']);

/** Lines with content: no blank lines, no `#` lines, no quotes around them; of a `.csv` the first column. */
export async function readListFile(path: string): Promise<readonly ListEntry[]> {
  const text = (await readFile(path, 'utf8')).replace(/^\uFEFF/, '');
  if (text.includes('\u0000')) {
    throw new DataError(`${path}: not a list: it holds bytes that are no text`, {
      hint: 'a list has one path on each line',
    });
  }
  const isCsv = extname(path).toLowerCase() === '.csv';
  const entries = text
    .split(/\r\n|\n|\r/)
    .map((line, index) => ({ line: index + 1, text: unquote(isCsv ? firstColumn(line) : line.trim()) }))
    .filter(({ text: entry }) => entry !== '' && !entry.startsWith('#'));
  const first = entries[0];
  return isCsv && first && CSV_HEADERS.has(first.text.toLowerCase()) ? entries.slice(1) : entries;
}

function firstColumn(line: string): string {
  const quoted = /^\s*"((?:[^"]|"")*)"/.exec(line);
  return quoted ? (quoted[1] ?? '').replaceAll('""', '"') : (line.split(',')[0] ?? '').trim();
}

/** Quotes around an entry, and a stray one at its end. */
function unquote(text: string): string {
  return text.replace(/^["']/, '').replace(/["']$/, '').trim();
}

/**
 * Where the entries lead: `./x` and `../x` are relative to the list file; other relative ones too, and where nothing
 * is there, relative to the working directory, with a notice. Patterns start at the list file.
 */
export function resolveList(listPath: string, entries: readonly ListEntry[]): ResolvedList {
  const folder = dirname(listPath);
  const specs: string[] = [];
  const missing: { source: string; reason: string }[] = [];
  let fromWorkingDirectory = 0;
  for (const { line, text } of entries) {
    const besideList = join(folder, text);
    if (isAbsolute(text) || text.includes('://')) specs.push(text);
    else if (/^\.\.?\//.test(text) || isGlob(text) || existsSync(besideList)) specs.push(besideList);
    else if (existsSync(text)) {
      specs.push(text);
      fromWorkingDirectory++;
    } else {
      const reason = `${listPath} line ${line}: ${text} is neither in ${folder} nor in the working directory`;
      missing.push({ source: text, reason });
    }
  }
  const notice =
    `${listPath}: ${fromWorkingDirectory} of ${entries.length} entries were not found beside the list ` +
    'and are taken from the working directory';
  return { specs, missing, notices: fromWorkingDirectory > 0 ? [notice] : [] };
}
