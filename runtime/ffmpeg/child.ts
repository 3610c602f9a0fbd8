// One supervised ffmpeg: its messages are always read, it ends when asked to, and it never outlives this process.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { DeviceError } from '#core';
import { isTelling, type LogLine, parseLogLine } from './log-line.ts';

/** Time between SIGTERM and SIGKILL: an ffmpeg that is blocked on a full pipe does not hear SIGTERM. */
const PATIENCE_MS = 1000;
const TAIL_CHARACTERS = 4096;
const LONGEST_LINE = 16_384;

export interface ChildOptions {
  /** `pipe` to write into the child; it inherits nothing otherwise. */
  readonly stdin?: 'ignore' | 'pipe';
  /** Pipes to read from beyond fd 2: the first is the child's fd 3. */
  readonly extraPipes?: number;
  readonly onLog?: (line: LogLine) => void;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The last telling line the child wrote, or '' (a camera that went away leaves none, and exit code 0). */
  readonly reason: string;
  /** All that it said last, at most 4096 characters, credentials removed, without its info lines. */
  readonly lastWords: string;
}

export interface SupervisedChild {
  readonly pid: number;
  /** Present where it was asked for. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly extra: readonly Readable[];
  /** Resolves when the child has ended and all its pipes are drained. Rejects with DeviceError if it cannot start. */
  readonly exited: Promise<ChildExit>;
  /** What the child said last, at most 4096 characters, credentials removed. */
  stderrTail(): string;
  /** Closes the pipes and asks it to end: SIGTERM, after a second SIGKILL. Safe to call again. */
  stop(): Promise<void>;
}

/** @throws DeviceError where the program cannot be started at all */
export function spawnChild(
  path: string,
  args: readonly string[],
  options: ChildOptions = {},
): SupervisedChild {
  const extraPipes = options.extraPipes ?? 0;
  const child = spawn(path, args, {
    // `detached`: an interrupt typed at the terminal reaches this process alone, which then ends its children in order.
    detached: true,
    windowsHide: true,
    stdio: [options.stdin ?? 'ignore', 'pipe', 'pipe', ...new Array<'pipe'>(extraPipes).fill('pipe')],
  });
  const messages = new MessageReader(options.onLog);
  const dispose = killAtExit(child);
  const exited = exitOf(child, path, messages).finally(dispose);
  exited.catch(() => {}); // a caller that only reads stdout must not crash the process
  const [, stdout, stderr, ...extra] = child.stdio as [unknown, Readable, Readable, ...Readable[]];
  stderr.setEncoding('utf8').on('data', (text: string) => messages.push(text));
  for (const pipe of [stdout, stderr, ...extra]) pipe.on('error', () => {}); // a reset pipe shows as the child's end
  child.stdin?.on('error', () => {}); // EPIPE: the child's own exit tells why
  let stopping: Promise<void> | undefined;
  return {
    pid: child.pid ?? -1,
    stdin: child.stdin ?? undefined,
    stdout,
    extra,
    exited,
    stderrTail: () => messages.tail,
    stop: () => {
      stopping ??= endChild(child, exited);
      return stopping;
    },
  };
}

async function endChild(child: ChildProcess, exited: Promise<ChildExit>): Promise<void> {
  for (const pipe of child.stdio) pipe?.destroy();
  signalGroup(child, 'SIGTERM');
  const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), PATIENCE_MS);
  await exited.catch(() => undefined);
  clearTimeout(timer);
}

/** The group, so that a wrapper script named as ffmpeg does not leave the real one behind. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    child.kill(signal); // the group is gone or not ours: the child itself is all there is
  }
}

/** Each living child holds one listener, so the limit on listeners moves with it: many cameras are no leak. */
function killAtExit(child: ChildProcess): () => void {
  const kill = () => signalGroup(child, 'SIGKILL');
  process.setMaxListeners(process.getMaxListeners() + 1);
  process.once('exit', kill);
  return () => {
    process.removeListener('exit', kill);
    process.setMaxListeners(process.getMaxListeners() - 1);
  };
}

function exitOf(child: ChildProcess, path: string, messages: MessageReader): Promise<ChildExit> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause: NodeJS.ErrnoException) => {
      if (child.pid === undefined) reject(cannotStart(path, cause));
    });
    // `close`, not `exit`: the last frames may still lie in the pipes when the process has ended.
    child.once('close', (code, signal) => {
      messages.end();
      resolve({ code, signal, reason: messages.reason, lastWords: messages.tail });
    });
  });
}

function cannotStart(path: string, cause: NodeJS.ErrnoException): DeviceError {
  const why = cause.code === 'ENOENT' ? 'there is no such program' : cause.message;
  return new DeviceError(`cannot start ${path}: ${why}`, {
    hint: 'install ffmpeg (apt-get install ffmpeg), or name it by FFMPEG_PATH',
    cause,
  });
}

/** Cuts standard error into lines and keeps the last telling ones. */
class MessageReader {
  tail = '';
  reason = '';
  #rest = '';
  readonly #onLog: ((line: LogLine) => void) | undefined;

  constructor(onLog: ((line: LogLine) => void) | undefined) {
    this.#onLog = onLog;
  }

  push(text: string): void {
    const lines = (this.#rest + text).split(/[\r\n]+/);
    this.#rest = (lines.pop() ?? '').slice(-LONGEST_LINE);
    for (const line of lines) this.#take(line);
  }

  end(): void {
    this.#take(this.#rest);
    this.#rest = '';
  }

  #take(text: string): void {
    if (text === '') return;
    const line = parseLogLine(text);
    this.#onLog?.(line);
    if (line.level === 'info') return;
    this.tail = `${this.tail}${line.text}\n`.slice(-TAIL_CHARACTERS);
    if (isTelling(line)) this.reason = line.text;
  }
}
