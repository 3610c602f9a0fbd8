// Pictures by camera and by the three kinds of light that this study tells apart.
import { DataError } from 'edge-detect/core';
import { LIGHT_COLUMN, lightWords } from '../common/picture-lights.ts';
import { loadAllPictures, type StudyData } from '../common/study-data.ts';
import type { LightName, PlacedPicture } from './pictures.ts';

/** Dawn is left out: too few pictures. */
const LIGHTS: Readonly<Record<string, LightName>> = { day: 'day', dusk: 'dusk', night: 'night' };

/**
 * Pictures of all splits, those in other lights left out.
 * @throws DataError where neither table nor names tell the light
 */
export async function placedPictures({ data, groupOf }: StudyData): Promise<{
  readonly classNames: readonly string[];
  readonly placed: readonly PlacedPicture[];
}> {
  const { classNames, pictures } = await loadAllPictures(data);
  const wordOf = await lightWords(data);
  const placed = pictures.flatMap((picture): readonly PlacedPicture[] => {
    const light = LIGHTS[wordOf(picture) ?? ''];
    return light === undefined ? [] : [{ picture, camera: groupOf(picture), light }];
  });
  if (placed.length > 0) return { classNames, placed };
  throw new DataError(`${data}: nothing tells the light of its pictures`, {
    hint: `give frames.csv a column ${LIGHT_COLUMN} (day, dusk, night), or put the word between dashes into the names`,
  });
}
