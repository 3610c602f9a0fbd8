// Runs wait here for one of a few requests; those that wait together go together, where the served model allows it.
import type { HeadTensor } from '#core';
import { ModelError } from '#core';
import type { KServeAddress } from './address.ts';
import type { Carrier } from './carrier.ts';
import { toHeadTensor } from './datatypes.ts';
import type { Link } from './link.ts';
import { runError } from './link.ts';
import type { OutputTensor } from './transport.ts';
import { TransportFault } from './transport.ts';

export interface QueuedAnswer {
  /** Fresh memory. */
  readonly outputs: ReadonlyMap<string, HeadTensor>;
  /** From sending the request to its answer. */
  readonly requestMs: number;
}

interface Waiting {
  readonly bytes: Uint8Array;
  readonly shape: readonly number[];
  /** In `performance.now()` time. */
  readonly deadline: number;
  resolve(answer: QueuedAnswer): void;
  reject(error: unknown): void;
}

export class RequestQueue {
  readonly #address: KServeAddress;
  readonly #link: Link;
  readonly #waiting: Waiting[] = [];
  readonly #carriers: readonly Carrier[];
  readonly #idle: Carrier[];
  readonly #outputNames: readonly string[];
  #batch: number;

  /**
   * @param carriers one for each request that may be under way
   * @param batch most runs that go as one request
   */
  constructor(
    address: KServeAddress,
    link: Link,
    options: {
      readonly carriers: readonly Carrier[];
      readonly batch: number;
      readonly outputNames: readonly string[];
    },
  ) {
    this.#address = address;
    this.#link = link;
    this.#carriers = options.carriers;
    this.#idle = [...options.carriers];
    this.#batch = options.batch;
    this.#outputNames = options.outputNames;
  }

  /** @param bytes must not change until the answer is there */
  submit(bytes: Uint8Array, shape: readonly number[]): Promise<QueuedAnswer> {
    const deadline = performance.now() + this.#address.deadlineMs;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, shape, deadline, resolve, reject });
      this.#pump();
    });
  }

  /** When every run is answered. */
  async close(): Promise<void> {
    await Promise.all(this.#carriers.map((carrier) => carrier.close()));
  }

  #pump(): void {
    while (this.#waiting.length > 0) {
      const carrier = this.#idle.pop();
      if (carrier === undefined) return;
      void this.#send(this.#take(), carrier).finally(() => {
        this.#idle.push(carrier);
        this.#pump();
      });
    }
  }

  #take(): readonly Waiting[] {
    const [first] = this.#waiting;
    const other = this.#waiting.findIndex(({ shape }) => String(shape) !== String(first?.shape));
    const alike = other === -1 ? this.#waiting.length : other;
    return this.#waiting.splice(0, Math.min(this.#batch, alike));
  }

  async #send(runs: readonly Waiting[], carrier: Carrier): Promise<boolean> {
    try {
      const started = performance.now();
      const outputs = await this.#infer(runs, carrier);
      const requestMs = performance.now() - started;
      const answers = this.#split(outputs, runs.length);
      for (const [place, run] of runs.entries()) {
        run.resolve({ outputs: answers[place] ?? new Map(), requestMs });
      }
      return true;
    } catch (error) {
      if (runs.length > 1 && error instanceof ModelError) return this.#sendSingly(runs, carrier);
      const said = error instanceof TransportFault ? runError(this.#address, error) : error;
      for (const run of runs) run.reject(said);
      return false;
    }
  }

  /**
   * What the server refused together is tried alone, so that no run pays for another. Where all pass alone, the model
   * takes one at a time, whatever its description says of its batch axis.
   */
  async #sendSingly(runs: readonly Waiting[], carrier: Carrier): Promise<boolean> {
    let passed = true;
    for (const run of runs) passed = (await this.#send([run], carrier)) && passed;
    if (passed) this.#batch = 1;
    return passed;
  }

  async #infer(runs: readonly Waiting[], carrier: Carrier): Promise<readonly OutputTensor[]> {
    const [rows = 1, ...rest] = runs[0]?.shape ?? [];
    const parts = runs.map(({ bytes }) => bytes);
    const deadline = Math.min(...runs.map((run) => run.deadline));
    const shape = [rows * runs.length, ...rest];
    return carrier.unpack(await this.#link.infer(deadline, (limitMs) => carrier.pack(parts, shape, limitMs)));
  }

  /** @throws TransportFault where an output is missing, or does not fall into so many parts */
  #split(outputs: readonly OutputTensor[], count: number): readonly ReadonlyMap<string, HeadTensor>[] {
    const byName = new Map(outputs.map((output) => [output.name, output]));
    const ordered = this.#outputNames.map((name) => {
      const output = byName.get(name);
      if (output !== undefined) return output;
      throw new TransportFault('garbled', `the output ${name} is not in the answer`);
    });
    return Array.from({ length: count }, (_, place) => {
      return new Map(ordered.map((output) => [output.name, toHeadTensor(partOf(output, place, count))]));
    });
  }
}

function partOf(output: OutputTensor, place: number, count: number): OutputTensor {
  if (count === 1) return output;
  const { name, shape, bytes = new Uint8Array(0) } = output;
  const [rows = 0, ...rest] = shape;
  const length = bytes.length / count;
  if (rows % count !== 0 || !Number.isInteger(length)) {
    throw new TransportFault('garbled', `the output ${name} of ${count} pictures has ${rows} rows`);
  }
  return {
    ...output,
    shape: [rows / count, ...rest],
    bytes: bytes.subarray(place * length, (place + 1) * length),
  };
}
