// What an engine was built from and for: it runs nowhere else, and nothing in the file itself says so.
import { ModelError } from '#core';

/** Of an input with open axes: what it may be, and what the engine is tuned for. */
export interface ShapeProfile {
  readonly min: readonly number[];
  readonly opt: readonly number[];
  readonly max: readonly number[];
}

/** By the name of the input; empty where every axis is fixed. */
export type EngineShapes = Readonly<Record<string, ShapeProfile>>;

export interface EngineKey {
  readonly modelSha256: string;
  /** `10.3.0` */
  readonly tensorrt: string;
  /** As the driver names it. */
  readonly gpu: string;
  /** `8.7` */
  readonly computeCapability: string;
  readonly precision: 'float32' | 'float16' | 'int8';
  readonly shapes: EngineShapes;
}

/** The JSON beside an engine. */
export interface EngineRecord {
  readonly version: 1;
  readonly key: EngineKey;
  /** The file that the key is of. */
  readonly engine: { readonly name: string; readonly sha256: string; readonly bytes: number };
}

const RECORD_KEYS = ['version', 'key', 'engine'];
const ENGINE_KEYS = ['name', 'sha256', 'bytes'];
const TEXTS = ['modelSha256', 'tensorrt', 'gpu', 'computeCapability', 'precision'] as const;

const WORDS: Readonly<Record<keyof EngineKey, string>> = {
  modelSha256: 'model',
  tensorrt: 'TensorRT',
  gpu: 'GPU',
  computeCapability: 'compute capability',
  precision: 'precision',
  shapes: 'shapes',
};

export function formatEngineRecord(record: EngineRecord): string {
  return `${JSON.stringify(record, null, 2)}\n`;
}

/** @throws ModelError naming the file, where it is not exactly such a record */
export function parseEngineRecord(text: string, file: string): EngineRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw notRecord(file, 'it is no JSON', cause);
  }
  if (!hasExactly(value, RECORD_KEYS) || value['version'] !== 1)
    throw notRecord(file, 'version, key and engine 1');
  const { key, engine } = value;
  if (!hasExactly(key, [...TEXTS, 'shapes']) || TEXTS.some((name) => typeof key[name] !== 'string'))
    throw notRecord(file, `its key must have ${TEXTS.join(', ')} and shapes`);
  if (!isShapes(key['shapes'])) throw notRecord(file, 'shapes must give min, opt and max of each input');
  if (
    !hasExactly(engine, ENGINE_KEYS) ||
    typeof engine['name'] !== 'string' ||
    typeof engine['sha256'] !== 'string' ||
    typeof engine['bytes'] !== 'number'
  )
    throw notRecord(file, `its engine must have ${ENGINE_KEYS.join(', ')}`);
  return value as unknown as EngineRecord;
}

/** What differs, both sides shown; empty where an engine fits. */
export function keyDifferences(found: EngineKey, wanted: EngineKey): readonly string[] {
  return (Object.keys(WORDS) as (keyof EngineKey)[]).flatMap((name) => {
    const [is, should] = [found, wanted].map((key) => valueText(key[name]));
    return is === should ? [] : [`${WORDS[name]} ${is}, here ${should}`];
  });
}

function valueText(value: EngineKey[keyof EngineKey]): string {
  if (typeof value === 'string') return value;
  const names = Object.keys(value).sort();
  if (names.length === 0) return 'fixed';
  return names
    .map((name) => {
      const { min, opt, max } = value[name] ?? { min: [], opt: [], max: [] };
      return `${name} ${[min, opt, max].map((shape) => shape.join('x')).join('..')}`;
    })
    .join(', ');
}

function notRecord(file: string, what: string, cause?: unknown): ModelError {
  return new ModelError(`${file} is no record of an engine: ${what}`, {
    hint: 'remove it together with its engine: the engine is built again',
    cause,
  });
}

function hasExactly(value: unknown, keys: readonly string[]): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.keys(value).sort().join() === [...keys].sort().join()
  );
}

function isShapes(value: unknown): value is EngineShapes {
  const isShape = (shape: unknown) => Array.isArray(shape) && shape.every((size) => Number.isInteger(size));
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every(
      (profile) => hasExactly(profile, ['min', 'opt', 'max']) && Object.values(profile).every(isShape),
    )
  );
}
