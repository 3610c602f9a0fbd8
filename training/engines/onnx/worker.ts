// A thread that runs forward and backward graphs and holds the activations between them, so that they never travel.
import { MessageChannel, parentPort } from 'node:worker_threads';
import type { LocalSession, LocalTensor } from '#runtime/local-session';
import { openLocalSession } from '#runtime/local-session';
import type { Field, FlatArray, FromWorker, ProgramMessage, ToWorker } from './messages.ts';

if (parentPort === null) throw new Error('this is a worker thread and not a program');
const port = parentPort;

interface Program {
  readonly message: ProgramMessage;
  readonly forward: LocalSession;
  readonly backward: LocalSession | undefined;
}

/** What a forward pass leaves for its backward pass. */
interface Kept {
  readonly program: Program;
  readonly feed: FlatArray;
  readonly tensors: ReadonlyMap<string, LocalTensor>;
  /** Statistics of the batch. */
  readonly statistics: readonly FlatArray[];
}

const programs = new Map<string, Program>();
const states = new Map<number, Kept>();

function answer(message: FromWorker): void {
  const arrays = message.type === 'done' ? [...message.tensors, ...message.returned] : [];
  port.postMessage(message, [...new Set(arrays.map(({ buffer }) => buffer))]);
}

/** Views of the tensors that stand end to end in an array. */
function fieldsOf(flat: FlatArray, fields: readonly Field[]): Map<string, LocalTensor> {
  let offset = 0;
  return new Map(
    fields.map(({ name, shape }) => {
      const length = shape.reduce((count, size) => count * size, 1);
      const data = flat.subarray(offset, offset + length);
      offset += length;
      return [name, { shape, data }];
    }),
  );
}

function pick(tensors: ReadonlyMap<string, LocalTensor>, name: string): LocalTensor {
  const found = tensors.get(name);
  if (found === undefined) throw new Error(`there is no tensor ${name}`);
  return found;
}

async function openProgram(message: ProgramMessage): Promise<void> {
  const { provider, threads, backward, ortLibrary } = message;
  const options = { provider, threads, ...(ortLibrary !== undefined && { ortLibrary }) };
  programs.set(message.key, {
    message,
    forward: await openLocalSession(message.forward, options),
    backward: backward && (await openLocalSession(backward, options)),
  });
  answer({ type: 'done', id: message.id, tensors: [], returned: [] });
}

async function probe(message: Extract<ToWorker, { type: 'probe' }>): Promise<void> {
  const { provider, ortLibrary } = message;
  const session = await openLocalSession(message.model, {
    provider,
    threads: 1,
    ...(ortLibrary !== undefined && { ortLibrary }),
  });
  await session.run(new Map([['x', { shape: [1], data: new Float32Array(1) }]]));
  await session.release();
  answer({ type: 'done', id: message.id, tensors: [], returned: [] });
}

async function forward({ id, key, feed }: Extract<ToWorker, { type: 'forward' }>): Promise<void> {
  const program = programs.get(key);
  if (program === undefined) throw new Error(`there is no program ${key}`);
  const { outputs, kept, statistics, feed: fields } = program.message;
  const results = await program.forward.run(fieldsOf(feed, fields));
  const reread = new Set(kept);
  // An output that the backward pass reads too is copied, because the answer takes its memory away.
  const tensors = outputs.map((name) => {
    const { data } = pick(results, name);
    return reread.has(name) ? data.slice() : data;
  });
  if (program.backward === undefined) return answer({ type: 'done', id, tensors, returned: [feed] });
  states.set(id, {
    program,
    feed,
    tensors: new Map(kept.map((name) => [name, pick(results, name)])),
    statistics: statistics.map((name) => pick(results, name).data),
  });
  return answer({ type: 'done', id, tensors, returned: [] });
}

async function backward({ id, state, seeds }: Extract<ToWorker, { type: 'backward' }>): Promise<void> {
  const kept = states.get(state);
  states.delete(state);
  if (kept?.program.backward === undefined) throw new Error(`there is no forward pass ${state}`);
  const { message } = kept.program;
  const fed = fieldsOf(kept.feed, message.feed);
  const feeds = new Map(kept.tensors);
  for (const name of message.reread) feeds.set(name, pick(fed, name));
  for (const [name, tensor] of fieldsOf(seeds, message.seeds)) feeds.set(name, tensor);
  const results = await kept.program.backward.run(feeds);
  const gradients = message.results.map((name) => pick(results, name).data);
  answer({
    type: 'done',
    id,
    tensors: [...gradients, ...kept.statistics.map((values) => values.slice())],
    returned: [kept.feed, seeds],
  });
  free(kept);
}

const { port1: bin, port2: closed } = new MessageChannel();
closed.close();

/** Activations are megabytes outside the JavaScript heap: left to the collector they would pile up between its runs. */
function free({ tensors, statistics }: Kept): void {
  const arrays = [...[...tensors.values()].map(({ data }) => data), ...statistics];
  const buffers = new Set(arrays.map(({ buffer }) => buffer));
  bin.postMessage(
    undefined,
    [...buffers].filter((buffer) => buffer.byteLength > 0),
  );
}

async function drop(key: string): Promise<void> {
  const program = programs.get(key);
  programs.delete(key);
  await program?.forward.release();
  await program?.backward?.release();
}

async function handle(message: ToWorker): Promise<void> {
  switch (message.type) {
    case 'program':
      return openProgram(message);
    case 'probe':
      return probe(message);
    case 'forward':
      return forward(message);
    case 'backward':
      return backward(message);
    case 'discard': {
      const kept = states.get(message.state);
      states.delete(message.state);
      if (kept !== undefined) free(kept);
      return;
    }
    case 'drop':
      return drop(message.key);
    case 'close':
      for (const key of [...programs.keys()]) await drop(key);
      port.close();
      bin.close();
      return;
    default:
      return message satisfies never;
  }
}

// One after another: a `close` that arrives during a run waits for it.
let queue: Promise<void> = Promise.resolve();
port.on('message', (message: ToWorker) => {
  queue = queue
    .then(() => handle(message))
    .catch((error: unknown) => {
      const text = error instanceof Error ? error.message : String(error);
      answer({ type: 'failed', id: 'id' in message ? message.id : -1, message: text });
    });
});
