// How often the light that is measured in pictures is the light of a table, per camera: no model is needed.
//   node dist/samples/studies/light-states/main.js data=… frames=frames.csv [by=period]
import { openSource } from 'edge-detect';
import {
  createLetterbox,
  DEFAULT_FIT,
  EdgeDetectError,
  firstLight,
  LIGHT_LADDER,
  measureLight,
} from 'edge-detect/core';
import { nameGroup } from 'edge-detect/data';
import { print, say } from '../common/output.ts';
import { markdownTable } from '../common/table.ts';
import { loadSliced, readPolicySetting } from '../policies/setting.ts';

/** Dawn is as bright as dusk. */
const SAME_AS: Readonly<Record<string, string>> = { dawn: 'dusk' };

interface Seen {
  readonly camera: string;
  readonly truth: string;
  readonly found: string;
}

async function measureAll(words: readonly string[]): Promise<readonly Seen[]> {
  const { pictures, slices } = await loadSliced(readPolicySetting([...words, 'model=none']));
  const seen: Seen[] = [];
  for (const [place, picture] of pictures.entries()) {
    const value = await lightOf(picture.path);
    const truth = slices[place]!;
    const found = firstLight(LIGHT_LADDER, value).name;
    seen.push({ camera: nameGroup(picture), truth: SAME_AS[truth] ?? truth, found });
  }
  return seen;
}

/** `LightMeasure.value` of a picture at its own size. */
async function lightOf(path: string): Promise<number> {
  const source = await openSource(path);
  let value = Number.NaN;
  const { signal } = new AbortController();
  const fit = (size: Parameters<typeof createLetterbox>[0]) => createLetterbox(size, size, DEFAULT_FIT);
  for await (const frame of source.frames({ fit, full: false, signal })) {
    const { width, height } = frame.letterbox.content;
    ({ value } = measureLight(frame.content, width, height));
    frame.release();
  }
  return value;
}

function report(seen: readonly Seen[]): void {
  const states = [...LIGHT_LADDER.states].reverse();
  const right = (rows: readonly Seen[]) => rows.filter(({ truth, found }) => truth === found).length;
  const cell = (rows: readonly Seen[]) =>
    rows.length === 0
      ? '–'
      : `${right(rows)} of ${rows.length} (${Math.round((100 * right(rows)) / rows.length)} %)`;
  const cameras = [...new Set(seen.map(({ camera }) => camera))].sort();
  const line = (name: string, rows: readonly Seen[]) => [
    name,
    cell(rows),
    ...states.map((state) => cell(rows.filter(({ truth }) => truth === state))),
  ];
  print('Pictures of which the measured light is that of the table:\n');
  const perCamera = cameras.map((name) =>
    line(
      name,
      seen.filter(({ camera }) => camera === name),
    ),
  );
  print(markdownTable(['camera', 'right', ...states], [...perCamera, line('all', seen)]));
  print('\nLight of the table, and what was measured:\n');
  const count = (truth: string, found: string) =>
    `${seen.filter((row) => row.truth === truth && row.found === found).length}`;
  const confusion = states.map((truth) => [truth, ...states.map((found) => count(truth, found))]);
  print(markdownTable(['', ...states], confusion));
}

try {
  report(await measureAll(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof EdgeDetectError)) throw error;
  say(`${error.message}\n${error.hint}`);
  process.exitCode = error.exitCode;
}
