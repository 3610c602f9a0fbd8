// One Pascal VOC annotation. Corners are taken as edges in px (left edge xmin, right edge xmax), as the labelling tools
// write them and as the other formats of the same sets have them; the 1-based pixels of the original sets differ by 1 px.
import { DataError } from '#core';
import { readText } from './files.ts';
import type { NamedFile, NamedObject } from './named-objects.ts';
import type { DatasetFault } from './types.ts';
import { childOf, parseXml, type XmlElement } from './xml.ts';

/** Corners are xmin, ymin, xmax, ymax in px. */
export interface VocFile extends NamedFile {
  /** What `filename` says, which is often out of date. */
  readonly fileName?: string;
  /** px; absent where the file states none or 0. */
  readonly size?: { readonly width: number; readonly height: number };
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

function readObject(element: XmlElement, file: string, faults: DatasetFault[]): NamedObject[] {
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
