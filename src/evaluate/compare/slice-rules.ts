// What parts pictures into conditions: a column of a table, the light that is measured in them, the sun at their time and
// place, another set, or the same pictures rendered in another light.
import { access, mkdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DataError, firstLight, LIGHT_LADDER, nearest, type Size } from '#core';
import { encodePicture, readPicture } from '#data/images';
import { CIVIL_LIMITS, sunLight } from '#data/sun';
import { writeWholeFile } from '#runtime';
import { cameraOfName } from '../camera-of-name.ts';
import { lightOfPicture } from './picture-light.ts';
import {
  loadPictureSet,
  type PictureSet,
  type PictureSetRequest,
  setNames,
  withClassesOf,
} from './picture-sets.ts';
import {
  type ComparedPicture,
  comparedPictures,
  type PictureSlice,
  parseFrameTable,
  sliceBy,
  timeOfName,
} from './slices.ts';

export type SliceRule =
  /** The column of a csv file whose column `file` names the pictures. */
  | { readonly kind: 'column'; readonly table: string; readonly column: string }
  /** The state that `measureLight` finds in each picture. */
  | { readonly kind: 'light' }
  /** The sun at the time in each file name, at one place. */
  | {
      readonly kind: 'sun';
      readonly latitude: number;
      readonly longitude: number;
      /** Of the clock in the file names, in s east of Greenwich. */
      readonly zoneSeconds: number;
    }
  | { readonly kind: 'against'; readonly other: PictureSetRequest }
  | {
      readonly kind: 'simulate';
      /** Name of the rendered slice. */
      readonly name: string;
      /** Where the rendered pictures are written. */
      readonly folder: string;
      /** rgb24 [height, width, 3] of a picture, changed in place. */
      readonly render: (rgb: Uint8Array, size: Size, place: number) => void;
    };

export interface SlicedPictures {
  readonly slices: readonly PictureSlice[];
  /** Absent where there are no labels. */
  readonly classNames?: readonly string[];
  /** What the slices rest on, in words: where cameras and conditions come from, and what was left out. */
  readonly remarks: readonly string[];
}

export interface SliceContext {
  /** Only these slices, the reference first. Default: all. */
  readonly names?: readonly string[];
  /** Slice that the others are compared with; it comes first. Default: `day` where there is one, else the first. */
  readonly reference?: string;
  readonly signal?: AbortSignal;
  readonly onPicture?: (done: number, total: number) => void;
}

/** @throws DataError where a picture or table cannot be read, or fewer than two slices come out; ConfigError for a place that is none */
export async function slicePictures(
  set: PictureSet,
  rule: SliceRule,
  context: SliceContext = {},
): Promise<SlicedPictures> {
  const found = await slicesOf(set, rule, context);
  const sliced = { ...found, slices: inChosenOrder(found.slices, context) };
  const [only, other] = sliced.slices;
  if (only === undefined) {
    throw new DataError(`${set.source}: no picture belongs to a slice`, {
      hint:
        rule.kind === 'column'
          ? `give a value of ${rule.column} to pictures in ${rule.table}`
          : 'see the rule that parts them',
    });
  }
  if (other === undefined) {
    throw new DataError(
      `${set.source}: all ${only.pictures.length} pictures that were placed belong to one slice, "${only.name}"`,
      {
        hint: 'a comparison needs two conditions or more: add pictures of another, or part them by another rule',
      },
    );
  }
  const { classNames } = set;
  return { ...sliced, ...(classNames && { classNames }) };
}

/** The slices that are wanted, the reference first. */
export function inChosenOrder<Slice extends PictureSlice>(
  slices: readonly Slice[],
  { names, reference }: Pick<SliceContext, 'names' | 'reference'>,
): Slice[] {
  const one = (name: string) => {
    const slice = slices.find((other) => other.name === name);
    if (slice !== undefined) return slice;
    const there = slices.map((other) => other.name);
    const near = nearest(name, there);
    throw new DataError(`no picture belongs to the slice "${name}"`, {
      hint: near === undefined ? `the slices are ${there.join(', ')}` : `did you mean "${near}"?`,
    });
  };
  const chosen = names === undefined ? slices : [...new Set(names)].map(one);
  const first = reference === undefined ? chosen.find(({ name }) => name === 'day') : one(reference);
  return first === undefined ? [...chosen] : [first, ...chosen.filter((slice) => slice !== first)];
}

type Sliced = Omit<SlicedPictures, 'classNames'>;

function slicesOf(set: PictureSet, rule: SliceRule, context: SliceContext): Promise<Sliced> | Sliced {
  switch (rule.kind) {
    case 'column':
      return byColumn(set, rule);
    case 'light':
      return byLight(set, context);
    case 'sun':
      return bySun(set, rule);
    case 'against':
      return bySets(set, rule.other);
    case 'simulate':
      return byRendering(set, rule, context);
    default:
      return rule satisfies never;
  }
}

function picturesOf(
  set: PictureSet,
  camera: (path: string) => string = camerasOfNames(set),
): ComparedPicture[] {
  return comparedPictures(set.pictures, { camera }, set.classNames !== undefined);
}

/** Names that begin differently nearly every time do not name cameras; each picture would be compared with nothing. */
function camerasOfNames({ pictures }: PictureSet): (path: string) => string {
  const cameras = new Set(pictures.map(({ path }) => cameraOfName(path)));
  const isCamera = 2 * cameras.size <= pictures.length || pictures.length <= 2;
  return (path) => (isCamera ? (cameraOfName(path) ?? '') : '');
}

function cameraRemark(pictures: readonly ComparedPicture[], from: string): string {
  const cameras = new Set(pictures.map(({ camera }) => camera));
  return cameras.size === 1 && cameras.has('')
    ? 'all pictures count as of one camera: file names do not begin with that of several (CAMERA-...)'
    : `${cameras.size} camera${cameras.size === 1 ? '' : 's'}, ${from}`;
}

const FROM_NAMES = 'by the beginning of the file names (CAMERA-... or CAMERA_...)';

/** The path as it is, or from beside the data set: a table of its pictures usually lies there. */
async function readTable(path: string, source: string): Promise<string> {
  const places = [path, join(source, path), join(dirname(source), path)];
  const there = await Promise.all(
    places.map((place) =>
      access(place).then(
        () => true,
        () => false,
      ),
    ),
  );
  const place = places.find((_, index) => there[index]) ?? path;
  return readFile(place, 'utf8').catch((cause: unknown) => {
    throw new DataError(
      `${place}: cannot be read (${cause instanceof Error ? cause.message : String(cause)})`,
      { hint: 'write by=TABLE.csv:COLUMN, with the path from here or from beside the data set', cause },
    );
  });
}

async function byColumn(
  set: PictureSet,
  { table: path, column }: Extract<SliceRule, { kind: 'column' }>,
): Promise<Sliced> {
  const text = await readTable(path, set.source);
  const table = parseFrameTable(text, path);
  const hasCamera = table.columns.includes('camera');
  const named = hasCamera ? (picture: string) => table.value(picture, 'camera') ?? '' : undefined;
  const pictures = picturesOf(set, named);
  const conditionOf = (picture: string) => table.value(picture, column) || undefined;
  const slices = sliceBy(pictures, (picture) => conditionOf(picture.path));
  const out = pictures.filter((picture) => conditionOf(picture.path) === undefined).length;
  return {
    slices,
    remarks: [
      cameraRemark(pictures, hasCamera ? `by the column camera of ${basename(path)}` : FROM_NAMES),
      ...(out === 0 ? [] : [`${out} pictures have no ${column} in ${basename(path)} and are left out`]),
    ],
  };
}

async function byLight(set: PictureSet, { signal, onPicture }: SliceContext): Promise<Sliced> {
  const states = new Map<string, string>();
  for (const [place, { path }] of set.pictures.entries()) {
    signal?.throwIfAborted();
    const value = await lightOfPicture(path);
    if (Number.isFinite(value)) states.set(path, firstLight(LIGHT_LADDER, value).name);
    onPicture?.(place + 1, set.pictures.length);
  }
  const pictures = picturesOf(set);
  const out = set.pictures.length - states.size;
  return {
    slices: inOrder(sliceBy(pictures, ({ path }) => states.get(path))),
    remarks: [
      cameraRemark(pictures, FROM_NAMES),
      'night, dusk (dawn too) and day as measured in each picture: one in five was placed wrongly on cameras that the measure was not fitted to',
      ...(out === 0 ? [] : [`${out} black pictures say nothing of the light and are left out`]),
    ],
  };
}

/** From bright to dark, as a reader expects a reference first. */
function inOrder(slices: readonly PictureSlice[]): PictureSlice[] {
  const order = [...LIGHT_LADDER.states].reverse();
  return [...slices].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
}

function bySun(
  set: PictureSet,
  { latitude, longitude, zoneSeconds }: Extract<SliceRule, { kind: 'sun' }>,
): Sliced {
  const pictures = picturesOf(set);
  const stateOf = ({ path }: ComparedPicture) => {
    const local = timeOfName(path);
    if (local === undefined) return undefined;
    const { state } = sunLight({ time: new Date(1000 * (local - zoneSeconds)), latitude, longitude });
    // The sun is as high; `stream light=sun` knows one state for both.
    return state === 'dawn' ? 'dusk' : state;
  };
  const out = pictures.filter(({ path }) => timeOfName(path) === undefined);
  if (out.length === pictures.length) {
    throw new DataError(`${set.source}: no file name holds a time, such as ${basename(out[0]?.path ?? '')}`, {
      hint: 'name pictures CAMERA-YYYYMMDD_HHMMSS.jpg, or part them by a column of a table',
    });
  }
  return {
    slices: inOrder(sliceBy(pictures, stateOf)),
    remarks: [
      cameraRemark(pictures, FROM_NAMES),
      `by the sun: day above ${CIVIL_LIMITS.day} degrees, night at or below ${CIVIL_LIMITS.night}, dusk and dawn between them are one slice`,
      ...(out.length === 0 ? [] : [`${out.length} pictures have no time in their name and are left out`]),
    ],
  };
}

async function bySets(set: PictureSet, request: PictureSetRequest): Promise<Sliced> {
  const other = withClassesOf(set, await loadPictureSet(request));
  const names = setNames(set.source, other.source);
  const slices = [set, other].map((one, place) => ({ name: names[place] ?? '', pictures: picturesOf(one) }));
  const cameras = cameraRemark(
    slices.flatMap(({ pictures }) => pictures),
    FROM_NAMES,
  );
  return { slices, remarks: [cameras] };
}

async function byRendering(
  set: PictureSet,
  { name, folder, render }: Extract<SliceRule, { kind: 'simulate' }>,
  { signal, onPicture }: SliceContext,
): Promise<Sliced> {
  await mkdir(folder, { recursive: true });
  const originals = picturesOf(set).map((picture) => ({ ...picture, pairKey: picture.path }));
  const rendered: ComparedPicture[] = [];
  for (const [place, picture] of originals.entries()) {
    signal?.throwIfAborted();
    const { rgb, size } = await readPicture(picture.path);
    const pixels = rgb.slice();
    render(pixels, size, place);
    const path = join(folder, `${String(place).padStart(6, '0')}-${basename(picture.path)}.png`);
    await writeWholeFile(path, await encodePicture(pixels, size, 'png'));
    rendered.push({ ...picture, path });
    onPicture?.(place + 1, originals.length);
  }
  return {
    slices: [
      { name: 'original', pictures: originals },
      { name, pictures: rendered },
    ],
    remarks: [
      cameraRemark(originals, FROM_NAMES),
      `${name} is rendered from the same pictures, as in training: a model of the light and of a camera, not a recording`,
      `the rendered pictures lie in ${folder}`,
    ],
  };
}
