// The tree of commands. Each command is loaded when it is called, so that `--help` costs nothing else.
import { Command, type CommanderError, Option } from 'commander';
import { nearest, UsageError } from '#core/basics';
import { normalizeArguments } from './arguments.ts';
import { type Config, readConfig } from './config.ts';
import { type CommandName, findOption, OPTIONS, type OptionSpec } from './options.ts';

type Run = (config: Config, signal: AbortSignal) => Promise<void>;

interface CommandSpec {
  readonly name: CommandName;
  readonly summary: string;
  readonly load: () => Promise<Run>;
}

const COMMANDS: readonly CommandSpec[] = [
  {
    name: 'predict',
    summary: 'detect objects in pictures or videos and save what was found',
    load: async () => (await import('./commands/predict.ts')).predict,
  },
  {
    name: 'stream',
    summary: 'detect objects in a video or camera, one JSON line per frame',
    load: async () => (await import('./commands/stream.ts')).stream,
  },
  {
    name: 'train',
    summary: 'fit a head whose score is a distribution on a detector, or a small detector from scratch',
    load: async () => (await import('./commands/train.ts')).train,
  },
  {
    name: 'val',
    summary: 'say how good a detector is and whether its scores mean what they say',
    load: async () => (await import('./commands/val.ts')).val,
  },
  {
    name: 'calibrate',
    summary: 'make scores mean what they say, and measure it on pictures not fitted on',
    load: async () => (await import('./commands/calibrate.ts')).calibrate,
  },
  {
    name: 'compare',
    summary: 'say what a detector does from one condition to another, such as day and dusk',
    load: async () => (await import('./commands/compare.ts')).compare,
  },
  {
    name: 'export',
    summary: 'write a model as a device runs it, after it has shown that it says the same',
    load: async () => (await import('./commands/export.ts')).exportCommand,
  },
  {
    name: 'bench',
    summary: 'say how fast models are beside each other on the same frames, and what they find',
    load: async () => (await import('./commands/bench.ts')).bench,
  },
  {
    name: 'inspect',
    summary: 'say what a model file is and what it can say about its uncertainty',
    load: async () => (await import('./commands/inspect.ts')).inspect,
  },
  {
    name: 'devices',
    summary: 'say what is installed and usable here',
    load: async () => (await import('./commands/devices.ts')).devices,
  },
  {
    name: 'demo',
    summary: 'run the main job on a clip and print what it found',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
];

/** Habitual names of commands, and what stands for them here. */
const OTHER_NAMES: Readonly<Record<string, CommandName>> = {
  detect: 'predict',
  track: 'stream',
  checks: 'devices',
  doctor: 'devices',
};

/** What some of these names say beyond the command. */
const IMPLIED_WORDS: Readonly<Record<string, readonly string[]>> = { track: ['track=True'] };

/**
 * Runs one command line.
 * @throws UsageError, and whatever the command throws
 */
export async function runProgram(
  words: readonly string[],
  version: string,
  signal: () => AbortSignal,
): Promise<void> {
  const [first = '--help', ...rest] = words;
  const name = OTHER_NAMES[first] ?? first;
  if (!first.startsWith('-') && name !== 'help' && !COMMANDS.some((command) => command.name === name)) {
    throw unknownCommand(first);
  }
  const known = COMMANDS.some((command) => command.name === name);
  const argv = known ? [name, ...normalizeArguments([...(IMPLIED_WORDS[first] ?? []), ...rest])] : [...words];
  try {
    await createProgram(version, signal).parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
  } catch (error) {
    if (!isCommanderError(error)) throw error;
    if (error.exitCode === 0) return;
    const foreign = findOption(/^error: unknown option '--([\w-]+)/.exec(error.message)?.[1] ?? '');
    if (foreign !== undefined) {
      throw new UsageError(`edge-detect ${name} has no option ${foreign.key}=`, {
        hint: `it belongs to ${foreign.commands.join(', ')}`,
      });
    }
    throw new UsageError(error.message.replace(/^error: /, ''), {
      hint: `see edge-detect ${known ? name : ''} --help`,
    });
  }
}

function unknownCommand(word: string): UsageError {
  const verbs = COMMANDS.map(({ name }) => name);
  if (/[=/.]/.test(word)) {
    return new UsageError(`'${word}' stands where a command belongs`, {
      hint: `write edge-detect stream ${word.includes('=') ? word : `source=${word}`}, for example`,
    });
  }
  const near = nearest(word, verbs);
  return new UsageError(`there is no command '${word}'`, {
    hint: near === undefined ? `the commands are ${verbs.join(', ')}` : `did you mean edge-detect ${near} ?`,
  });
}

function createProgram(version: string, signal: () => AbortSignal): Command {
  const program = new Command('edge-detect')
    .description('Runs YOLO-style detectors at the edge. Every box says how sure it is.')
    .version(version)
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      'after',
      '\nOptions are written key=value or --key value; edge-detect stream --help lists them.\n' +
        'edge-detect track is edge-detect stream track=True.',
    );
  for (const { name, summary, load } of COMMANDS) {
    const command = program.command(name).description(summary).allowExcessArguments(false).exitOverride();
    for (const option of OPTIONS.filter(({ commands }) => commands.includes(name))) {
      command.addOption(toCommander(option));
    }
    command.addOption(new Option('--class-conf <pair>').argParser(collect).hideHelp());
    command.action(async (given: Record<string, unknown>) => {
      const config = readConfig(name, rawValues(given), (given['classConf'] as string[] | undefined) ?? []);
      await (await load())(config, signal());
    });
  }
  return program;
}

function toCommander({ key, type, help, defaultText, choices }: OptionSpec): Option {
  const flag = `--${key.replaceAll('_', '-')}`;
  const value = type === 'boolean' ? '[bool]' : `<${choices?.join('|') ?? type}>`;
  const text = defaultText === undefined ? help : `${help} (default: ${defaultText})`;
  return new Option(`${flag} ${value}`, text);
}

function collect(pair: string, before: readonly string[] = []): string[] {
  return [...before, pair];
}

function rawValues(given: Record<string, unknown>): Map<string, string | true> {
  const values = new Map<string, string | true>();
  for (const { key } of OPTIONS) {
    const value = given[key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
    if (value === true || typeof value === 'string') values.set(key, value);
  }
  return values;
}

function isCommanderError(error: unknown): error is CommanderError {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.');
}
