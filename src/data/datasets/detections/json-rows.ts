// Detections as JSON: COCO results (a list), or a whole COCO file whose annotations have scores.
import { DataError } from '#core';
import type { Corners } from '../boxes.ts';
import { readText } from '../files.ts';
import type { DatasetFault } from '../types.ts';
import { faultOfRow, rowFault, type SavedFile, type SavedPicture, type SavedRow } from './saved-row.ts';

type Row = Readonly<Record<string, unknown>>;
type PictureOf = (imageId: unknown) => SavedRow['picture'] | undefined;

/** @throws DataError where the file is not the JSON of detections */
export async function readJsonDetections(path: string, faults: DatasetFault[]): Promise<SavedFile> {
  const document = await parse(path);
  if (Array.isArray(document)) {
    const pictureOf: PictureOf = (id) => (isId(id) ? { id } : undefined);
    return { format: 'coco-results', rows: readRows(path, document, pictureOf, faults), pictures: [] };
  }
  const { annotations, images, categories } = isRow(document) ? document : ({} as Row);
  if (!isRows(annotations) || !isRows(images) || !isRows(categories)) {
    throw notDetections(
      path,
      isRow(document) ? `an object with ${Object.keys(document).slice(0, 8).join(', ')}` : typeof document,
    );
  }
  if (annotations.length > 0 && annotations.every((row) => !('score' in row))) {
    throw notDetections(path, 'labels without scores');
  }
  const pictures = new Map(images.map((row, index) => [row['id'], toPicture(path, row, index)]));
  const pictureOf: PictureOf = (id) => {
    const name = pictures.get(id)?.name;
    return name === undefined ? undefined : { name };
  };
  return {
    format: 'coco',
    rows: readRows(path, annotations, pictureOf, faults),
    pictures: [...pictures.values()],
    names: readCategories(path, categories),
  };
}

async function parse(path: string): Promise<unknown> {
  const text = await readText(path);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DataError(`${path}: not valid JSON (${cause instanceof Error ? cause.message : cause})`, {
      hint: 'save the detections again; the file may be cut off',
      cause,
    });
  }
}

function notDetections(path: string, found: string): DataError {
  return new DataError(`${path}: no detections, but ${found}`, {
    hint: 'expected a list of {image_id, category_id, bbox, score}, or a COCO file whose annotations have scores',
  });
}

function toPicture(file: string, row: Row, index: number): SavedPicture {
  const { file_name: name, width, height } = row;
  if (!isId(row['id']) || typeof name !== 'string') {
    throw new DataError(`${file}: images[${index}] has no id or no file_name`, {
      hint: 'give every image an id and a file_name',
    });
  }
  const isSized = typeof width === 'number' && typeof height === 'number' && width > 0 && height > 0;
  return { file, name, ...(isSized && { size: { width, height } }) };
}

function readCategories(file: string, rows: readonly Row[]): ReadonlyMap<string | number, string> {
  return new Map(
    rows.map(({ id, name }, index) => {
      if (isId(id) && typeof name === 'string') return [id, name.trim()];
      throw new DataError(`${file}: categories[${index}] has no id or no name`, {
        hint: 'give every category an id and a name',
      });
    }),
  );
}

function readRows(
  file: string,
  list: readonly unknown[],
  pictureOf: PictureOf,
  faults: DatasetFault[],
): SavedRow[] {
  return list.flatMap((entry, index) => {
    const place = { file, name: `detection ${index + 1}` };
    const row = isRow(entry) ? entry : {};
    const { image_id: imageId, category_id: classKey, score, bbox } = row as Row;
    const picture = pictureOf(imageId);
    const box = numbersOf(bbox);
    const wrong = !isRow(entry)
      ? 'no object'
      : box === undefined
        ? `bbox is ${JSON.stringify(bbox) ?? 'absent'}, expected four numbers x, y, width, height in px`
        : typeof score !== 'number'
          ? `score is ${JSON.stringify(score) ?? 'absent'}, expected a number`
          : picture === undefined
            ? `image_id is ${JSON.stringify(imageId) ?? 'absent'}, which is no image of the file`
            : isId(classKey)
              ? undefined
              : `category_id is ${JSON.stringify(classKey) ?? 'absent'}`;
    if (wrong !== undefined || box === undefined || picture === undefined || !isId(classKey)) {
      faults.push(rowFault(place, 'broken-row', wrong ?? 'unknown', 'correct or remove it'));
      return [];
    }
    const read = {
      place,
      picture,
      classKey,
      score: Number(score),
      unit: 'px' as const,
      box: toCorners(box),
      ...extras(row),
    };
    const fault = faultOfRow(read);
    if (fault !== undefined) faults.push(fault);
    return fault === undefined ? [read] : [];
  });
}

function extras(row: Row): Pick<SavedRow, 'scoreVariance' | 'scoreVarianceEpistemic' | 'boxVariance'> {
  const { score_var: variance, score_var_epistemic: epistemic, box_var: edges } = row;
  const [x1, y1, x2, y2] = numbersOf(edges) ?? [];
  return {
    ...(typeof variance === 'number' && { scoreVariance: variance }),
    ...(typeof epistemic === 'number' && { scoreVarianceEpistemic: epistemic }),
    ...(x1 !== undefined &&
      y1 !== undefined &&
      x2 !== undefined &&
      y2 !== undefined && { boxVariance: { x1, y1, x2, y2 } }),
  };
}

function toCorners([x, y, width, height]: readonly [number, number, number, number]): Corners {
  return { x1: x, y1: y, x2: x + width, y2: y + height };
}

function numbersOf(value: unknown): readonly [number, number, number, number] | undefined {
  if (!Array.isArray(value) || value.length !== 4 || !value.every(Number.isFinite)) return undefined;
  return value as unknown as readonly [number, number, number, number];
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRows(value: unknown): value is readonly Row[] {
  return Array.isArray(value) && value.every(isRow);
}

function isId(value: unknown): value is string | number {
  return typeof value === 'number' || typeof value === 'string';
}
