// Measures one model once in a fresh process: what another model left in caches and heaps touches nothing, and a crash
// ends one figure and not the command.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  ConfigError,
  DataError,
  DeviceError,
  type EdgeDetectError,
  ModelError,
  SourceError,
  UsageError,
} from '#core';
import type { BenchRun, RunRequest } from './measure-run.ts';

export interface RunAnswer {
  readonly run?: BenchRun;
  readonly fault?: { readonly kind: string; readonly message: string; readonly hint?: string };
}

const ERRORS: Readonly<Record<string, new (message: string, details: { hint: string }) => EdgeDetectError>> =
  { UsageError, ConfigError, DataError, ModelError, DeviceError, SourceError };
const MOST_WORDS = 2000;

/** As with the inference thread: from the sources, the built program is run. */
function program(): string {
  const built = import.meta.url.endsWith('.ts')
    ? '../../../dist/src/evaluate/bench/bench-process.js'
    : './bench-process.js';
  return fileURLToPath(new URL(built, import.meta.url));
}

/**
 * @throws what `measureRun` threw there; ModelError where the process died; the reason of the signal, once it is dead
 */
export async function runInProcess(request: RunRequest, signal?: AbortSignal): Promise<BenchRun> {
  signal?.throwIfAborted();
  // A group of its own: an interrupt typed at the terminal reaches this process alone, which ends the other.
  const child = fork(program(), [], {
    detached: true,
    execArgv: [],
    serialization: 'advanced', // options of a provider are a Map
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  signal?.addEventListener('abort', kill, { once: true });
  try {
    const answer = await answerOf(child, request);
    signal?.throwIfAborted();
    if (answer.run !== undefined) return answer.run;
    throw faultError(answer.fault);
  } finally {
    process.removeListener('exit', kill);
    signal?.removeEventListener('abort', kill);
  }
}

function answerOf(child: ChildProcess, request: RunRequest): Promise<RunAnswer> {
  let answer: RunAnswer | undefined;
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-MOST_WORDS);
  });
  child.on('message', (message: RunAnswer) => {
    answer = message;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, endedBy) => {
      const how = endedBy === null ? `exit code ${code}` : endedBy;
      const said = words.trim().split('\n').at(-1) ?? '';
      const message = `the process that ran it ended with ${how}${said === '' ? '' : `: ${said}`}`;
      const hint = endedBy === 'SIGKILL' ? 'memory may have run out' : 'run the model alone with `predict`';
      resolve(answer ?? { fault: { kind: 'ModelError', message: `${request.model}: ${message}`, hint } });
    });
    child.send(request, (error) => {
      if (error) child.kill('SIGKILL');
    });
  });
}

function faultError(
  { kind, message, hint = '' }: NonNullable<RunAnswer['fault']> = { kind: '', message: '' },
) {
  const Known = ERRORS[kind];
  return Known === undefined ? new Error(message) : new Known(message, { hint });
}
