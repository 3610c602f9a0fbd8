// Which picture belongs to which condition: by a column of a table, by its name, or by any function of it.
import { basename } from 'node:path';
import { DataError, nearest } from '#core';
import { type LabelledObject, type LabelledPicture, parseCsv } from '#data/datasets';
import type { Predictions } from '../report.ts';
import type { PicturePrediction } from '../tables.ts';

export interface ComparedPicture {
  readonly path: string;
  /** Pictures of one camera show one scene and are compared with each other; '' where none is known. */
  readonly camera: string;
  /** Only differences matter. */
  readonly timeSeconds?: number;
  /** Equal in two slices where they hold the same picture, such as a day picture rendered at dusk. */
  readonly pairKey?: string;
  /** Absent where unlabelled; empty where labelled as background. */
  readonly objects?: readonly LabelledObject[];
}

/** Pictures of one condition. */
export interface PictureSlice {
  readonly name: string;
  readonly pictures: readonly ComparedPicture[];
}

export interface PredictedSlice extends PictureSlice {
  /** One per picture, in order. */
  readonly predictions: readonly PicturePrediction[];
}

/** Where camera, time and pair of a picture come from. */
export interface PictureFacts {
  readonly camera?: (path: string) => string;
  readonly timeSeconds?: (path: string) => number | undefined;
  readonly pairKey?: (path: string) => string | undefined;
}

/** @param labelled false where missing label files mean "not labelled" and not "nothing there" */
export function comparedPictures(
  pictures: readonly LabelledPicture[],
  { camera, timeSeconds = timeOfName, pairKey }: PictureFacts = {},
  labelled = true,
): ComparedPicture[] {
  return pictures.map(({ path, objects }) => {
    const time = timeSeconds(path);
    const key = pairKey?.(path);
    return {
      path,
      camera: camera?.(path) ?? '',
      ...(time === undefined ? {} : { timeSeconds: time }),
      ...(key === undefined ? {} : { pairKey: key }),
      ...(labelled ? { objects } : {}),
    };
  });
}

/**
 * @param conditionOf name of the slice of a picture; undefined leaves it out
 * @param names slices that are wanted, in this order; default: all, by name
 * @throws DataError where a wanted slice has no picture, naming those that there are
 */
export function sliceBy(
  pictures: readonly ComparedPicture[],
  conditionOf: (picture: ComparedPicture) => string | undefined,
  names?: readonly string[],
): PictureSlice[] {
  const slices = new Map<string, ComparedPicture[]>();
  for (const picture of pictures) {
    const name = conditionOf(picture);
    if (name === undefined) continue;
    const own = slices.get(name) ?? [];
    own.push(picture);
    slices.set(name, own);
  }
  const found = [...slices.keys()].sort();
  return (names ?? found).map((name) => {
    const own = slices.get(name);
    if (own !== undefined) return { name, pictures: own };
    const near = nearest(name, found);
    throw new DataError(`no picture belongs to the slice "${name}"`, {
      hint: near === undefined ? `the slices are ${found.join(', ')}` : `did you mean "${near}"?`,
    });
  });
}

/** The slice of a picture is what the first group of the pattern finds in its path. */
export function namePattern(pattern: RegExp): (picture: ComparedPicture) => string | undefined {
  return ({ path }) => new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, '')).exec(path)?.[1];
}

/** Rows about pictures, such as the `frames.csv` of a data set. */
export interface FrameTable {
  readonly columns: readonly string[];
  /** undefined where no row names the picture; throws DataError for a column that is not there. */
  value(picturePath: string, column: string): string | undefined;
}

/** The first of these that a table has names its pictures. */
const PICTURE_COLUMNS: readonly string[] = ['file', 'picture', 'image', 'filename', 'path'];

/**
 * @param text comma-separated, first line the names of columns, quotes as in RFC 4180; the column `file` (or `picture`,
 * `image`, `filename`, `path`) names the picture, by its path from anywhere or its file name alone
 * @param path for messages
 * @throws DataError without such a column, for quotes that do not fit, for a row with another number of fields, for a file
 * named twice
 */
export function parseFrameTable(text: string, path: string): FrameTable {
  const [header, ...rows] = parseCsv(text.replace(/^\uFEFF/, ''), path);
  const columns = header?.fields ?? [];
  const fileColumn = columns.findIndex((name) => PICTURE_COLUMNS.includes(name));
  if (fileColumn < 0) {
    throw new DataError(`${path}: no column ${PICTURE_COLUMNS.join(' or ')}, found ${columns.join(', ')}`, {
      hint: "name the column of picture paths 'file'",
    });
  }
  const byName = new Map<string, { readonly file: string; readonly row: readonly string[] }[]>();
  for (const { line, fields: row } of rows) {
    if (row.length !== columns.length) {
      throw new DataError(`${path}:${line}: the row has ${row.length} fields, expected ${columns.length}`, {
        hint: 'give every row a value for each column',
      });
    }
    const file = (row[fileColumn] ?? '').replaceAll('\\', '/');
    const same = byName.get(basename(file)) ?? [];
    if (same.some((other) => other.file === file)) {
      throw new DataError(`${path}:${line}: the row names ${file} again`, {
        hint: 'keep one row per picture',
      });
    }
    same.push({ file, row });
    byName.set(basename(file), same);
  }
  return {
    columns,
    value(picturePath, column) {
      const at = columnOf(columns, column, path);
      const whole = picturePath.replaceAll('\\', '/');
      const candidates = byName.get(basename(whole)) ?? [];
      const exact = candidates.filter(({ file }) => whole === file || whole.endsWith(`/${file}`));
      const chosen = exact.length > 0 ? exact : candidates;
      if (chosen.length > 1) {
        throw new DataError(
          `${path}: ${chosen.map(({ file }) => file).join(' and ')} could be ${picturePath}`,
          {
            hint: 'give paths in the column file that tell the pictures apart',
          },
        );
      }
      return chosen[0]?.row[at];
    },
  };
}

function columnOf(columns: readonly string[], column: string, path: string): number {
  const at = columns.indexOf(column);
  if (at >= 0) return at;
  const near = nearest(column, columns);
  throw new DataError(`${path}: no column '${column}'`, {
    hint: near === undefined ? `its columns are ${columns.join(', ')}` : `did you mean '${near}'?`,
  });
}

/** Seconds of a date and time in a file name, as in `2703-2021_03_20_072817.jpg`; undefined without one. */
export function timeOfName(path: string): number | undefined {
  const found = /(\d{4})[-_]?(\d{2})[-_]?(\d{2})[-_T ]?(\d{2})[-_:]?(\d{2})[-_:]?(\d{2})(?!\d)/.exec(
    basename(path),
  );
  if (found === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
}

/**
 * @param pictures that were predicted, in the order of the predictions
 * @throws DataError where a picture of a slice was not predicted
 */
export function withPredictions(
  slices: readonly PictureSlice[],
  pictures: readonly { readonly path: string }[],
  predictions: Predictions,
): PredictedSlice[] {
  const byPath = new Map(pictures.map(({ path }, place) => [path, predictions.pictures[place]]));
  return slices.map((slice) => ({
    ...slice,
    predictions: slice.pictures.map(({ path }) => {
      const found = byPath.get(path);
      if (found !== undefined) return found;
      throw new DataError(`${path}: a prediction is missing`, {
        hint: 'predict every picture of the slices',
      });
    }),
  }));
}
