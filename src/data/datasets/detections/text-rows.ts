// Detections as text: one file per picture, a line per box. Six numbers do not say what they are: the caller does.
import { ConfigError, DataError } from '#core';
import type { Corners } from '../boxes.ts';
import { kindOf, linesOf, listFiles, mapBounded, readText } from '../files.ts';
import type { DatasetFault } from '../types.ts';
import { faultOfRow, rowFault, type SavedFile, type SavedRow } from './saved-row.ts';

/** What the four numbers of a box are; with `n` they are shares of the picture, else px. */
export const TEXT_BOXES = ['xyxy', 'ltwh', 'cxcywh', 'xyxyn', 'ltwhn', 'cxcywhn'] as const;
export type TextBox = (typeof TEXT_BOXES)[number];

/** `first`: class score box. `last`: class box score. */
export const TEXT_SCORES = ['first', 'last'] as const;
export type TextScore = (typeof TEXT_SCORES)[number];

export interface TextForm {
  readonly box: TextBox;
  readonly score: TextScore;
}

const COLUMNS = 6;

/**
 * @param path one .txt file, or a folder of them
 * @throws ConfigError where the form is not said, DataError where there is no .txt file
 */
export async function readTextDetections(
  path: string,
  { box, score }: Partial<TextForm>,
  faults: DatasetFault[],
): Promise<SavedFile> {
  const isFile = (await kindOf(path)) === 'file';
  const files = isFile ? [path] : (await listFiles(path, faults)).filter((file) => /\.txt$/i.test(file));
  if (files.length === 0) {
    throw new DataError(`${path}: no .txt and no .json file in it`, {
      hint: 'expected a text file of detections per picture, or COCO results as JSON',
    });
  }
  const texts = await mapBounded(files, readText);
  if (box === undefined || score === undefined) throw unsaid(path, box, score, firstRow(texts));
  const rows = texts.flatMap((text, index) => readRows(text, files[index] ?? '', { box, score }, faults));
  return { format: 'text', rows, pictures: files.map((file) => ({ file, name: file })) };
}

function firstRow(texts: readonly string[]): string {
  return (
    texts
      .flatMap(linesOf)
      .find((line) => line.trim() !== '')
      ?.trim() ?? ''
  );
}

function unsaid(
  path: string,
  box: TextBox | undefined,
  score: TextScore | undefined,
  row: string,
): ConfigError {
  const missing = [
    ...(box === undefined ? ['predictions_box='] : []),
    ...(score === undefined ? ['predictions_score='] : []),
  ];
  return new ConfigError(
    `predictions=${path}: a row such as "${row}" does not say what its numbers are; ${missing.join(' and ')} must`,
    {
      hint: `predictions_box= is one of ${TEXT_BOXES.join(', ')} (n: shares of the picture, else px; lt: left top corner, c: centre), predictions_score= first or last; YOLO's save_txt with save_conf is predictions_box=cxcywhn predictions_score=last`,
    },
  );
}

function readRows(text: string, file: string, form: TextForm, faults: DatasetFault[]): SavedRow[] {
  return linesOf(text).flatMap((content, index) => {
    const columns = content.trim().split(/\s+/);
    if (columns[0] === '') return [];
    const place = { file, line: index + 1, name: `row "${content.trim().slice(0, 60)}"` };
    const [classText = '', ...others] = columns;
    const numbers = others.map(Number);
    if (columns.length !== COLUMNS || !numbers.every(Number.isFinite)) {
      faults.push(rowFault(place, 'broken-row', ...describeBroken(columns, form)));
      return [];
    }
    const score = form.score === 'first' ? numbers[0] : numbers[4];
    const box = cornersOf(form.score === 'first' ? numbers.slice(1) : numbers.slice(0, 4), form.box);
    const row: SavedRow = {
      ...{ place, picture: { name: file }, box, score: score ?? Number.NaN },
      classKey: /^\d+$/.test(classText) ? Number(classText) : classText,
      unit: form.box.endsWith('n') ? 'share' : 'px',
    };
    const fault = faultOfRow(row);
    if (fault !== undefined) faults.push(fault);
    return fault === undefined ? [row] : [];
  });
}

function describeBroken(columns: readonly string[], { score }: TextForm): [message: string, hint: string] {
  const order =
    score === 'first'
      ? 'class score and four numbers of the box'
      : 'class, four numbers of the box and score';
  const odd = columns.slice(1).find((text) => !Number.isFinite(Number(text)));
  if (columns.length === COLUMNS)
    return [`"${odd}" is no number; expected ${order}`, 'correct or remove the row'];
  const hint =
    columns.length === COLUMNS - 1
      ? 'the score is missing: these are labels; save detections with their scores'
      : 'a class name with a space in it? write one word per class';
  return [`${columns.length} columns, expected ${COLUMNS}: ${order}`, hint];
}

function cornersOf([a = 0, b = 0, c = 0, d = 0]: readonly number[], box: TextBox): Corners {
  switch (box) {
    case 'xyxy':
    case 'xyxyn':
      return { x1: a, y1: b, x2: c, y2: d };
    case 'ltwh':
    case 'ltwhn':
      return { x1: a, y1: b, x2: a + c, y2: b + d };
    case 'cxcywh':
    case 'cxcywhn':
      return { x1: a - c / 2, y1: b - d / 2, x2: a + c / 2, y2: b + d / 2 };
    default:
      return box satisfies never;
  }
}
