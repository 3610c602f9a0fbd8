// A careful little reader of comma-separated files (RFC 4180): quoted fields, doubled quotes, line ends of every system.
import { DataError } from '#core';

export interface CsvRow {
  /** 1-based line on which the row starts. */
  readonly line: number;
  readonly fields: readonly string[];
}

/**
 * @param text without a byte order mark
 * @param file for messages
 * @returns every row that is not blank, whatever its number of fields
 * @throws DataError naming file and line where a quote is not closed, or text follows a closed one
 */
export function parseCsv(text: string, file: string, separator: ',' | ';' | '\t' = ','): readonly CsvRow[] {
  const rows: CsvRow[] = [];
  const plain = new RegExp(`[^${separator}\\r\\n]*`, 'y');
  const quoted = /"((?:[^"]|"")*)"/y;
  let fields: string[] = [];
  let [at, line, firstLine] = [0, 1, 1];
  while (at < text.length || fields.length > 0) {
    const pattern = text[at] === '"' ? quoted : plain;
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) throw broken(file, line, 'a quote that is never closed');
    const whole = found[0];
    fields.push(pattern === quoted ? (found[1] ?? '').replaceAll('""', '"') : whole);
    at += whole.length;
    if (pattern === quoted) line += countLineEnds(whole);
    const next = text[at];
    if (next === separator) {
      at++;
      continue; // at the end of the file one more empty field follows
    }
    if (next !== undefined && next !== '\r' && next !== '\n') {
      throw broken(file, line, `"${text.slice(at, at + 10)}" after a closed quote`);
    }
    if (fields.length > 1 || fields[0] !== '') rows.push({ line: firstLine, fields });
    fields = [];
    if (next === undefined) break;
    at += next === '\r' && text[at + 1] === '\n' ? 2 : 1;
    line++;
    firstLine = line;
  }
  return rows;
}

function countLineEnds(text: string): number {
  return text.match(/\r\n|\n|\r/g)?.length ?? 0;
}

function broken(file: string, line: number, what: string): DataError {
  return new DataError(`${file}:${line}: not well-formed CSV: ${what}`, {
    hint: 'export the file again, or correct the line; a quote inside a quoted field is written twice',
  });
}
