// Gathers every mistake of a site file, so that one reading names them all, each with line, column and key.
import { ConfigError } from '#core';
import { redactCredentials } from '../ffmpeg/index.ts';
import { describeValue, type Placed, type PositionOf, placeOf, type SitePath } from './site-placed.ts';

const MOST_LISTED = 20;
const SECRET_KEYS: ReadonlySet<string> = new Set(['password', 'token', 'user']);

interface Fault {
  readonly offset: number;
  readonly key: string;
  readonly text: string;
  readonly hint: string;
}

export interface FaultText {
  /** What is wrong: `found …, expected …`. */
  readonly text: string;
  /** What to do next. */
  readonly hint: string;
  /** Point at the key instead of its value. */
  readonly atKey?: boolean;
}

export class SiteFaults {
  readonly #file: string;
  readonly #root: Placed;
  readonly #positionOf: PositionOf;
  readonly #faults: Fault[] = [];
  readonly #paths: SitePath[] = [];

  constructor(file: string, root: Placed, positionOf: PositionOf) {
    this.#file = file;
    this.#root = root;
    this.#positionOf = positionOf;
  }

  add(path: SitePath, { text, hint, atKey = false }: FaultText): void {
    this.addAt(placeOf(this.#root, path, atKey), path, { text, hint });
  }

  /** Not where the value, something around it or something in it was found wrong already. */
  addNew(path: SitePath, text: FaultText): void {
    if (!this.touches(path)) this.add(path, text);
  }

  /** `found …, expected …` for the value at a path. */
  expected(path: SitePath, expected: string, hint: string): void {
    this.add(path, { text: `found ${this.found(path)}, expected ${expected}`, hint });
  }

  /** @param offset in the file, where the key alone does not tell the place */
  addAt(offset: number, path: SitePath, { text, hint }: FaultText): void {
    this.#paths.push(path);
    this.#faults.push({ offset, key: plain(path.join('.')), text: plain(text), hint: plain(hint) });
  }

  /** The value at a path as it is written in the file, without secrets: never what a variable holds. */
  found(path: SitePath): string {
    const secret = SECRET_KEYS.has(path.at(-1) ?? '');
    return describeValue(this.#root, path, secret);
  }

  /** Whether the value or something around it was found wrong already. */
  covers(path: SitePath): boolean {
    return this.#paths.some((known) => known.every((key, index) => key === path[index]));
  }

  touches(path: SitePath): boolean {
    return this.#paths.some((known) =>
      path.every((key, index) => index >= known.length || key === known[index]),
    );
  }

  /** @throws ConfigError with one line per mistake, in the order of the file */
  throwIfAny(): void {
    if (this.#faults.length === 0) return;
    const sorted = this.#faults.toSorted((a, b) => a.offset - b.offset);
    const [first, ...others] = sorted;
    if (first !== undefined && others.length === 0)
      throw new ConfigError(this.#lineOf(first), { hint: first.hint });
    const lines = sorted.slice(0, MOST_LISTED).map((fault) => `${this.#lineOf(fault)} (${fault.hint})`);
    const more = sorted.length - lines.length;
    if (more > 0) lines.push(`and ${more} more`);
    throw new ConfigError(lines.join('\n'), { hint: `correct these ${sorted.length} places` });
  }

  #lineOf({ offset, key, text }: Fault): string {
    const { line, column } = this.#positionOf(offset);
    return `${this.#file}:${line}:${column}: ${key === '' ? '' : `${key}: `}${text}`;
  }
}

/** One line without secrets, whatever the file holds. */
function plain(text: string): string {
  return redactCredentials(text).replace(/\p{Cc}+ */gu, ' ');
}
