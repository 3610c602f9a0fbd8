// Access to the golden vectors beside the tests.
import { readFileSync } from 'node:fs';

// biome-ignore lint/suspicious/noExplicitAny: each case has a shape of its own, which its test knows
export type GoldenCase = any;

/** Cases of one file in test/golden, by id. */
export function golden(file: string): ReadonlyMap<string, GoldenCase> {
  const url = new URL(`../golden/${file}`, import.meta.url);
  const { cases } = JSON.parse(readFileSync(url, 'utf8')) as { cases: { id: string }[] };
  return new Map(cases.map((entry) => [entry.id, entry]));
}

export function goldenCase(file: string, id: string): GoldenCase {
  const found = golden(file).get(id);
  if (found === undefined) throw new Error(`no case '${id}' in ${file}`);
  return found;
}

/** Rows of one case, each with a title. */
export function goldenRows(file: string, id: string, list = 'rows'): [title: string, row: GoldenCase][] {
  return goldenCase(file, id)[list].map((row: GoldenCase) => [JSON.stringify(row).slice(0, 60), row]);
}
