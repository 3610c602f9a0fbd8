// What the schema finds wrong with a site file, as faults with place, key, what was found and what was expected.
import * as v from 'valibot';
import { nearest } from '#core';
import type { SiteFaults } from './site-faults.ts';
import { isRecord, type Placed, placedAt, type SitePath } from './site-placed.ts';
import { type Choice, kindOfValue, type SiteDocument, siteSchema } from './site-schema.ts';

/** Parts of valibot's schemas that the walk below looks at. */
interface SchemaParts {
  readonly type: string;
  readonly wrapped?: SchemaParts;
  readonly entries?: Readonly<Record<string, SchemaParts>>;
  readonly rest?: SchemaParts;
  readonly value?: SchemaParts;
  readonly item?: SchemaParts;
  readonly options?: Choice<readonly v.GenericSchema[]>['options'] | readonly string[];
}

/** Keys of other programs and of other spellings, and how the same is said here. */
const SAID_OTHERWISE: Readonly<Record<string, string>> = {
  lat: 'write latitude: 52.52 instead',
  lon: 'write longitude: 13.4 instead',
  ffmpeg: 'write source: rtsp://… instead',
  detect: 'write fps: 5 instead',
  record: 'nothing is recorded all day; clips: {folder: clips} keeps clips of events, snapshots: pictures',
  pre_capture: 'write pre: 5 instead',
  post_capture: 'write post: 5 instead',
  contour_area: 'write min_area: 0.0005, a share of the picture, instead',
  track: 'write classes: [car, person] instead',
  min_score: 'write thresholds: {car: 0.5} instead',
  threshold: 'write thresholds: {car: 0.5}, or min_median_score: 0.5 for the median over the track',
  loitering_time: 'write inertia: 3, in pictures, instead',
  username: 'write user: instead',
  names: 'class names come from the model',
};

/** What stands in for a key that must be there, so that the rest can be looked at. */
const STAND_INS: Readonly<Record<string, unknown>> = { model: 'missing', cameras: {} };
const MOST_ROUNDS = 20;

/**
 * @returns the document without what is wrong in it, so that mistakes of other kinds are found by the same reading;
 * undefined where nothing is left
 */
export function checkDocument(root: Placed, faults: SiteFaults): SiteDocument | undefined {
  if (!isRecord(root.value)) {
    faults.expected([], 'a map with model and cameras', 'start from samples/site/site.yaml');
    return undefined;
  }
  // Keys that begin with x- hold anchors for the rest of the file.
  const entries = Object.entries(root.value).filter(([key]) => !key.startsWith('x-'));
  const document = structuredClone(Object.fromEntries(entries));
  convertVariables(document, root);
  checkKeys(siteSchema as SchemaParts, document, [], faults);
  let checked = v.safeParse(siteSchema, document);
  for (const issue of firstOfEachList(checked.issues ?? [])) addIssue(issue, faults);
  for (let round = 0; !checked.success && round < MOST_ROUNDS; round++) {
    for (const issue of checked.issues) remove(issue, document);
    checked = v.safeParse(siteSchema, document);
  }
  return checked.success ? checked.output : undefined;
}

/** A list of numbers where pairs are wanted is one mistake, and not as many as it has numbers. */
function firstOfEachList(issues: readonly v.BaseIssue<unknown>[]): readonly v.BaseIssue<unknown>[] {
  const seen = new Set<string>();
  return issues.filter(({ path = [], message }) => {
    if (path.at(-1)?.type !== 'array') return true;
    const list = JSON.stringify([path.slice(0, -1).map(({ key }) => key), message]);
    return !seen.has(list) && seen.add(list);
  });
}

function remove(issue: v.BaseIssue<unknown>, document: Record<string, unknown>): void {
  const keys = (issue.path ?? []).map(({ key }) => String(key));
  const isMissing = issue.path?.at(-1)?.origin === 'key' && issue.input === undefined;
  const [first = ''] = keys;
  if (isMissing && keys.length === 1) document[first] = structuredClone(STAND_INS[first]);
  let holder: unknown = document;
  let remaining = isMissing ? keys.slice(0, -1) : keys;
  // A list with a gap would mean something else: all of it goes.
  for (const [index, key] of remaining.entries()) {
    if (Array.isArray(holder)) remaining = remaining.slice(0, index);
    if (!isRecord(holder)) break;
    holder = holder[key];
  }
  const last = remaining.at(-1);
  holder = document;
  for (const key of remaining.slice(0, -1)) holder = isRecord(holder) ? holder[key] : undefined;
  if (last !== undefined && isRecord(holder)) delete holder[last];
}

/** Finds all unknown keys, where valibot tells one for each map, and lists in the place of maps, which it takes. */
function checkKeys(schema: SchemaParts, value: unknown, path: SitePath, faults: SiteFaults): void {
  const parts = schemaFor(schema, value);
  if (parts === undefined) return;
  const { entries, rest, value: each = rest, item } = parts;
  if (item !== undefined && Array.isArray(value)) {
    for (const [index, one] of value.entries()) checkKeys(item, one, [...path, String(index)], faults);
  }
  if (entries === undefined && each === undefined) return;
  if (!isRecord(value)) {
    if (kindOfValue(value) === 'list')
      faults.expected(path, 'a map', `write \`key: value\` lines, without - in front`);
    return;
  }
  for (const [key, child] of Object.entries(value)) {
    const next = (entries !== undefined && Object.hasOwn(entries, key) ? entries[key] : undefined) ?? each;
    if (next !== undefined) checkKeys(next, child, [...path, key], faults);
    else addUnknown(key, Object.keys(entries ?? {}), path, faults);
  }
}

function schemaFor(schema: SchemaParts, value: unknown): SchemaParts | undefined {
  if (schema.wrapped !== undefined) return schemaFor(schema.wrapped, value);
  if (schema.type !== 'lazy') return schema;
  const kind = kindOfValue(value);
  const options = (schema.options ?? []) as readonly SchemaParts[];
  const list = options.find(({ type }) => type === 'array');
  const map = options.find(({ entries, value: each }) => entries !== undefined || each !== undefined);
  if (kind === 'list') return list;
  return kind === 'map' ? map : undefined;
}

function addUnknown(key: string, known: readonly string[], path: SitePath, faults: SiteFaults): void {
  const otherwise = Object.hasOwn(SAID_OTHERWISE, key) ? SAID_OTHERWISE[key] : undefined;
  const near = otherwise === undefined ? nearest(key, known) : undefined;
  const suggestion = near === undefined ? '' : `; did you mean '${near}'?`;
  faults.add([...path, key], {
    text: `'${key}' is not a key here${suggestion}`,
    hint: otherwise ?? `the keys here are ${known.join(', ')}`,
    atKey: true,
  });
}

function addIssue(issue: v.BaseIssue<unknown>, faults: SiteFaults): void {
  const path = (issue.path ?? []).map(({ key }) => String(key));
  const last = issue.path?.at(-1);
  if (faults.covers(path) || (issue.type === 'strict_object' && issue.expected === 'never')) return;
  if (last?.origin === 'key') {
    if (issue.input === undefined) {
      const key = path.at(-1) ?? '';
      faults.add(path, { text: 'this key is missing', hint: `add ${key}:` });
      return;
    }
    const text = `found the name '${path.at(-1)}', expected ${issue.message}`;
    faults.add(path, { text, hint: 'names become parts of topics, paths and labels', atKey: true });
    return;
  }
  const expected = issue.message.startsWith('Invalid') ? 'a map' : issue.message;
  faults.expected(path, expected, hintFor(issue, path));
}

function hintFor(issue: v.BaseIssue<unknown>, path: SitePath): string {
  const { input } = issue;
  const key = path.at(-1) ?? '';
  if (issue.type === 'picklist' && typeof input === 'string') {
    const options = [...issue.message.matchAll(/'([^']*)'/g)].map(([, word = '']) => word);
    const near = nearest(input, options);
    if (near !== undefined) return `did you mean ${key}: ${near}?`;
  }
  if (issue.type === 'picklist' && typeof input === 'boolean')
    return `write ${key}: ${input ? 'auto' : 'off'}`;
  if (issue.type === 'boolean' && typeof input === 'string' && /^(?:on|off|yes|no)$/i.test(input)) {
    return `write ${/^(?:on|yes)$/i.test(input) ? 'true' : 'false'}: in YAML 1.2 on, off, yes and no are words`;
  }
  if ((key === 'min_area' || key === 'max_area') && typeof input === 'number' && input > 1)
    return 'areas are shares of the picture: 5000 px of 1280 x 720 are 0.0054';
  if (/share/.test(issue.message) && typeof input === 'number' && input > 1)
    return 'divide x by the width of the picture, y by its height';
  if (typeof input === 'string' && issue.type === 'number') return 'write a number, without quotes';
  if (input === null) return `write a value behind ${key}:, or remove the key`;
  return `correct ${key}:`;
}

/** A text that came from a variable is a number or a truth value where the schema wants one, and a text elsewhere. */
function convertVariables(document: Record<string, unknown>, root: Placed): void {
  for (const issue of v.safeParse(siteSchema, document).issues ?? []) {
    const last = issue.path?.at(-1);
    if (last === undefined || typeof issue.input !== 'string') continue;
    const path = (issue.path ?? []).map(({ key }) => String(key));
    if (placedAt(root, path)?.written === undefined) continue;
    const converted = convert(issue.input);
    if (converted !== undefined) (last.input as Record<string, unknown>)[last.key as string] = converted;
  }
}

function convert(text: unknown): number | boolean | undefined {
  if (text === 'true' || text === 'false') return text === 'true';
  const number = typeof text === 'string' && text.trim() !== '' ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}
