// The file that keeps what a site has learned of its scores, so that a restart does not learn a drift as the new normal.
import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import { ConfigError } from '#core';
import type { LearnedLaw } from './series.ts';

/** A law with what it belongs to. */
export interface StoredLaw extends LearnedLaw {
  readonly camera: string;
  /** State of the light; absent where it is not followed. */
  readonly light?: string;
  /** Stands for thresholds, classes and filters that the boxes passed. */
  readonly rules: string;
}

const score = v.pipe(v.number('a score from 0 to 1'), v.minValue(0), v.maxValue(1));
const deviation = v.pipe(v.number('a standard deviation from 0 to 0.5'), v.minValue(0), v.maxValue(0.5));
const schema = v.strictObject({
  version: v.literal(1, '1, the only version of this format'),
  modelSha256: v.string('a SHA-256'),
  references: v.array(
    v.strictObject({
      camera: v.string('the name of a camera'),
      light: v.exactOptional(v.string('a light state')),
      rules: v.string('a text'),
      isLearned: v.boolean('true or false'),
      hours: v.pipe(v.number('hours of 0 or more'), v.minValue(0)),
      tracks: v.array(v.strictObject({ score: v.array(score), std: v.array(deviation) })),
    }),
  ),
});

const REMOVE = 'remove the file, or give drift.path another name: then the site learns anew';

/**
 * @returns nothing where there is no such file yet
 * @throws ConfigError where it cannot be read, is none of this format, or was learned with another model
 */
export function readReferences(path: string, modelSha256: string): readonly StoredLaw[] {
  const text = textOf(path);
  if (text === undefined) return [];
  const parsed = v.safeParse(schema, jsonOf(text, path));
  if (!parsed.success) {
    const [issue] = parsed.issues;
    const key = v.getDotPath(issue) ?? 'the whole';
    throw new ConfigError(`${path}: '${key}': ${issue.message}`, { hint: REMOVE });
  }
  const { modelSha256: own, references } = parsed.output;
  if (own !== modelSha256) {
    throw new ConfigError(
      `${path}: this drift reference was learned with another model (SHA-256 ${own}, this one has ${modelSha256})`,
      { hint: REMOVE },
    );
  }
  return references;
}

export function formatReferences(modelSha256: string, references: readonly StoredLaw[]): string {
  const rows = references.map((reference) => `    ${JSON.stringify(reference)}`).join(',\n');
  return `{\n  "version": 1,\n  "modelSha256": "${modelSha256}",\n  "references": [\n${rows}\n  ]\n}\n`;
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new ConfigError(`${path}: the drift reference cannot be read: ${message}`, { hint: REMOVE, cause });
  }
}

function jsonOf(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConfigError(`${path} is not JSON: ${(cause as Error).message}`, { hint: REMOVE, cause });
  }
}
