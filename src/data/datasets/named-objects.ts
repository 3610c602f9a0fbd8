// Objects that their format calls by a class name: the same checks and the same words, whatever the format was.
import { placeBox } from './boxes.ts';
import { byCodeUnits } from './files.ts';
import type { DatasetFault, LabelledObject, LabelledPicture } from './types.ts';

/** One object as a file writes it. */
export interface NamedObject {
  readonly className: string;
  /** 1-based, where the format has lines. */
  readonly line?: number;
  /** How the user finds it where the line does not say: `shape 3`. */
  readonly place?: string;
  /** x1, y1, x2, y2: in px where the file counts in px, else as shares of the picture. */
  readonly corners: readonly [number, number, number, number];
  readonly difficult: boolean;
  readonly crowd?: boolean;
}

/** Objects that one file, or one part of it, states for one picture. */
export interface NamedFile {
  readonly path: string;
  readonly objects: readonly NamedObject[];
}

/** In alphabetical order, which does not depend on which picture comes first. */
export function namesOf(files: readonly NamedFile[]): string[] {
  return [...new Set(files.flatMap(({ objects }) => objects.map(({ className }) => className)))].sort(
    byCodeUnits,
  );
}

/** Names that are not in the list, and names that differ in case only. */
export function reportNames(
  source: string,
  files: readonly NamedFile[],
  classNames: readonly string[],
  faults: DatasetFault[],
): void {
  const lowered = new Map<string, string>();
  for (const [name, { count, ...at }] of countNames(files)) {
    const twin = lowered.get(name.toLowerCase());
    lowered.set(name.toLowerCase(), name);
    if (!classNames.includes(name)) {
      const message = `${count} objects are called "${name}"; the names given for ${source} are ${classNames.join(', ')}`;
      const hint = 'left out; add the name, or correct the labels';
      faults.push({ severity: 'error', kind: 'class-out-of-range', ...at, message, hint });
    } else if (twin !== undefined) {
      const message = `"${twin}" and "${name}" differ in case only and are two classes`;
      faults.push({
        severity: 'warning',
        kind: 'similar-names',
        ...at,
        message,
        hint: 'write one of them throughout',
      });
    }
  }
}

interface FirstSeen {
  count: number;
  readonly file: string;
  readonly line?: number;
}

function countNames(files: readonly NamedFile[]): ReadonlyMap<string, FirstSeen> {
  const counts = new Map<string, FirstSeen>();
  for (const { path, objects } of files) {
    for (const { className, line } of objects) {
      const known = counts.get(className);
      if (known !== undefined) known.count++;
      else counts.set(className, { count: 1, file: path, ...(line === undefined ? {} : { line }) });
    }
  }
  return counts;
}

/**
 * The objects of a file, in relative coordinates, of the classes that are known.
 * @param size px of the picture; absent where corners are shares of it already
 */
export function toObjects(
  { path: file, objects }: NamedFile,
  size: LabelledPicture['size'],
  classIds: ReadonlyMap<string, number>,
  faults: DatasetFault[],
): readonly LabelledObject[] {
  const seen = new Map<string, NamedObject>();
  return objects.flatMap((object) => {
    const { className, line, corners, difficult, crowd = false } = object;
    const name = `${object.place === undefined ? '' : `${object.place}, `}${className} ${corners.join(' ')}`;
    const at = { file, ...(line === undefined ? {} : { line }) };
    const key = `${className} ${corners.join(' ')}`;
    const before = seen.get(key);
    if (before !== undefined) {
      const message = `${name}: the same object as ${before.place ?? `in line ${before.line}`}`;
      faults.push({ severity: 'warning', kind: 'repeated-row', ...at, message, hint: 'dropped; remove it' });
      return [];
    }
    seen.set(key, object);
    const classId = classIds.get(className);
    if (classId === undefined) return []; // told once for the set
    const { width, height } = size ?? { width: 1, height: 1 };
    const [x1, y1, x2, y2] = corners;
    const box = placeBox(
      { x1: x1 / width, y1: y1 / height, x2: x2 / width, y2: y2 / height },
      { ...at, name: size === undefined ? name : `${name} in ${width}x${height} px` },
      faults,
      size === undefined ? undefined : 1 / Math.min(width, height),
    );
    return box === undefined ? [] : [{ classId, ...box, crowd, difficult }];
  });
}
