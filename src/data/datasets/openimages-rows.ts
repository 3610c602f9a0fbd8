// The rows of one file of boxes as OpenImages writes them: ImageID, LabelName, XMin, XMax, YMin, YMax and flags.
import { DataError } from '#core';
import { looksLikePixels } from './boxes.ts';
import { type CsvRow, parseCsv } from './csv.ts';
import type { NamedObject } from './named-objects.ts';
import type { DatasetFault } from './types.ts';

/** The objects of one ImageID. */
export interface OpenImagesPicture {
  readonly imageId: string;
  /** Of its first row. */
  readonly line: number;
  readonly objects: readonly NamedObject[];
}

const NEEDED = ['ImageID', 'LabelName', 'XMin', 'XMax', 'YMin', 'YMax'] as const;
type Column = (typeof NEEDED)[number] | 'IsGroupOf' | 'Confidence';

/** Whether the first line of a file names the columns of a file of boxes. */
export function isOpenImagesHeader(line: string): boolean {
  const columns = line.split(separatorOf(line)).map(bareName);
  return NEEDED.every((name) => columns.includes(name));
}

/**
 * Numbers may be written with a decimal comma, in quotes, as spreadsheets of many countries do.
 * @throws DataError where the file is not well-formed or lacks a column
 */
export function parseOpenImages(
  text: string,
  file: string,
  faults: DatasetFault[],
): readonly OpenImagesPicture[] {
  const separator = separatorOf(/^[^\r\n]*/.exec(text)?.[0] ?? '');
  const [header, ...rows] = parseCsv(text, file, separator);
  const columns = readHeader(header, file);
  const pictures = new Map<string, { readonly line: number; readonly objects: NamedObject[] }>();
  const commas: number[] = [];
  const unsure: number[] = [];
  for (const row of rows) {
    const found = readRow(row, columns, file, faults);
    if (found === undefined) continue;
    if (found.hasComma) commas.push(row.line);
    if (found.isUnsure) unsure.push(row.line);
    const picture = pictures.get(found.imageId) ?? { line: row.line, objects: [] };
    pictures.set(found.imageId, picture);
    picture.objects.push(found.object);
  }
  tellOnce(file, commas, 'decimal-comma', 'with decimal commas, as 0,25', 'read as 0.25', faults);
  tellOnce(
    file,
    unsure,
    'unsure-label',
    'whose Confidence is not 1, so labelled by a machine',
    'kept as objects; if these are detections, judge them with val predictions=',
    faults,
  );
  return [...pictures].map(([imageId, picture]) => ({ imageId, ...picture }));
}

function separatorOf(header: string): ',' | ';' | '\t' {
  if (header.includes(',')) return ',';
  return header.includes(';') ? ';' : '\t';
}

function bareName(name: string): string {
  return name.trim().replace(/^"(.*)"$/, '$1');
}

type Columns = ReadonlyMap<string, number>;

function readHeader(header: CsvRow | undefined, file: string): Columns & { readonly size: number } {
  const names = header?.fields.map((name) => name.trim()) ?? [];
  const missing = NEEDED.filter((name) => !names.includes(name));
  if (missing.length === 0) return new Map(names.map((name, index) => [name, index]));
  throw new DataError(`${file}:1: no column ${missing.join(', ')}; found ${names.join(', ') || 'nothing'}`, {
    hint: `the first line of OpenImages boxes names ${NEEDED.join(', ')}`,
  });
}

interface ReadRow {
  readonly imageId: string;
  readonly object: NamedObject;
  readonly hasComma: boolean;
  readonly isUnsure: boolean;
}

function readRow(
  { line, fields }: CsvRow,
  columns: Columns,
  file: string,
  faults: DatasetFault[],
): ReadRow | undefined {
  const field = (name: Column) => fields[columns.get(name) ?? -1]?.trim() ?? '';
  const [imageId, className] = [field('ImageID'), field('LabelName')];
  const corners = [
    toNumber(field('XMin')),
    toNumber(field('YMin')),
    toNumber(field('XMax')),
    toNumber(field('YMax')),
  ] as const;
  const wrong = wrongField(fields.length, columns.size, field);
  if (wrong !== undefined) {
    const hint = 'left out; correct or remove the row';
    faults.push({ severity: 'error', kind: 'broken-row', file, line, message: wrong, hint });
    return undefined;
  }
  if (looksLikePixels(corners)) {
    const message = `${className} ${corners.join(' ')}: values above 2, expected 0 to 1`;
    const hint = 'left out; pixel units? divide X by the width and Y by the height of the picture';
    faults.push({ severity: 'error', kind: 'pixel-units', file, line, message, hint });
    return undefined;
  }
  return {
    imageId,
    object: { className, line, corners, difficult: false, crowd: field('IsGroupOf') === '1' },
    hasComma: NEEDED.slice(2).some((name) => field(name).includes(',')),
    isUnsure: field('Confidence') !== '' && toNumber(field('Confidence')) !== 1,
  };
}

function wrongField(found: number, expected: number, field: (name: Column) => string): string | undefined {
  if (found !== expected) return `${found} fields, expected the ${expected} of the first line`;
  const empty = (['ImageID', 'LabelName'] as const).find((name) => field(name) === '');
  if (empty !== undefined) return `${empty} is empty`;
  const odd = NEEDED.slice(2).find((name) => !Number.isFinite(toNumber(field(name))));
  return odd === undefined ? undefined : `${odd} is "${field(odd)}", expected a number from 0 to 1`;
}

/** `0.25`, and `0,25` where no dot says otherwise; NaN else. */
function toNumber(text: string): number {
  if (text === '') return Number.NaN;
  return Number(/^-?\d*,\d+$/.test(text) ? text.replace(',', '.') : text);
}

function tellOnce(
  file: string,
  lines: readonly number[],
  kind: string,
  what: string,
  hint: string,
  faults: DatasetFault[],
): void {
  const [line] = lines;
  if (line === undefined) return;
  const message = `${lines.length} ${lines.length === 1 ? 'row' : 'rows'} ${what}`;
  faults.push({ severity: 'notice', kind, file, line, message, hint });
}
