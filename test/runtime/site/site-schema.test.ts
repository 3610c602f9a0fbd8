// The JSON schema that is shipped says the same as the schema that is used.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { siteSchema } from '../../../runtime/site/site-schema.ts';
import { toJsonSchema } from './site-json-schema.ts';

const shipped = fileURLToPath(new URL('../../../runtime/site/site.schema.json', import.meta.url));
const sample = fileURLToPath(new URL('../../../samples/site/site.yaml', import.meta.url));

type Node = Readonly<Record<string, unknown>>;

describe('site.schema.json', () => {
  /** Written anew by `npx vitest run test/runtime/site/site-schema.test.ts --update`. */
  it('is made from the schema of the reader', async () => {
    await expect(formatted(toJsonSchema(siteSchema))).toMatchFileSnapshot(shipped);
  });

  it('knows every key of the sample', async () => {
    const schema = JSON.parse(await readFile(shipped, 'utf8')) as Node;
    const site = parse(await readFile(sample, 'utf8'), { merge: true }) as Node;
    expect(unknownKeys(schema, site)).toEqual([]);
    expect(unknownKeys(schema, { ...site, camera: {} })).toEqual(['camera']);
    expect(unknownKeys(schema, { cameras: { a: { zones: { z: { inertai: 3 } } } } })).toEqual([
      'cameras.a.zones.z.inertai',
    ]);
  });
});

/** As the formatter of this project writes JSON: lists of words on one line. */
function formatted(schema: object): string {
  const text = JSON.stringify(schema, undefined, 2);
  const words = /\[\n\s+("[^[\]{}]*")\n\s+\]/g;
  return `${text.replace(words, (_, inside: string) => `[${inside.replace(/\n\s+/g, ' ')}]`)}\n`;
}

/** Keys that no part of the schema names, by the rules for objects alone. */
function unknownKeys(schema: Node, value: unknown, path = ''): readonly string[] {
  const options = (schema['anyOf'] as readonly Node[] | undefined) ?? [schema];
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const object = options.find(({ type }) => type === 'object');
  if (!isObject || object === undefined) return [];
  const properties = (object['properties'] ?? {}) as Readonly<Record<string, Node>>;
  const others = object['additionalProperties'] as Node | false;
  return Object.entries(value).flatMap(([key, child]) => {
    const at = path === '' ? key : `${path}.${key}`;
    const next = properties[key] ?? (key.startsWith('x-') ? {} : others);
    return next === false ? [at] : unknownKeys(next, child, at);
  });
}
