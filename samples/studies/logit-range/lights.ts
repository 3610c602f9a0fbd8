// In which light a picture was taken: as the table beside the data says, else as its name says.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DataError } from 'edge-detect/core';
import { type LabelledPicture, loadDataset } from 'edge-detect/data';
import { parseFrameTable } from 'edge-detect/evaluate';
import type { StudyData } from '../common/study-data.ts';
import type { LightName, PlacedPicture } from './pictures.ts';

/** Words of `period` in frames.csv and of the sample world's names. Dawn is left out: too few pictures. */
const LIGHTS: Readonly<Record<string, LightName>> = {
  day: 'day',
  sun: 'day',
  overcast: 'day',
  dusk: 'dusk',
  night: 'night',
};

const COLUMN = 'period';
const IN_NAME = /[-_](day|sun|overcast|dusk|night)[-_.]/;

/**
 * Pictures of all splits, those in other lights left out.
 * @throws DataError where neither table nor names tell the light
 */
export async function placedPictures({ data, groupOf }: StudyData): Promise<{
  readonly classNames: readonly string[];
  readonly placed: readonly PlacedPicture[];
}> {
  const { classNames, splits } = await loadDataset(data);
  const pictures = new Map(
    Object.values(splits).flatMap((all) => all.map((one) => [one.path, one] as const)),
  );
  const wordOf = await lightWords(data.endsWith('.yaml') ? dirname(data) : data);
  const placed = [...pictures.values()].flatMap((picture): readonly PlacedPicture[] => {
    const light = LIGHTS[wordOf(picture) ?? ''];
    return light === undefined ? [] : [{ picture, camera: groupOf(picture), light }];
  });
  if (placed.length > 0) return { classNames, placed };
  throw new DataError(`${data}: nothing tells the light of its pictures`, {
    hint: `give frames.csv a column ${COLUMN} (day, dusk, night), or put the word between dashes into the names`,
  });
}

async function lightWords(folder: string): Promise<(picture: LabelledPicture) => string | undefined> {
  const path = join(folder, 'frames.csv');
  if (existsSync(path)) {
    const table = parseFrameTable(await readFile(path, 'utf8'), path);
    if (table.columns.includes(COLUMN)) return (picture) => table.value(picture.path, COLUMN);
  }
  return (picture) => IN_NAME.exec(basename(picture.path))?.[1];
}
