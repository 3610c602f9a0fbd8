// The protocol over gRPC: tensors as raw bytes beside the messages.
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import type { KServeAddress } from './address.ts';
import { packNumbers } from './datatypes.ts';
import {
  GRPCInferenceService,
  type InferParameterSchema,
  type InferTensorContents,
  type ModelInferResponse,
} from './proto/kserve_pb.ts';
import type { InferRequest, MemoryPart, OutputTensor, Transport } from './transport.ts';
import { type FaultKind, MAX_ANSWER_BYTES, TransportFault } from './transport.ts';

const { method } = GRPCInferenceService;

const CHANNEL: grpc.ChannelOptions = {
  'grpc.max_receive_message_length': MAX_ANSWER_BYTES,
  'grpc.max_send_message_length': -1,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 5000,
  // A server that comes back is found within a second, however long it was away.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // A connection that was given up is not found again in a pool.
  'grpc.use_local_subchannel_pool': 1,
};

export function createGrpcTransport(address: KServeAddress): Transport {
  const calls = new Calls(address);
  const model = { name: address.model, version: address.version };
  return {
    live: async (limitMs) => (await calls.call(method.serverLive, {}, limitMs)).live,
    modelReady: async (limitMs) => (await calls.call(method.modelReady, model, limitMs)).ready,
    describeServer: (limitMs) => calls.call(method.serverMetadata, {}, limitMs),
    async describeModel(version, limitMs) {
      const answer = await calls.call(method.modelMetadata, { ...model, version }, limitMs);
      return { ...answer, inputs: answer.inputs.map(describe), outputs: answer.outputs.map(describe) };
    },
    maxBatchSize: async (limitMs) =>
      (await calls.call(method.modelConfig, model, limitMs)).config?.maxBatchSize ?? 0,
    async infer(request, limitMs) {
      const answer = await calls.call(method.modelInfer, toMessage(address, request), limitMs);
      return readAnswer(answer, request);
    },
    async registerMemory(region, key, byteLength, limitMs) {
      const message = { name: region, key, byteSize: BigInt(byteLength) };
      await calls.call(method.systemSharedMemoryRegister, message, limitMs);
    },
    async unregisterMemory(region, limitMs) {
      await calls.call(method.systemSharedMemoryUnregister, { name: region }, limitMs);
    },
    get losses() {
      return calls.losses;
    },
    reconnect: () => calls.reconnect(),
    close: () => calls.close(),
  };
}

/** Unary calls by the descriptions of the generated service, without a generated client. */
class Calls {
  readonly #address: KServeAddress;
  readonly #metadata = new grpc.Metadata();
  #client: grpc.Client;
  losses = 0;

  constructor(address: KServeAddress) {
    this.#address = address;
    if (address.authorization !== undefined) this.#metadata.set('authorization', address.authorization);
    this.#client = this.#connect();
  }

  #connect(): grpc.Client {
    const { host, port, tls } = this.#address;
    const credentials = tls ? grpc.credentials.createSsl() : grpc.credentials.createInsecure();
    const client = new grpc.Client(`${host}:${port}`, credentials, CHANNEL);
    this.#watch(client.getChannel());
    return client;
  }

  #watch(channel: ReturnType<grpc.Client['getChannel']>): void {
    const state = channel.getConnectivityState(false);
    if (state === grpc.connectivityState.SHUTDOWN) return;
    channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, (error) => {
      if (error) return;
      if (state === grpc.connectivityState.READY) this.losses++;
      this.#watch(channel);
    });
  }

  call<Input extends DescMessage, Output extends DescMessage>(
    description: DescMethodUnary<Input, Output>,
    message: MessageInitShape<Input>,
    limitMs: number,
  ): Promise<MessageShape<Output>> {
    const { input, output, name, parent } = description;
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        `/${parent.typeName}/${name}`,
        (value: MessageShape<Input>) => Buffer.from(toBinary(input, value).buffer),
        (bytes: Buffer) => fromBinary(output, bytes),
        create(input, message) as MessageShape<Input>,
        this.#metadata,
        { deadline: Date.now() + limitMs },
        (error, answer) => {
          if (error !== null) reject(faultOf(error));
          else if (answer === undefined) reject(new TransportFault('garbled', `${name} was not answered`));
          else resolve(answer);
        },
      );
    });
  }

  reconnect(): void {
    this.#client.close();
    this.#client = this.#connect();
  }

  close(): void {
    this.#client.close();
  }
}

const KINDS: Readonly<Record<number, FaultKind>> = {
  [grpc.status.UNAVAILABLE]: 'unreachable',
  [grpc.status.CANCELLED]: 'unreachable',
  [grpc.status.DEADLINE_EXCEEDED]: 'late',
  [grpc.status.NOT_FOUND]: 'absent',
};

/** Of a server that speaks no gRPC, or of its answer that is no message. */
const FOREIGN = /protocol error|message parsing error|http2|HTTP\/2/i;

function faultOf(error: grpc.ServiceError): TransportFault {
  const { code, details } = error;
  // Node drops a message that ends with a blank, as some of Triton's do.
  const plain = details.replace(
    /^No connection established\. Last error: (Error: )?|\s*Resolution note:.*$/gs,
    '',
  );
  const words =
    plain.trim().replace(/\.$/, '').split('\n', 1)[0] ||
    `${grpc.status[code]}, without a word that could be read`;
  if (FOREIGN.test(words)) return new TransportFault('garbled', words, error);
  return new TransportFault(KINDS[code] ?? 'refused', words, error);
}

function describe({ name, datatype, shape }: { name: string; datatype: string; shape: bigint[] }) {
  return { name, datatype, shape: shape.map(Number) };
}

type Parameters = Record<string, MessageInitShape<typeof InferParameterSchema>>;

function memoryParameters({ region, offset, byteLength }: MemoryPart): Parameters {
  return {
    shared_memory_region: { parameterChoice: { case: 'stringParam', value: region } },
    shared_memory_offset: { parameterChoice: { case: 'int64Param', value: BigInt(offset) } },
    shared_memory_byte_size: { parameterChoice: { case: 'int64Param', value: BigInt(byteLength) } },
  };
}

function toMessage(address: KServeAddress, { input, outputs }: InferRequest) {
  const { name, datatype, shape } = input;
  const tensor = { name, datatype, shape: shape.map(BigInt) };
  return {
    modelName: address.model,
    modelVersion: address.version,
    inputs: ['memory' in input ? { ...tensor, parameters: memoryParameters(input.memory) } : tensor],
    outputs: outputs.map((output) => ({
      name: output.name,
      ...(output.memory && { parameters: memoryParameters(output.memory) }),
    })),
    rawInputContents: 'bytes' in input ? [joined(input.bytes)] : [],
  };
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  return only !== undefined && parts.length === 1 ? only : Buffer.concat(parts);
}

/** Raw contents follow the order of the outputs; those in shared memory have empty ones. */
function readAnswer(
  { outputs, rawOutputContents }: ModelInferResponse,
  request: InferRequest,
): OutputTensor[] {
  const inMemory = new Set(request.outputs.filter(({ memory }) => memory).map(({ name }) => name));
  return outputs.map((output, place) => {
    const { name, datatype, contents } = output;
    const tensor = { name, datatype, shape: output.shape.map(Number) };
    if (inMemory.has(name)) return tensor;
    const bytes = rawOutputContents[place] ?? (contents && typedBytes(name, datatype, contents));
    return { ...tensor, ...(bytes && { bytes }) };
  });
}

function typedBytes(name: string, datatype: string, contents: InferTensorContents): Uint8Array {
  const { fp32Contents, fp64Contents, intContents, int64Contents, uintContents } = contents;
  const lists = [fp32Contents, fp64Contents, intContents, int64Contents.map(Number), uintContents];
  return packNumbers(name, datatype, lists.find((list) => list.length > 0) ?? []);
}
