// Class names given beside the model: a names file, the `names:` of a data.yaml, or a list on the command line.
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { ConfigError } from '#core';
import { parseNames } from '#onnx';

/**
 * @param spec path of a text, JSON or YAML file, or names separated by commas
 * @returns names by class id
 * @throws ConfigError naming the file and what was found in it
 */
export async function readNames(spec: string): Promise<readonly string[]> {
  const text = await readFile(spec, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT' && spec.includes(',')) return spec;
    throw new ConfigError(`names=${spec}: the file cannot be read (${cause.message})`, {
      hint: 'give a file with one name per line, a data.yaml, or names separated by commas',
      cause,
    });
  });
  const names = /\.ya?ml$/i.test(spec) ? namesOfYaml(spec, text) : parseNames(text);
  if (names !== undefined && names.length > 0) return names;
  throw new ConfigError(`names=${spec}: no class names in it`, {
    hint: 'write one name per line, or `names:` with a list or a map from 0',
  });
}

function namesOfYaml(path: string, text: string): readonly string[] | undefined {
  let document: unknown;
  try {
    document = parse(text);
  } catch (cause) {
    throw new ConfigError(`names=${path}: not valid YAML (${(cause as Error).message.split('\n', 1)[0]})`, {
      hint: 'correct the line that is named',
      cause,
    });
  }
  const names =
    typeof document === 'object' && document !== null && 'names' in document ? document.names : undefined;
  return names === undefined ? undefined : parseNames(JSON.stringify(names));
}
