// The word for the light in which a picture was taken: as the table beside the data says, else as its name says.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { LabelledPicture } from 'edge-detect/data';
import { parseFrameTable } from 'edge-detect/evaluate';

/** Column of frames.csv. */
export const LIGHT_COLUMN = 'period';
const IN_NAME = /[-_](day|sun|overcast|dawn|dusk|night)[-_.]/;

/** Two kinds of day in the sample world are one here. */
const SAME_LIGHT: Readonly<Record<string, string>> = { sun: 'day', overcast: 'day' };

/** @param data data.yaml or the folder of a set @returns undefined for a picture whose light nothing tells */
export async function lightWords(data: string): Promise<(picture: LabelledPicture) => string | undefined> {
  const wordOf = await wordsBeside(data);
  return (picture) => {
    const word = wordOf(picture);
    return word === undefined ? undefined : (SAME_LIGHT[word] ?? word);
  };
}

async function wordsBeside(data: string): ReturnType<typeof lightWords> {
  const path = join(data.endsWith('.yaml') ? dirname(data) : data, 'frames.csv');
  if (existsSync(path)) {
    const table = parseFrameTable(await readFile(path, 'utf8'), path);
    if (table.columns.includes(LIGHT_COLUMN)) return (picture) => table.value(picture.path, LIGHT_COLUMN);
  }
  return (picture) => IN_NAME.exec(basename(picture.path))?.[1];
}
