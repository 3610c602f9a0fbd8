// What the study of policies is told: data, model, which classes of the two are the same, and the slices of a table.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { ConfigError, DataError, nearest } from 'edge-detect/core';
import { type LabelledPicture, loadDataset } from 'edge-detect/data';

export interface PolicySetting {
  readonly data: string;
  readonly model: string;
  /** Class names of the model → those of the data; absent: they are the same. */
  readonly classMap?: Readonly<Record<string, string>>;
  /** CSV with the columns `file` and `by`; absent: one slice. */
  readonly frames?: string;
  readonly by: string;
  /** Score from which plain suppression keeps boxes: their number is what all others may keep. */
  readonly conf: number;
  readonly iou: number;
  /** Share of objects that conformal thresholds may miss. */
  readonly alpha: number;
  readonly threads: number;
  readonly out?: string;
}

const STANDARD = { by: 'period', conf: '0.25', iou: '0.7', alpha: '0.2', threads: '1' };
const KEYS = ['data', 'model', 'map', 'frames', 'by', 'conf', 'iou', 'alpha', 'threads', 'out'] as const;

/** @throws ConfigError naming the word, what was found and what is allowed */
export function readPolicySetting(words: readonly string[]): PolicySetting {
  const values = new Map<string, string>(Object.entries(STANDARD));
  for (const word of words) {
    const [key = '', ...rest] = word.split('=');
    if (rest.length === 0 || !(KEYS as readonly string[]).includes(key)) {
      const near = nearest(key, KEYS);
      throw new ConfigError(`"${word}" is not understood; known: ${KEYS.join('=, ')}=`, {
        hint: near === undefined ? 'write data=… model=… [frames=frames.csv]' : `did you mean ${near}=…?`,
      });
    }
    values.set(key, rest.join('='));
  }
  const [map, frames, out] = [values.get('map'), values.get('frames'), values.get('out')];
  return {
    data: required(values, 'data'),
    model: required(values, 'model'),
    by: required(values, 'by'),
    conf: numberOf(values, 'conf', 1),
    iou: numberOf(values, 'iou', 1),
    alpha: numberOf(values, 'alpha', 1),
    threads: Math.max(1, Math.round(numberOf(values, 'threads', 256))),
    ...(map !== undefined && { classMap: parseMap(map) }),
    ...(frames !== undefined && { frames }),
    ...(out !== undefined && { out }),
  };
}

function required(values: ReadonlyMap<string, string>, key: string): string {
  const value = values.get(key);
  if (value !== undefined && value !== '') return value;
  throw new ConfigError(`${key}= is missing`, {
    hint: 'write data=<data.yaml or folder> model=<detector.onnx>',
  });
}

function numberOf(values: ReadonlyMap<string, string>, key: string, most: number): number {
  const value = Number(required(values, key));
  if (value > 0 && value <= most) return value;
  throw new ConfigError(`${key}=${values.get(key)}: expected a number above 0, at most ${most}`, {
    hint: `leave ${key}= away`,
  });
}

/** `car:car,truck:lorry_truck` */
function parseMap(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').map((pair) => pair.split(':').map((name) => name.trim()));
  for (const pair of pairs) {
    if (pair.length === 2 && pair.every((name) => name !== '')) continue;
    throw new ConfigError(`map=${text}: "${pair.join(':')}" is no pair of names`, {
      hint: 'write map=<class of the model>:<class of the data>,…',
    });
  }
  return Object.fromEntries(pairs as [string, string][]);
}

export interface SlicedData {
  readonly classNames: readonly string[];
  readonly pictures: readonly LabelledPicture[];
  /** Per picture. */
  readonly slices: readonly string[];
}

/** @throws DataError where the data or the table cannot be read, or a picture is not in the table */
export async function loadSliced({ data, frames, by }: PolicySetting): Promise<SlicedData> {
  const { classNames, splits } = await loadDataset(data);
  const unique = new Map(
    Object.values(splits).flatMap((split) => split.map((picture) => [picture.path, picture])),
  );
  const pictures = [...unique.values()];
  if (frames === undefined) return { classNames, pictures, slices: pictures.map(() => 'all') };
  const names = await readColumn(frames, by);
  const slices = pictures.map(({ path }) => {
    const slice = names.get(basename(path));
    if (slice !== undefined) return slice;
    throw new DataError(`${frames}: no row for ${basename(path)}`, {
      hint: 'list every picture in column file',
    });
  });
  return { classNames, pictures, slices };
}

/** Values of a column by the name of the file. Without quotes: names of files and slices need none. */
async function readColumn(path: string, column: string): Promise<ReadonlyMap<string, string>> {
  const [head = '', ...lines] = (await readFile(path, 'utf8')).trim().split(/\r?\n/);
  const titles = head.split(',');
  const [file, wanted] = [titles.indexOf('file'), titles.indexOf(column)];
  if (file < 0 || wanted < 0) {
    throw new DataError(`${path}: its columns are ${titles.join(', ')}; needed are file and ${column}`, {
      hint: 'name another column with by=',
    });
  }
  return new Map(
    lines.map((line) => {
      const cells = line.split(',');
      return [basename(cells[file] ?? ''), cells[wanted] ?? ''];
    }),
  );
}
