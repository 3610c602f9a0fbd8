// Reads one JSON file as a COCO detection set, or says what else it is.
import { DataError } from '#core';
import { readText } from './files.ts';

export interface CocoImage {
  readonly id: number | string;
  readonly fileName: string;
  readonly width?: number;
  readonly height?: number;
}

export interface CocoAnnotation {
  /** As the user can find it: its id, else its place in the list. */
  readonly name: string;
  readonly imageId: unknown;
  readonly categoryId: unknown;
  readonly bbox: unknown;
  readonly segmentation: unknown;
  readonly area: unknown;
  readonly crowd: boolean;
}

export interface CocoCategory {
  readonly id: number | string;
  readonly name: string;
  readonly supercategory?: string;
}

export interface CocoFile {
  readonly path: string;
  readonly images: readonly CocoImage[];
  readonly annotations: readonly CocoAnnotation[];
  readonly categories: readonly CocoCategory[];
}

type Row = Readonly<Record<string, unknown>>;

/** @throws DataError where the file is not the JSON of a detection set */
export async function readCocoFile(path: string): Promise<CocoFile> {
  const text = await readText(path);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new DataError(`${path}: not valid JSON (${cause instanceof Error ? cause.message : cause})`, {
      hint: 'export the set again; the file may be cut off',
      cause,
    });
  }
  if (!isRow(document)) throw notDetection(path, describeOther(document));
  const images = rowsOf(document['images']);
  const annotations = rowsOf(document['annotations']);
  const categories = rowsOf(document['categories']);
  if (images === undefined || annotations === undefined || categories === undefined) {
    throw notDetection(path, describeOther(document));
  }
  if (annotations.length > 0 && annotations.every((row) => !('bbox' in row) && !('segmentation' in row))) {
    throw notDetection(path, describeOther(document));
  }
  return {
    path,
    images: images.map((row, index) => toImage(path, row, index)),
    annotations: annotations.map(toAnnotation),
    categories: categories.map((row, index) => toCategory(path, row, index)),
  };
}

function notDetection(path: string, found: string): DataError {
  return new DataError(`${path}: not a COCO detection set, but ${found}`, {
    hint: 'expected images, categories and annotations with bbox, such as instances_train2017.json',
  });
}

function describeOther(document: unknown): string {
  if (Array.isArray(document)) {
    const first: unknown = document[0];
    return isRow(first) && 'score' in first ? 'a list of detections (results)' : 'a list';
  }
  if (!isRow(document)) return `a ${typeof document}`;
  const annotations = rowsOf(document['annotations']);
  if (annotations?.some((row) => 'caption' in row)) return 'captions';
  if (annotations?.some((row) => 'segments_info' in row)) return 'panoptic segments';
  if ('shapes' in document) return 'the labels of one picture (labelme)';
  return `an object with ${Object.keys(document).slice(0, 8).join(', ') || 'no keys'}`;
}

function toImage(path: string, row: Row, index: number): CocoImage {
  const { id, file_name: fileName, width, height } = row as Partial<Record<string, unknown>>;
  if (!isId(id) || typeof fileName !== 'string') {
    throw new DataError(`${path}: images[${index}] has no id or no file_name`, {
      hint: 'give every image an id and a file_name',
    });
  }
  return { id, fileName, ...positive('width', width), ...positive('height', height) };
}

function positive<K extends string>(key: K, value: unknown): { readonly [P in K]?: number } {
  return typeof value === 'number' && value > 0 ? ({ [key]: value } as { readonly [P in K]?: number }) : {};
}

function toAnnotation(row: Row, index: number): CocoAnnotation {
  const image = row['image_id'];
  return {
    name: `annotation ${isId(row['id']) ? row['id'] : `number ${index + 1}`} of image ${image}`,
    imageId: image,
    categoryId: row['category_id'],
    bbox: row['bbox'],
    segmentation: row['segmentation'],
    area: row['area'],
    crowd: row['iscrowd'] === 1 || row['iscrowd'] === true,
  };
}

function toCategory(path: string, row: Row, index: number): CocoCategory {
  const { id, name, supercategory } = row as Partial<Record<string, unknown>>;
  if (!isId(id) || typeof name !== 'string') {
    throw new DataError(`${path}: categories[${index}] has no id or no name`, {
      hint: 'give every category an id and a name',
    });
  }
  return { id, name: name.trim(), ...(typeof supercategory === 'string' ? { supercategory } : {}) };
}

function rowsOf(value: unknown): readonly Row[] | undefined {
  return Array.isArray(value) && value.every(isRow) ? value : undefined;
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is number | string {
  return typeof value === 'number' || typeof value === 'string';
}
