// TensorRT's own builder program: found, asked what it is and what it runs on, and run so that it ends when asked to.
import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { DeviceError } from '#core';
import { parseTensorrtVersion, type TensorrtVersion } from './engine-command.ts';

/** Where JetPack and the Debian packages of TensorRT put it, which is on nobody's PATH. */
const USUAL_PLACE = '/usr/src/tensorrt/bin/trtexec';

/** Time between SIGTERM and SIGKILL. */
const PATIENCE_MS = 2000;
const LAST_LINES = 12;

export interface TrtexecLog {
  /** Exit code; null where a signal ended it. */
  readonly code: number | null;
  readonly endedBy: NodeJS.Signals | null;
  /** Lines marked `[E]`, the last ones. */
  readonly errors: readonly string[];
  /** Lines marked `[W]`, how often each kind came. */
  readonly warnings: { readonly int64: number; readonly other: number };
  readonly version?: TensorrtVersion;
  readonly gpu?: string;
  readonly computeCapability?: string;
}

export interface RunTrtexec {
  readonly signal?: AbortSignal;
  readonly onLine?: (line: string) => void;
}

/**
 * @param named as the user gave it; otherwise PATH, then the place where JetPack puts it
 * @returns undefined where it is not there
 * @throws DeviceError where the named program cannot be run
 */
export async function locateTrtexec(
  named?: string,
  path: string = process.env['PATH'] ?? '',
): Promise<string | undefined> {
  if (named !== undefined) {
    if (await isProgram(named)) return named;
    throw new DeviceError(`trtexec=${named} is no program that can be run`, {
      hint: `name TensorRT's trtexec, as trtexec=${USUAL_PLACE}`,
    });
  }
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  for (const candidate of [...folders.map((folder) => join(folder, 'trtexec')), USUAL_PLACE]) {
    if (await isProgram(candidate)) return candidate;
  }
  return undefined;
}

/** In words, for the message that it is not there. */
export const TRTEXEC_PLACES = `trtexec on PATH and at ${USUAL_PLACE}`;

function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/**
 * Version, GPU and compute capability. Only a build prints all three, so one of a file that is not there is begun:
 * it names its device and then fails.
 * @throws DeviceError with its own words where it names none; the reason of the signal
 */
export async function askTrtexec(
  trtexec: string,
  missing: string,
  run: RunTrtexec = {},
): Promise<Required<Pick<TrtexecLog, 'version' | 'gpu' | 'computeCapability'>>> {
  const log = await runTrtexec([trtexec, `--onnx=${missing}`], run);
  const { version, gpu, computeCapability, errors } = log;
  if (version !== undefined && gpu !== undefined && computeCapability !== undefined)
    return { version, gpu, computeCapability };
  const lacks = version === undefined ? 'which TensorRT it is of' : 'which GPU it runs on';
  throw new DeviceError(
    `${trtexec} does not say ${lacks}${errors.length > 0 ? `: ${errors.join(' / ')}` : ''}`,
    {
      hint: 'run it by hand; on a Jetson the user must be in the group video',
    },
  );
}

/** @throws DeviceError where it cannot be started; the reason of the signal, once the program has ended */
export async function runTrtexec(
  [program = '', ...args]: readonly string[],
  { signal, onLine }: RunTrtexec = {},
): Promise<TrtexecLog> {
  signal?.throwIfAborted();
  // A group of its own, so that a wrapper script does not leave the real one behind.
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const reader = new LogReader(onLine);
  const send = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // It has ended already.
    }
  };
  let timer: NodeJS.Timeout | undefined;
  const stop = () => {
    send('SIGTERM');
    timer ??= setTimeout(() => send('SIGKILL'), PATIENCE_MS);
  };
  const atExit = () => send('SIGKILL');
  process.once('exit', atExit);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => reader.take(line));
    const end = await new Promise<Pick<TrtexecLog, 'code' | 'endedBy'>>((resolve, reject) => {
      child.once('error', (cause) => reject(cannotStart(program, cause)));
      child.once('close', (code, endedBy) => resolve({ code, endedBy }));
    });
    signal?.throwIfAborted();
    return { ...end, ...reader.facts() };
  } finally {
    clearTimeout(timer);
    process.removeListener('exit', atExit);
    signal?.removeEventListener('abort', stop);
  }
}

function cannotStart(program: string, cause: Error): DeviceError {
  return new DeviceError(`cannot start ${program}: ${cause.message}`, {
    hint: `name TensorRT's trtexec, as trtexec=${USUAL_PLACE}`,
    cause,
  });
}

/** Keeps what is telling of a log of thousands of lines. */
class LogReader {
  #errors: string[] = [];
  #int64 = 0;
  #other = 0;
  #version: TensorrtVersion | undefined;
  #gpu: string | undefined;
  #computeCapability: string | undefined;
  readonly #onLine: ((line: string) => void) | undefined;

  constructor(onLine: ((line: string) => void) | undefined) {
    this.#onLine = onLine;
  }

  take(line: string): void {
    this.#onLine?.(line);
    this.#version ??= parseTensorrtVersion(line);
    this.#gpu ??= /\] Selected Device: (.+?)\s*$/.exec(line)?.[1];
    this.#computeCapability ??= /\] Compute Capability: (\d+\.\d+)/.exec(line)?.[1];
    if (/\[E\]/.test(line)) {
      const text = line.replace(/^.*\[E\]\s*(\[TRT\]\s*)?/, '');
      this.#errors = [...this.#errors, text].slice(-LAST_LINES);
    }
    if (!/\[W\]/.test(line)) return;
    if (/INT64/i.test(line)) this.#int64++;
    else this.#other++;
  }

  facts(): Omit<TrtexecLog, 'code' | 'endedBy'> {
    return {
      errors: this.#errors,
      warnings: { int64: this.#int64, other: this.#other },
      ...(this.#version && { version: this.#version }),
      ...(this.#gpu !== undefined && { gpu: this.#gpu }),
      ...(this.#computeCapability !== undefined && { computeCapability: this.#computeCapability }),
    };
  }
}
