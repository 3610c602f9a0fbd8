// A thread that owns one ONNX Runtime session. `run()` of onnxruntime-node blocks the thread that calls it, so it is
// called here and never on the main thread. The thread ends by itself after `close`: ending it from outside while a
// run is under way would abort the whole process.
import { parentPort } from 'node:worker_threads';
import * as ort from 'onnxruntime-node';
import { fromHalfBits, type HeadTensor } from '#core';
import type { FromWorker, OpenMessage, RunMessage, ToWorker } from './ort-messages.ts';
import { ortSessionOptions } from './ort-options.ts';

if (parentPort === null) throw new Error('ort-worker is a worker thread and not a program');
const port = parentPort;
// The native log goes to stderr with source lines of C++; what matters comes as an error, and that one is worded.
ort.env.logLevel = 'fatal';

function sessionOptions(message: OpenMessage): ort.InferenceSession.SessionOptions {
  const { externalDataFolder } = message;
  return ortSessionOptions(
    message,
    externalDataFolder === undefined
      ? {}
      : { 'session.model_external_initializers_file_folder_path': externalDataFolder },
  );
}

function toHeadTensor(tensor: ort.Tensor): HeadTensor {
  const { data } = tensor;
  if (
    data instanceof Float32Array ||
    data instanceof Int32Array ||
    data instanceof BigInt64Array ||
    data instanceof Uint8Array
  ) {
    return { shape: tensor.dims, data };
  }
  // Bits as whole numbers up to Node 22; newer versions have an array of their own for it.
  if (data instanceof Uint16Array && tensor.type === 'float16')
    return { shape: tensor.dims, data: Float32Array.from(data, fromHalfBits) };
  if (tensor.type === 'float16')
    return { shape: tensor.dims, data: Float32Array.from(data as ArrayLike<number>) };
  if (data instanceof Float64Array) return { shape: tensor.dims, data: Float32Array.from(data) };
  throw new Error(`output type ${tensor.type} is not one that a detector head can have`);
}

function buffersOf(message: FromWorker): ArrayBuffer[] {
  if (message.type === 'failed') return message.input === undefined ? [] : [message.input.buffer];
  if (message.type !== 'result') return [];
  const buffers = new Set<ArrayBuffer>([message.input.buffer]);
  for (const [, tensor] of message.outputs) buffers.add(tensor.data.buffer as ArrayBuffer);
  return [...buffers];
}

function send(message: FromWorker): void {
  port.postMessage(message, buffersOf(message));
}

async function runOnce(session: ort.InferenceSession, message: RunMessage): Promise<void> {
  const { id, input, spec } = message;
  try {
    const started = performance.now();
    const type = input instanceof Float32Array ? 'float32' : 'uint8';
    const results = await session.run({ [spec.name]: new ort.Tensor(type, input, spec.shape) });
    const inferenceMs = performance.now() - started;
    // Read by the session's own list: a plain object would put names that look like numbers first.
    const outputs = session.outputNames.map((name): [string, HeadTensor] => {
      const tensor = results[name];
      if (tensor === undefined) throw new Error(`the runtime returned no output ${name}`);
      return [name, toHeadTensor(tensor)];
    });
    send({ type: 'result', id, input, outputs, inferenceMs });
  } catch (error) {
    send({ type: 'failed', id, message: error instanceof Error ? error.message : String(error), input });
  }
}

let session: ort.InferenceSession | undefined;

async function open(message: OpenMessage): Promise<void> {
  try {
    session = await ort.InferenceSession.create(message.model, sessionOptions(message));
    send({ type: 'opened', outputNames: session.outputNames });
  } catch (error) {
    send({ type: 'failed', message: error instanceof Error ? error.message : String(error) });
  }
}

async function handle(message: ToWorker): Promise<void> {
  if (message.type === 'open') return open(message);
  if (message.type === 'run') {
    if (session === undefined) throw new Error('run before open');
    return runOnce(session, message);
  }
  await session?.release();
  port.close();
}

// One after another: a `close` that arrives during a run waits for it.
let queue: Promise<void> = Promise.resolve();
port.on('message', (message: ToWorker) => {
  queue = queue.then(() => handle(message));
});
