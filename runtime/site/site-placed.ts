// Values of a site file that know where they stand in it.
import { redactCredentials } from '../ffmpeg/index.ts';

/** Keys from the top of the file down; indices of lists as digits. */
export type SitePath = readonly string[];

export interface Placed {
  /** Offset of the value in the file. */
  readonly at: number;
  /** Offset of its key, or of its anchor's use. */
  readonly keyAt: number;
  /** A text as it stands in the file, where a variable was put into it. */
  readonly written?: string;
  readonly value: unknown;
  readonly children: ReadonlyMap<string, Placed>;
}

/** Line and column, both from 1, of an offset in the file. */
export type PositionOf = (offset: number) => { readonly line: number; readonly column: number };

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function placedAt(root: Placed, path: SitePath): Placed | undefined {
  let placed: Placed | undefined = root;
  for (const key of path) placed = placed?.children.get(key);
  return placed;
}

/** Offset of the value at a path, or of its key; where it is missing, that of the key around it. */
export function placeOf(root: Placed, path: SitePath, atKey: boolean): number {
  const placed = placedAt(root, path);
  if (placed !== undefined) return atKey || placed.value === null ? placed.keyAt : placed.at;
  return path.length === 0 ? root.at : placeOf(root, path.slice(0, -1), true);
}

/** The value as the file has it, in words and without credentials; `secret`: not at all, but for a variable's name. */
export function describeValue(root: Placed, path: SitePath, secret: boolean): string {
  const placed = placedAt(root, path);
  const value = placed?.value;
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a map';
  const written = String(placed?.written ?? value);
  if (written === '') return 'an empty text';
  if (typeof value !== 'string') return written;
  return secret && placed?.written === undefined ? "'***'" : `'${shortened(redactCredentials(written))}'`;
}

/** After the credentials are out: half an address would not be known as one. */
function shortened(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 77)}…`;
}
