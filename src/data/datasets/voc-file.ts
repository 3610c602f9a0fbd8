// One Pascal VOC annotation. Corners are taken as edges in px (left edge xmin, right edge xmax), as the labelling tools
// write them and as the other formats of the same sets have them; the 1-based pixels of the original sets differ by 1 px.
import { DataError } from '#core';
import { placeBox } from './boxes.ts';
import { readText } from './files.ts';
import type { DatasetFault, LabelledObject, LabelledPicture } from './types.ts';
import { childOf, parseXml, type XmlElement } from './xml.ts';

export interface VocFile {
  readonly path: string;
  /** What `filename` says, which is often out of date. */
  readonly fileName?: string;
  /** px; absent where the file states none or 0. */
  readonly size?: { readonly width: number; readonly height: number };
  readonly objects: readonly VocObject[];
}

export interface VocObject {
  readonly className: string;
  readonly line: number;
  /** xmin, ymin, xmax, ymax in px. */
  readonly corners: readonly [number, number, number, number];
  readonly difficult: boolean;
}

/** @returns undefined, with a fault, where the file cannot be read */
export async function readVocFile(path: string, faults: DatasetFault[]): Promise<VocFile | undefined> {
  try {
    const root = parseXml(await readText(path), path);
    if (root.name !== 'annotation') {
      throw new DataError(`${path}: expected <annotation>, found <${root.name}>`, {
        hint: 'name a folder of Pascal VOC annotations',
      });
    }
    const size = readSize(childOf(root, 'size'));
    const fileName = childOf(root, 'filename')?.text;
    return {
      path,
      objects: root.children
        .filter(({ name }) => name === 'object')
        .flatMap((object) => readObject(object, path, faults)),
      ...(size === undefined ? {} : { size }),
      ...(fileName ? { fileName } : {}),
    };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    const { message, hint } = error;
    faults.push({ severity: 'error', kind: 'broken-xml', file: path, message, hint });
    return undefined;
  }
}

function readSize(element: XmlElement | undefined): VocFile['size'] {
  const width = Number(childOf(element, 'width')?.text);
  const height = Number(childOf(element, 'height')?.text);
  return width > 0 && height > 0 ? { width, height } : undefined;
}

function readObject(element: XmlElement, file: string, faults: DatasetFault[]): VocObject[] {
  const className = childOf(element, 'name')?.text ?? '';
  const box = childOf(element, 'bndbox');
  const line = box?.line ?? element.line;
  const [x1, y1, x2, y2] = ['xmin', 'ymin', 'xmax', 'ymax'].map((name) => {
    const text = childOf(box, name)?.text ?? '';
    return text === '' ? Number.NaN : Number(text);
  });
  const corners = [x1 ?? Number.NaN, y1 ?? Number.NaN, x2 ?? Number.NaN, y2 ?? Number.NaN] as const;
  const missing =
    className === '' ? 'no name' : corners.every(Number.isFinite) ? undefined : 'no whole bndbox';
  if (missing === undefined) {
    return [{ className, line, corners, difficult: childOf(element, 'difficult')?.text === '1' }];
  }
  faults.push({
    severity: 'error',
    kind: 'broken-box',
    file,
    line,
    message: `object ${className} has ${missing}; expected name, and xmin, ymin, xmax, ymax as numbers`,
    hint: 'left out; correct or remove it',
  });
  return [];
}

/** The objects of a file, in relative coordinates, of the classes that are known. */
export function toObjects(
  { path: file, objects }: VocFile,
  size: NonNullable<LabelledPicture['size']>,
  classIds: ReadonlyMap<string, number>,
  faults: DatasetFault[],
): readonly LabelledObject[] {
  const { width, height } = size;
  const seen = new Map<string, number>();
  return objects.flatMap(({ className, line, corners, difficult }) => {
    const key = `${className} ${corners.join(' ')}`;
    const before = seen.get(key);
    if (before !== undefined) {
      const message = `${className} ${corners.join(' ')}: the same object as in line ${before}`;
      faults.push({
        severity: 'warning',
        kind: 'repeated-row',
        file,
        line,
        message,
        hint: 'dropped; remove it',
      });
      return [];
    }
    seen.set(key, line);
    const classId = classIds.get(className);
    if (classId === undefined) return []; // told once for the set
    const [x1, y1, x2, y2] = corners;
    const box = placeBox(
      { x1: x1 / width, y1: y1 / height, x2: x2 / width, y2: y2 / height },
      { file, line, name: `${className} ${corners.join(' ')} in ${width}x${height} px` },
      faults,
      1 / Math.min(width, height),
    );
    return box === undefined ? [] : [{ classId, ...box, crowd: false, difficult }];
  });
}
