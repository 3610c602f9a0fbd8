// Which picture of a data set a detection belongs to: by file name with as much of its folders as is needed, or by id.
import { basename, extname } from 'node:path';
import { isPicturePath } from '#data/images';
import type { Dataset, LabelledPicture } from '../types.ts';
import type { SavedRow } from './saved-row.ts';

export type MatchedPicture =
  | { readonly picture: LabelledPicture }
  /** Why there is none. */
  | { readonly problem: string };

export function createPictureMatcher({ splits, source }: Pick<Dataset, 'splits' | 'source'>) {
  const pictures = [...new Set(Object.values(splits).flat())];
  const byStem = groupBy(pictures, ({ path }) => stem(path));
  const byId = new Map<string | number, LabelledPicture>(pictures.map((picture) => [picture.id, picture]));
  const byNumber = groupBy(pictures, ({ id }) => numberOf(id));
  const answers = new Map<string, MatchedPicture>();

  const byName = (name: string): MatchedPicture => {
    const path = name.replaceAll('\\', '/');
    const candidates = byStem.get(stem(path)) ?? [];
    if (candidates.length < 2) return answer(candidates, `no picture ${stem(path)}`);
    const exact = candidates.filter((one) => endsAlike(withoutEnding(one.path), withoutEnding(path)));
    return answer(exact, `${candidates.length} pictures called ${stem(path)}`);
  };
  const answer = (found: readonly LabelledPicture[], otherwise: string): MatchedPicture => {
    const [first, second] = found;
    return first !== undefined && second === undefined
      ? { picture: first }
      : { problem: `${otherwise} in ${source}` };
  };
  /** Ids of files are whole numbers even where the set calls the picture 000012. */
  const byItsId = (id: string | number): MatchedPicture => {
    const found = byId.get(id) ?? byId.get(String(id));
    if (found !== undefined) return { picture: found };
    if (typeof id === 'string') return byName(id);
    return answer(byNumber.get(String(id)) ?? [], `no picture with the id ${id}`);
  };

  return (key: SavedRow['picture']): MatchedPicture => {
    const word = 'id' in key ? `id ${typeof key.id} ${key.id}` : `name ${key.name}`;
    const known = answers.get(word) ?? ('id' in key ? byItsId(key.id) : byName(key.name));
    answers.set(word, known);
    return known;
  };
}

/** Of an id that is text; a number is an id of the format and stands for itself. */
function numberOf(id: string | number): string | undefined {
  return typeof id === 'string' && /^\d+$/.test(id) ? String(Number(id)) : undefined;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string | undefined): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** A name may hold a dot without having an ending: only those of pictures and text files are taken off. */
function stem(path: string): string {
  return basename(withoutEnding(path));
}

function withoutEnding(path: string): string {
  return isPicturePath(path) || /\.txt$/i.test(path) ? path.slice(0, -extname(path).length) : path;
}

/** Whether the last folders agree: `val/000012` for both. */
function endsAlike(one: string, other: string): boolean {
  const [a, b] = [one.split('/').slice(-2), other.split('/').slice(-2)];
  return a.join('/') === b.join('/');
}
