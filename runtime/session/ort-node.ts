// Sessions of npm's onnxruntime-node, each in a thread of its own so that the event loop never blocks and two
// sessions really run side by side.
import { Worker } from 'node:worker_threads';
import { disableTelemetry } from './no-telemetry.ts';
import { openError, runError } from './ort-errors.ts';
import type { FromWorker, ToWorker } from './ort-messages.ts';
import type {
  InputArray,
  Placement,
  PreparedSession,
  Provider,
  RunResult,
  Session,
  SessionInput,
  SessionOptions,
} from './session.ts';
import { providerName } from './session.ts';

/** Node 20 loads no TypeScript in a worker: from the sources, the built worker is used (`npm run build`). */
function workerUrl(): URL {
  const built = import.meta.url.endsWith('.ts')
    ? '../../dist/runtime/session/ort-worker.js'
    : './ort-worker.js';
  return new URL(built, import.meta.url);
}

interface Waiting {
  resolve(result: RunResult): void;
  reject(error: Error): void;
}

class OrtNodeSession implements Session {
  readonly provider: string;
  readonly placement?: Placement;
  readonly outputNames: readonly string[];
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #nextId = 0;
  #closed = false;

  constructor(worker: Worker, provider: Provider, outputNames: readonly string[]) {
    this.#worker = worker;
    this.provider = providerName(provider);
    if (provider.kind !== 'cpu') this.placement = { proof: 'fallback-disabled' };
    this.outputNames = outputNames;
    this.#ended = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.on('message', (message: FromWorker) => this.#receive(message));
    worker.on('error', (error) => this.#failAll(error));
    worker.on('exit', () => this.#failAll(new Error('the inference thread ended')));
  }

  #receive(message: FromWorker): void {
    if (message.type === 'opened' || message.id === undefined) return;
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.type === 'failed') {
      waiting?.reject(runError(message.message));
    } else {
      const { input, inferenceMs } = message;
      waiting?.resolve({ outputs: new Map(message.outputs), input, inferenceMs });
    }
  }

  #failAll(error: Error): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }

  run(input: InputArray, spec: SessionInput): Promise<RunResult> {
    if (this.#closed) return Promise.reject(new Error('the session is closed'));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const message: ToWorker = { type: 'run', id, input, spec };
      this.#worker.postMessage(message, [input.buffer]);
    });
  }

  async close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.#worker.postMessage({ type: 'close' } satisfies ToWorker);
    }
    await this.#ended;
  }
}

/** A thread loads the runtime at once. */
export function prepareOrtNodeSession(): PreparedSession {
  disableTelemetry();
  // Options of the program are not handed on: a condition that resolves to sources would break the built worker.
  const worker = new Worker(workerUrl(), { execArgv: [] });
  const close = () => worker.postMessage({ type: 'close' } satisfies ToWorker);
  let opened = false;
  return {
    async open(model, modelName, options) {
      opened = true;
      const reply = await openIn(worker, model, options);
      if (reply.type === 'opened') {
        return new OrtNodeSession(worker, options.provider, reply.outputNames);
      }
      close();
      throw openError(
        reply.type === 'failed' ? reply.message : 'unexpected answer',
        modelName,
        options.provider,
      );
    },
    discard() {
      if (!opened) close();
    },
  };
}

/** Opens a session in a new thread: see `PreparedSession.open`. */
export function openOrtNodeSession(
  model: Uint8Array,
  modelName: string,
  options: SessionOptions,
): Promise<Session> {
  return prepareOrtNodeSession().open(model, modelName, options);
}

function openIn(worker: Worker, model: Uint8Array, options: SessionOptions): Promise<FromWorker> {
  const copy = new Uint8Array(model); // the original may be needed for a second session
  const answer = new Promise<FromWorker>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the inference thread ended with code ${code}`)));
  });
  const open: ToWorker = {
    type: 'open',
    model: copy,
    provider: options.provider,
    threads: options.threads,
    ...(options.externalDataFolder === undefined ? {} : { externalDataFolder: options.externalDataFolder }),
  };
  worker.postMessage(open, [copy.buffer]);
  return answer;
}
