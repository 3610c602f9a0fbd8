// Sessions on an inference server (KServe v2, the Open Inference Protocol). All of one model share a connection, so that
// what they have to run at the same time can go together.
import { DeviceError, formatShape, ModelError } from '#core';
import type { InputArray, PreparedSession, RunResult, Session, SessionInput } from '../session.ts';
import { type KServeAddress, parseAddress } from './address.ts';
import { createMessageCarrier } from './carrier.ts';
import { elementsOf, toInputBytes } from './datatypes.ts';
import { Link, type Served } from './link.ts';
import { MemoryCarrier, mayShareMemory } from './memory-carrier.ts';
import { RequestQueue } from './request-queue.ts';
import { expectedOf, matchServed, type ServedModel } from './served-model.ts';
import { type TensorDescription, type Transport, TransportFault } from './transport.ts';

/**
 * Connections that are being made; the model can follow while they are.
 * @param url as `parseAddress` takes it
 * @param count sessions that share one connection
 * @throws ConfigError for what is no such address
 */
export function prepareKServeSessions(url: string, count: number): readonly PreparedSession[] {
  const address = parseAddress(url);
  const connection = new Connection(address, count);
  return Array.from({ length: count }, () => {
    let ended = false;
    const end = async () => {
      if (ended) return;
      ended = true;
      await connection.leave();
    };
    let opened = false;
    return {
      async open(model, modelName, { taps = [] }) {
        opened = true;
        try {
          const { queue, served, provider } = await connection.open(model, modelName, taps);
          return new KServeSession(queue, served, provider, end);
        } catch (error) {
          await end();
          throw error;
        }
      },
      discard() {
        if (!opened) void end();
      },
    };
  });
}

interface Opened {
  readonly queue: RequestQueue;
  readonly served: ServedModel;
  readonly provider: string;
}

/** One connection for all sessions of a model; it ends with the last of them. */
class Connection {
  readonly #address: KServeAddress;
  readonly #link: Promise<Link>;
  readonly #found: Promise<Served>;
  #opened: Promise<Opened> | undefined;
  #users: number;

  constructor(address: KServeAddress, users: number) {
    this.#address = address;
    this.#users = users;
    this.#link = createTransport(address).then((transport) => new Link(address, transport));
    this.#found = this.#link.then((link) => link.open());
    this.#found.catch(() => undefined); // met by whoever opens
  }

  open(model: Uint8Array, modelName: string, taps: readonly string[]): Promise<Opened> {
    this.#opened ??= this.#match(model, modelName, taps);
    return this.#opened;
  }

  async #match(model: Uint8Array, modelName: string, taps: readonly string[]): Promise<Opened> {
    const found = await this.#found;
    const { name, version, parallel } = this.#address;
    const served = matchServed(found.model, expectedOf(modelName, model), { where: name, modelName, taps });
    const batch = served.freeBatch ? Math.min(this.#address.batch, found.maxBatchSize || Infinity) : 1;
    const outputNames = served.outputs.map((output) => output.name);
    const link = await this.#link;
    const shared = await this.#shareMemory(served, found.server.extensions, link.transport);
    const carriers = shared ?? Array.from({ length: parallel }, () => createMessageCarrier(served));
    const newest = version || found.model.versions.at(-1) || 'unnamed';
    const { server } = found;
    const words = [
      `${server.name} ${server.version}`,
      `model version ${newest}`,
      ...(shared ? ['shared memory'] : []),
    ];
    return {
      queue: new RequestQueue(this.#address, link, { carriers, batch, outputNames }),
      served,
      provider: `${name} (${words.join(', ')})`,
    };
  }

  /**
   * @returns undefined where `auto` finds that the server cannot see this memory
   * @throws DeviceError where it cannot and was asked to
   */
  async #shareMemory(
    served: ServedModel,
    extensions: readonly string[],
    transport: Transport,
  ): Promise<readonly MemoryCarrier[] | undefined> {
    const { sharedMemory, name, parallel, deadlineMs } = this.#address;
    const refuse = (why: string, cause?: unknown) => {
      if (sharedMemory !== 'on') return undefined;
      throw new DeviceError(`${name}: no memory can be shared with the server: ${why}`, {
        hint: 'run it on this machine with the same /dev/shm (docker run --ipc=host), or leave shm=on away',
        cause,
      });
    };
    if (sharedMemory === 'off') return undefined;
    if (!mayShareMemory(this.#address, extensions)) {
      return refuse('it is not on this machine (localhost), or lacks the extension system_shared_memory');
    }
    const carriers = Array.from({ length: parallel }, () => new MemoryCarrier(served, transport));
    try {
      await Promise.all(carriers.map((carrier) => carrier.probe(deadlineMs)));
      return carriers;
    } catch (error) {
      await Promise.all(carriers.map((carrier) => carrier.close()));
      if (!(error instanceof TransportFault)) throw error;
      return refuse(error.message, error);
    }
  }

  async leave(): Promise<void> {
    this.#users--;
    if (this.#users > 0) return;
    await this.#opened?.then(
      ({ queue }) => queue.close(),
      () => undefined,
    );
    (await this.#link).transport.close();
  }
}

/** Only what is used is loaded: every command comes by here. */
async function createTransport(address: KServeAddress): Promise<Transport> {
  if (address.protocol === 'grpc') return (await import('./grpc-transport.ts')).createGrpcTransport(address);
  return (await import('./http-transport.ts')).createHttpTransport(address);
}

class KServeSession implements Session {
  readonly provider: string;
  readonly outputNames: readonly string[];
  readonly #queue: RequestQueue;
  readonly #served: ServedModel;
  readonly #end: () => Promise<void>;
  /** Settles when every run so far is answered: runs are answered in order. */
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(queue: RequestQueue, served: ServedModel, provider: string, end: () => Promise<void>) {
    this.provider = provider;
    this.outputNames = served.outputs.map(({ name }) => name);
    this.#queue = queue;
    this.#served = served;
    this.#end = end;
  }

  async run(input: InputArray, { name, shape }: SessionInput): Promise<RunResult> {
    if (this.#closed) throw new Error('the session is closed');
    const served = this.#served.input;
    checkInput(input, { name, shape }, served);
    const taken = takeMemory(input);
    const before = this.#last;
    const answer = this.#queue.submit(toInputBytes(taken, served.datatype), shape);
    this.#last = answer.then(
      () => before,
      () => before,
    );
    await Promise.allSettled([answer, before]);
    const { outputs, requestMs } = await answer;
    return { outputs, input: taken, inferenceMs: requestMs };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
    await this.#end();
  }
}

/** @throws ModelError for what the server would not know how to read */
function checkInput(input: InputArray, { name, shape }: SessionInput, served: TensorDescription): void {
  const fail = (what: string) => {
    throw new ModelError(`the model failed while running: ${what}`, {
      hint: '`edge-detect inspect model=…` shows what the file expects',
    });
  };
  if (name !== served.name) fail(`it has no input ${name}, it has ${served.name}`);
  const isUint8 = input instanceof Uint8Array;
  if (isUint8 !== (served.datatype === 'UINT8')) {
    fail(`its input ${name} is ${served.datatype}, not ${isUint8 ? 'UINT8' : 'FP32'}`);
  }
  if (elementsOf(shape) !== input.length) {
    fail(
      `its input ${name} came with ${input.length} elements, ${formatShape(shape)} has ${elementsOf(shape)}`,
    );
  }
}

/** The memory moves to the session, as it does to one in a thread: nobody writes into it meanwhile. */
function takeMemory(input: InputArray): InputArray {
  return structuredClone(input, { transfer: [input.buffer] });
}
