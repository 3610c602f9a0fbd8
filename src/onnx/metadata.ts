// What a model says about itself in its metadata: class names, stride, size, task, licence.
import type { Size } from '#core';
import type { Literal } from './literal.ts';
import { parseLiteral } from './literal.ts';
import type { ModelProto } from './proto/onnx_pb.ts';

export interface ModelMetadata {
  /** Class names by id; ids that the model leaves out are named `class 7`. */
  readonly names?: readonly string[];
  /** Largest stride of the levels, in px. */
  readonly stride?: number;
  /** Input size that the model was exported for. */
  readonly imageSize?: Size;
  /** `detect`, `segment`, `pose`, `obb`, `classify` in Ultralytics' words. */
  readonly task?: string;
  /** Whether the model suppresses boxes by itself. */
  readonly endToEnd?: boolean;
  readonly keypointShape?: readonly number[];
  readonly license?: string;
  readonly author?: string;
  readonly description?: string;
  /** The JSON of our own models. */
  readonly edgeDetect?: string;
  /** Every key as it stands in the file. */
  readonly raw: ReadonlyMap<string, string>;
}

/** Keys that exporters use for class names, the usual one first. */
const NAME_KEYS = ['names', 'classes', 'class_names', 'labels', 'categories'];

export function readMetadata(model: ModelProto): ModelMetadata {
  const raw = new Map(model.metadataProps.map(({ key, value }) => [key, value]));
  const literal = (key: string) => parseLiteral(raw.get(key) ?? '');
  const names = NAME_KEYS.map((key) => parseNames(raw.get(key) ?? '')).find((found) => found !== undefined);
  const stride = largestNumber(literal('stride'));
  const imageSize = sizeOf(literal('imgsz') ?? literal('img_size'));
  const endToEnd = literal('end2end');
  const keypointShape = numbersOf(literal('kpt_shape'));
  const text = (key: string, field: string) => {
    const value = raw.get(key) ?? raw.get(key.replace('license', 'licence'));
    return value ? { [field]: value } : {};
  };
  return {
    ...(names ? { names } : {}),
    ...(stride ? { stride } : {}),
    ...(imageSize ? { imageSize } : {}),
    ...(typeof endToEnd === 'boolean' ? { endToEnd } : {}),
    ...(keypointShape ? { keypointShape } : {}),
    ...text('task', 'task'),
    ...text('license', 'license'),
    ...text('author', 'author'),
    ...text('description', 'description'),
    ...text('edge_detect', 'edgeDetect'),
    raw,
  };
}

/**
 * Class names by id, from a Python dict or list, JSON, or a list with one name a line or separated by commas.
 * @returns undefined where the text holds no names
 */
export function parseNames(text: string): readonly string[] | undefined {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (trimmed === '') return undefined;
  const value = /^[[{(]/.test(trimmed) ? parseLiteral(trimmed) : plainList(trimmed);
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) {
    return value.length > 0 && value.every((item) => typeof item !== 'object')
      ? value.map(String)
      : undefined;
  }
  return value instanceof Map ? namesOfMap(value) : undefined;
}

/** `{0: 'car', 1: 'bus'}`, as the field writes the names of classes into a file. */
export function formatNames(names: readonly string[]): string {
  return `{${names.map((name, id) => `${id}: '${name.replaceAll(/[\\']/g, '\\$&')}'`).join(', ')}}`;
}

function plainList(text: string): readonly string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const items = lines.length > 1 ? lines : text.split(',').map((item) => item.trim());
  return items.filter((item) => item !== '');
}

/** `{0: 'car'}`, `{'0': 'car'}` and the reverse, `{'car': 0}`. */
function namesOfMap(map: ReadonlyMap<string | number, Literal>): readonly string[] | undefined {
  const pairs = [...map].map(([key, value]) =>
    isId(key) ? ([Number(key), value] as const) : ([value, key] as const),
  );
  const byId = new Map<number, string>();
  for (const [id, name] of pairs) {
    // A huge id would make a huge list of made-up names.
    if (!isId(id) || Number(id) > 100_000 || name === null || typeof name === 'object') return undefined;
    byId.set(Number(id), String(name));
  }
  if (byId.size === 0) return undefined;
  const count = Math.max(...byId.keys()) + 1;
  return Array.from({ length: count }, (_, id) => byId.get(id) ?? `class ${id}`);
}

function isId(value: Literal | undefined): boolean {
  return /^\d+$/.test(typeof value === 'number' || typeof value === 'string' ? String(value) : '');
}

function numbersOf(value: Literal | undefined): readonly number[] | undefined {
  const items = typeof value === 'number' ? [value] : value;
  if (!Array.isArray(items) || items.length === 0) return undefined;
  return items.every((item): item is number => typeof item === 'number') ? items : undefined;
}

function largestNumber(value: Literal | undefined): number | undefined {
  const numbers = numbersOf(value);
  return numbers && Math.max(...numbers);
}

/** Ultralytics writes `[height, width]`. */
function sizeOf(value: Literal | undefined): Size | undefined {
  const [height, width = height] = numbersOf(value) ?? [];
  return height !== undefined && width !== undefined ? { width, height } : undefined;
}
