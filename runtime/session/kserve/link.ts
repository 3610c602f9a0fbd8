// The way to one served model: opened with checks, tried again while a server is away, and checked anew when it is back.
import { setTimeout as sleep } from 'node:timers/promises';
import { DeviceError, ModelError } from '#core';
import type { KServeAddress } from './address.ts';
import type {
  InferRequest,
  ModelDescription,
  OutputTensor,
  ServerDescription,
  Transport,
} from './transport.ts';
import { TransportFault } from './transport.ts';

/** What was found on the other side. */
export interface Served {
  readonly server: ServerDescription;
  readonly model: ModelDescription;
  /** 0 where the server sets no bound of its own. */
  readonly maxBatchSize: number;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

export class Link {
  readonly transport: Transport;
  readonly #address: KServeAddress;
  /** As first described; a server that comes back must say the same. */
  #known: string | undefined;
  /** Nothing is known of the server since a call failed. */
  #inDoubt = false;
  /** Connections that had ended when the model was last found as it was. */
  #losses = 0;

  constructor(address: KServeAddress, transport: Transport) {
    this.#address = address;
    this.transport = transport;
  }

  /** @throws DeviceError where the server or its model is not there, not ready, or not what it should be */
  async open(): Promise<Served> {
    const limitMs = this.#address.deadlineMs;
    try {
      if (!(await this.transport.live(limitMs))) throw new TransportFault('unreachable', 'it is not live');
      const server = await this.transport.describeServer(limitMs);
      const model = await this.#describeReady(limitMs);
      this.#losses = this.transport.losses;
      this.#known = JSON.stringify(model);
      const configured = server.extensions.includes('model_configuration');
      const maxBatchSize = configured ? await this.transport.maxBatchSize(limitMs) : 0;
      return { server, model, maxBatchSize };
    } catch (error) {
      throw openError(this.#address, error);
    }
  }

  async #describeReady(limitMs: number): Promise<ModelDescription> {
    const { version, model } = this.#address;
    const asked = version === '' ? model : `${model} version ${version}`;
    const ready = await this.transport.modelReady(limitMs).catch((error: unknown) => {
      if (error instanceof TransportFault && ['absent', 'refused'].includes(error.kind)) return false;
      throw error;
    });
    if (ready) return this.transport.describeModel(version, limitMs);
    // Why it is not: the server's own words, and the versions that it has.
    const { versions } = await this.transport.describeModel('', limitMs);
    throw new TransportFault(
      'absent',
      `${asked} is not ready (it has version ${versions.join(', ') || 'none'})`,
    );
  }

  /**
   * @param deadline in `performance.now()` time
   * @param make makes the request anew for every attempt, since a server that was away has forgotten its memory regions
   * @throws DeviceError when the deadline has passed or the server came back with another model, ModelError where the
   * server refuses
   */
  async infer(
    deadline: number,
    make: (limitMs: number) => Promise<InferRequest>,
  ): Promise<readonly OutputTensor[]> {
    let last: unknown;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const left = deadline - performance.now();
      if (left < 1) throw runError(this.#address, last);
      try {
        if (this.#inDoubt || this.#losses !== this.transport.losses) await this.#check(left);
        return await this.transport.infer(await make(left), deadline - performance.now());
      } catch (error) {
        if (!(error instanceof TransportFault)) throw error;
        last = error.kind === 'late' ? (last ?? error) : error;
        this.#meet(error);
      }
      await sleep(Math.max(0, Math.min(pause, deadline - performance.now())));
    }
  }

  /** @throws DeviceError or ModelError for a fault that time does not mend */
  #meet(fault: TransportFault): void {
    if (fault.kind === 'late') {
      // What is late may have gone into a connection whose other end is gone without a word.
      if (!this.#inDoubt) this.transport.reconnect();
    } else if (fault.kind !== 'unreachable') {
      throw runError(this.#address, fault);
    }
    this.#inDoubt = true;
  }

  async #check(limitMs: number): Promise<void> {
    const { losses } = this.transport;
    // A server that was started again loads its models first.
    const model = await this.#describeReady(limitMs).catch((error: unknown) => {
      if (!(error instanceof TransportFault)) throw error;
      throw new TransportFault(error.kind === 'absent' ? 'unreachable' : error.kind, error.message, error);
    });
    if (JSON.stringify(model) !== this.#known) {
      throw new DeviceError(`${this.#address.name}: the server came back with another model`, {
        hint: 'start the stream again; it checks the model when it opens',
      });
    }
    this.#inDoubt = false;
    this.#losses = losses;
  }
}

function openError({ name, host, port, protocol }: KServeAddress, error: unknown): unknown {
  if (!(error instanceof TransportFault)) return error;
  const { kind, message } = error;
  const at = `${host}:${port}`;
  const details = { hint: HINTS[protocol], cause: error };
  switch (kind) {
    case 'unreachable':
      return new DeviceError(`${name}: no inference server answers at ${at} (${message})`, details);
    case 'late':
      return new DeviceError(`${name}: the server at ${at} does not answer (${message})`, details);
    case 'garbled':
      return new DeviceError(`${name}: what answers at ${at} is no inference server (${message})`, details);
    case 'absent':
    case 'refused':
      return new DeviceError(`${name}: the server at ${at} does not serve this model: ${message}`, {
        hint: 'check the name and the version behind the port, and that the server has loaded the model',
        cause: error,
      });
    default:
      return kind satisfies never;
  }
}

const HINTS = {
  grpc: 'start the server and check host and port: kserve:// speaks gRPC (port 8001 of Triton), kserve+http:// HTTP (port 8000)',
  http: 'start the server and check host and port: kserve+http:// speaks HTTP (port 8000 of Triton), kserve:// gRPC (port 8001)',
} as const;

/** @param cause what the last attempt met; undefined where there was time for none */
export function runError({ name, deadlineMs }: KServeAddress, cause: unknown): Error {
  const { kind = 'late', message = 'no time was left for it' } = cause instanceof TransportFault ? cause : {};
  if (kind === 'refused' || kind === 'absent') {
    return new ModelError(`the model failed while running on ${name}: ${message}`, {
      hint: 'see the log of the server; `edge-detect inspect model=…` shows what the file expects',
      cause,
    });
  }
  if (kind === 'garbled') {
    return new DeviceError(`${name}: an answer cannot be read: ${message}`, {
      hint: 'see what listens at that port, and the log of the server',
      cause,
    });
  }
  return new DeviceError(`${name}: no answer within ${deadlineMs} ms (${message})`, {
    hint: 'see whether the server runs and keeps up; deadline_ms= behind the address gives it longer',
    cause,
  });
}
