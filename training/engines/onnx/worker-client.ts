// The engine's side of one worker thread: questions out, answers in.
import { Worker } from 'node:worker_threads';
import { DeviceError, ModelError } from '#core';
import { disableTelemetry } from '#runtime';
import type { FlatArray, FromWorker, ToWorker } from './messages.ts';

export interface Answer {
  readonly tensors: readonly FlatArray[];
  readonly returned: readonly FlatArray[];
}

type Question = Extract<ToWorker, { readonly id: number }>;
/** A question without its number, which the client gives. */
export type Asked = Question extends infer Each ? (Each extends Question ? Omit<Each, 'id'> : never) : never;

export interface WorkerClient {
  /** @throws ModelError in the runtime's words, DeviceError for a provider that cannot be used */
  ask(
    question: Asked,
    transfer?: readonly ArrayBuffer[],
  ): { readonly id: number; readonly answer: Promise<Answer> };
  tell(message: Extract<ToWorker, { type: 'discard' | 'drop' }>): void;
  close(): Promise<void>;
}

interface Waiting {
  readonly question: Asked['type'];
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** Node 20 loads no TypeScript in a worker: from the sources, the built worker is used (`npm run build`). */
function workerUrl(): URL {
  const built = import.meta.url.endsWith('.ts')
    ? '../../../dist/training/engines/onnx/worker.js'
    : './worker.js';
  return new URL(built, import.meta.url);
}

export function startWorker(): WorkerClient {
  disableTelemetry();
  // Options of the program are not handed on: a condition that resolves to sources would break the built worker.
  const worker = new Worker(workerUrl(), { execArgv: [] });
  const waiting = new Map<number, Waiting>();
  let nextId = 0;
  let closed = false;
  let failure: Error | undefined;
  const failAll = (error: Error) => {
    failure = error;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve());
  });
  worker.on('error', failAll);
  worker.on('exit', () => failAll(new Error('the training thread ended')));
  worker.on('message', (message: FromWorker) => {
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.type === 'done') asked?.resolve(message);
    else asked?.reject(toError(asked.question, message.message));
  });
  const send = (message: ToWorker, transfer: readonly ArrayBuffer[] = []) =>
    worker.postMessage(message, [...transfer]);
  return {
    ask(question, transfer) {
      const id = nextId++;
      const answer = new Promise<Answer>((resolve, reject) => {
        if (closed) return reject(new Error('the training engine is closed'));
        if (failure !== undefined) return reject(failure);
        waiting.set(id, { question: question.type, resolve, reject });
        return send({ ...question, id }, transfer);
      });
      return { id, answer };
    },
    tell: (message) => send(message),
    async close() {
      if (!closed) {
        closed = true;
        send({ type: 'close' });
      }
      await ended;
    },
  };
}

function toError(question: Asked['type'], message: string): Error {
  const line = message.split('\n', 1)[0]?.trim() ?? '';
  if (question === 'probe') {
    return new DeviceError(`training cannot run there: ${line}`, {
      hint: '`edge-detect devices` shows what is usable; device=cpu always works',
    });
  }
  return new ModelError(`the trainable part failed while running (${question}): ${line}`, {
    hint: 'try another freeze level; a smaller batch needs less memory',
  });
}
