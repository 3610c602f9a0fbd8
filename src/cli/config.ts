// The values of one command line, checked once and then read by name.
import { ConfigError } from '#core/basics';
import { type CommandName, OPTIONS, type OptionSpec } from './options.ts';
import { type OptionValue, parseValue } from './values.ts';

export interface Config {
  readonly command: CommandName;
  text(key: string): string | undefined;
  number(key: string): number | undefined;
  flag(key: string): boolean | undefined;
  /** Height, width. */
  size(key: string): readonly [number, number] | undefined;
  list(key: string): readonly string[] | undefined;
  /** `conf.person=0.5`, by class name or number as written. */
  readonly classConf: ReadonlyMap<string, number>;
  /** @throws ConfigError naming the key when it is missing */
  required(key: string): string;
}

/**
 * @param raw text by key; `true` for a switch without a value
 * @param classConf `name=value` pairs
 * @throws ConfigError for the first value that does not fit its key
 */
export function readConfig(
  command: CommandName,
  raw: ReadonlyMap<string, string | true>,
  classConf: readonly string[],
): Config {
  const values = new Map<string, OptionValue>();
  for (const [key, text] of raw) {
    const spec = OPTIONS.find((option) => option.key === key && option.commands.includes(command));
    const value = spec && parseSpec(spec, text);
    if (value !== undefined) values.set(key, value);
  }
  const of = <T extends OptionValue>(key: string) => values.get(key) as T | undefined;
  return {
    command,
    text: (key) => of<string>(key),
    number: (key) => of<number>(key),
    flag: (key) => of<boolean>(key),
    size: (key) => of<readonly [number, number]>(key),
    list: (key) => of<readonly string[]>(key),
    classConf: new Map(classConf.map(parseClassConf)),
    required(key) {
      const value = of<string>(key);
      if (value === undefined || value === '') {
        throw new ConfigError(`${command} needs ${key}=${value === '' ? ', and it is empty' : ''}`, {
          hint: `see edge-detect ${command} --help`,
        });
      }
      return value;
    },
  };
}

function parseSpec(spec: OptionSpec, text: string | true): OptionValue | undefined {
  if (text !== true) return parseValue(spec.key, text, spec.type, spec);
  if (spec.type === 'boolean') return true;
  throw new ConfigError(`${spec.key} has no value`, { hint: `write ${spec.key}=…: ${spec.help}` });
}

function parseClassConf(pair: string): [string, number] {
  const split = pair.lastIndexOf('=');
  const name = pair.slice(0, split);
  return [
    name,
    parseValue(`conf.${name}`, pair.slice(split + 1), 'number', {
      min: 0,
      max: 1,
      defaultText: '0.5',
    }) as number,
  ];
}
