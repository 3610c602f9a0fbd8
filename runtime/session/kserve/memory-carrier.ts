// Tensors through the memory of this machine (Triton's extension `system_shared_memory`): a file in /dev/shm that the
// server maps. Only names and places go over the connection.
import { randomUUID } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import type { KServeAddress } from './address.ts';
import type { Carrier } from './carrier.ts';
import { bytesPerElement, elementsOf } from './datatypes.ts';
import type { ServedModel } from './served-model.ts';
import type { InferRequest, OutputRequest, OutputTensor, TensorDescription, Transport } from './transport.ts';
import { TransportFault } from './transport.ts';

const FOLDER = '/dev/shm';
const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

/** Whether the server could be on this machine and look into its memory. */
export function mayShareMemory({ host }: KServeAddress, extensions: readonly string[]): boolean {
  return process.platform === 'linux' && LOOPBACK.test(host) && extensions.includes('system_shared_memory');
}

interface Region {
  readonly name: string;
  readonly descriptor: number;
  readonly byteLength: number;
  /** Of the transport when the server was told: a server that was started again has forgotten. */
  readonly losses: number;
}

export class MemoryCarrier implements Carrier {
  readonly #served: ServedModel;
  readonly #transport: Transport;
  #region: Region | undefined;
  /** Regions that the server may still write into, for requests that were given up. */
  readonly #abandoned: string[] = [];
  #underWay = false;
  /** Where the outputs of the request under way are written. */
  #places: readonly OutputRequest[] = [];

  constructor(served: ServedModel, transport: Transport) {
    this.#served = served;
    this.#transport = transport;
  }

  /** @throws TransportFault where the server cannot see the memory of this machine */
  async probe(limitMs: number): Promise<void> {
    this.#region = await this.#share(4096, limitMs);
  }

  async pack(parts: readonly Uint8Array[], shape: readonly number[], limitMs: number): Promise<InferRequest> {
    const inputLength = parts.reduce((sum, part) => sum + part.length, 0);
    const lengths = this.#served.outputs.map((output) => lengthOf(output, shape[0] ?? 1));
    const needed = lengths.reduce<number>((sum, length) => sum + (length ?? 0), inputLength);
    const region = await this.#regionOf(needed, limitMs);
    this.#underWay = true;
    let offset = 0;
    for (const part of parts) offset += writeSync(region.descriptor, part, 0, part.length, offset);
    const outputs = this.#served.outputs.map(({ name }, place): OutputRequest => {
      const byteLength = lengths[place];
      if (byteLength === undefined) return { name };
      const memory = { region: region.name, offset, byteLength };
      offset += byteLength;
      return { name, memory };
    });
    const { name, datatype } = this.#served.input;
    const memory = { region: region.name, offset: 0, byteLength: inputLength };
    this.#places = outputs;
    return { input: { name, datatype, shape, memory }, outputs };
  }

  unpack(outputs: readonly OutputTensor[]): readonly OutputTensor[] {
    const places = new Map(this.#places.map(({ name, memory }) => [name, memory]));
    const read = outputs.map((output) => {
      const place = places.get(output.name);
      if (output.bytes !== undefined || place === undefined || this.#region === undefined) return output;
      const length = elementsOf(output.shape) * bytesPerElement(output);
      if (length > place.byteLength) {
        throw new TransportFault('garbled', `the output ${output.name} is larger than its description`);
      }
      const bytes = new Uint8Array(length);
      readSync(this.#region.descriptor, bytes, 0, length, place.offset);
      return { ...output, bytes };
    });
    this.#underWay = false;
    return read;
  }

  async close(): Promise<void> {
    const { losses } = this.#transport;
    const names = this.#region?.losses === losses ? [...this.#abandoned, this.#region.name] : [];
    if (this.#region !== undefined) closeSync(this.#region.descriptor);
    this.#region = undefined;
    for (const name of names) {
      await this.#transport.unregisterMemory(name, 1000).catch(() => undefined); // it may be gone, and with it the region
    }
  }

  async #regionOf(needed: number, limitMs: number): Promise<Region> {
    const known = this.#region;
    const isCurrent = known?.losses === this.#transport.losses;
    // A request that was given up may still be answered, into the memory that it was told of.
    if (known !== undefined && isCurrent && !this.#underWay && known.byteLength >= needed) return known;
    if (known !== undefined) {
      closeSync(known.descriptor);
      this.#region = undefined;
      if (!isCurrent) this.#abandoned.length = 0;
      else if (this.#underWay) this.#abandoned.push(known.name);
      else await this.#transport.unregisterMemory(known.name, limitMs);
    }
    this.#region = await this.#share(needed, limitMs);
    this.#underWay = false;
    return this.#region;
  }

  /** The file has no name any more once the server has it: nothing stays behind, however the program ends. */
  async #share(byteLength: number, limitMs: number): Promise<Region> {
    const name = `edge-detect-${randomUUID()}`;
    const path = `${FOLDER}/${name}`;
    const { losses } = this.#transport;
    const descriptor = openSync(path, 'wx+', 0o600);
    try {
      ftruncateSync(descriptor, byteLength);
      await this.#transport.registerMemory(name, `/${name}`, byteLength, limitMs);
      return { name, descriptor, byteLength, losses };
    } catch (error) {
      closeSync(descriptor);
      throw error;
    } finally {
      unlinkSync(path);
    }
  }
}

/** Bytes of an output for so many rows; undefined where the description leaves an axis open. */
function lengthOf(output: TensorDescription, rows: number): number | undefined {
  const [first = 1, ...rest] = output.shape;
  if (rest.some((axis) => axis < 0)) return undefined;
  return (first < 0 ? rows : first) * elementsOf(rest) * bytesPerElement(output);
}
