// The protocol over HTTP: tensors as bytes behind the JSON where the server can (binary_tensor_data), else as numbers.
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { KServeAddress } from './address.ts';
import { packNumbers } from './datatypes.ts';
import { type ExchangeAnswer, type ExchangeRequest, exchange } from './http-exchange.ts';
import {
  arrayAt,
  integersAt,
  type JsonObject,
  objectAt,
  parseObject,
  stringAt,
  stringsAt,
  tensorAt,
} from './json-fields.ts';
import type { InferRequest, MemoryPart, OutputTensor, ServerDescription, Transport } from './transport.ts';
import { TransportFault } from './transport.ts';

const HEADER_LENGTH = 'inference-header-content-length';

export function createHttpTransport(address: KServeAddress): Transport {
  const client = new Client(address);
  const modelPath = (version: string) =>
    `/v2/models/${encodeURIComponent(address.model)}${version === '' ? '' : `/versions/${encodeURIComponent(version)}`}`;
  const model = modelPath(address.version);
  const memoryPath = (region: string, verb: string) => `/v2/systemsharedmemory/region/${region}/${verb}`;
  return {
    live: async (limitMs) => (await client.get('/v2/health/live', limitMs)).status === 200,
    modelReady: async (limitMs) => (await client.get(`${model}/ready`, limitMs)).status === 200,
    describeServer: (limitMs) => client.describeServer(limitMs),
    async describeModel(version, limitMs) {
      const answer = await client.json({ method: 'GET', path: modelPath(version) }, limitMs);
      return {
        versions: stringsAt(answer, 'versions'),
        platform: stringAt(answer, 'platform'),
        inputs: arrayAt(answer, 'inputs').map(tensorAt),
        outputs: arrayAt(answer, 'outputs').map(tensorAt),
      };
    },
    async maxBatchSize(limitMs) {
      const answer = await client.json({ method: 'GET', path: `${model}/config` }, limitMs);
      return Number(answer['max_batch_size'] ?? 0);
    },
    async infer(request, limitMs) {
      const path = `${model}/infer`;
      const answer = await client.send({ method: 'POST', path, ...toBody(request, client.binary) }, limitMs);
      return readAnswer(answer, request);
    },
    async registerMemory(region, key, byteLength, limitMs) {
      const body = jsonBody({ key, offset: 0, byte_size: byteLength });
      await client.send({ method: 'POST', path: memoryPath(region, 'register'), body }, limitMs);
    },
    async unregisterMemory(region, limitMs) {
      await client.send({ method: 'POST', path: memoryPath(region, 'unregister') }, limitMs);
    },
    get losses() {
      return client.losses;
    },
    reconnect: () => undefined, // a request that was late has taken its connection with it
    close: () => client.close(),
  };
}

class Client {
  readonly #agent: HttpAgent;
  readonly #target;
  /** The server takes and gives bytes; known once it has described itself. */
  binary = false;
  losses = 0;

  constructor({ tls, host, port, parallel, authorization }: KServeAddress) {
    const options = { keepAlive: true, maxSockets: parallel + 1 };
    this.#agent = tls ? new HttpsAgent(options) : new HttpAgent(options);
    this.#target = {
      tls,
      host,
      port,
      headers: authorization === undefined ? {} : { authorization },
      onLoss: () => {
        this.losses++;
      },
    };
  }

  get(path: string, limitMs: number): Promise<ExchangeAnswer> {
    return exchange(this.#agent, this.#target, { method: 'GET', path }, limitMs);
  }

  /** @throws TransportFault where the server refuses, in its words */
  async send(request: ExchangeRequest, limitMs: number): Promise<ExchangeAnswer> {
    const answer = await exchange(this.#agent, this.#target, request, limitMs);
    if (answer.status === 200) return answer;
    throw refusal(answer);
  }

  async json(request: ExchangeRequest, limitMs: number): Promise<JsonObject> {
    return parseObject((await this.send(request, limitMs)).body);
  }

  async describeServer(limitMs: number): Promise<ServerDescription> {
    const answer = await this.json({ method: 'GET', path: '/v2' }, limitMs);
    const extensions = stringsAt(answer, 'extensions');
    this.binary = extensions.includes('binary_tensor_data');
    return { name: stringAt(answer, 'name'), version: stringAt(answer, 'version'), extensions };
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Gateways in front of a server say so while it is away. */
const PASSING = [429, 502, 503, 504];

function refusal({ status, body }: ExchangeAnswer): TransportFault {
  const text = body.toString('utf8', 0, 2000);
  const words = /"error"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  const said = words === undefined ? '' : `: ${(JSON.parse(words) as string).split('\n', 1)[0]}`;
  const message = `status ${status}${said}`;
  if (PASSING.includes(status)) return new TransportFault('unreachable', message);
  const absent = status === 404 || /unknown model|not found/i.test(said);
  return new TransportFault(absent ? 'absent' : 'refused', message);
}

function memoryParameters({ region, offset, byteLength }: MemoryPart): JsonObject {
  return {
    shared_memory_region: region,
    shared_memory_offset: offset,
    shared_memory_byte_size: byteLength,
  };
}

function toBody(
  { input, outputs }: InferRequest,
  binary: boolean,
): Pick<ExchangeRequest, 'headers' | 'body'> & { readonly body: readonly Uint8Array[] } {
  const { name, datatype, shape } = input;
  const bytes = 'bytes' in input ? input.bytes : [];
  const length = bytes.reduce((sum, part) => sum + part.length, 0);
  const contents =
    'memory' in input
      ? { parameters: memoryParameters(input.memory) }
      : binary
        ? { parameters: { binary_data_size: length } }
        : { data: numbersOf(datatype, bytes) };
  const [head] = jsonBody({
    inputs: [{ name, datatype, shape, ...contents }],
    outputs: outputs.map((output) => ({
      name: output.name,
      parameters: output.memory ? memoryParameters(output.memory) : { binary_data: binary },
    })),
  });
  if (!binary) return { headers: { 'content-type': 'application/json' }, body: [head] };
  return { headers: { [HEADER_LENGTH]: String(head.length) }, body: [head, ...bytes] };
}

/** @throws TransportFault for float16, which has no form in JSON */
function numbersOf(datatype: string, parts: readonly Uint8Array[]): number[] {
  if (datatype === 'FP16') {
    throw new TransportFault(
      'refused',
      'it takes float16, and only as bytes, which it cannot read over HTTP',
    );
  }
  return parts.flatMap(({ buffer, byteOffset, byteLength }) =>
    Array.from<number>(
      datatype === 'UINT8'
        ? new Uint8Array(buffer, byteOffset, byteLength)
        : new Float32Array(buffer, byteOffset, byteLength / 4),
    ),
  );
}

function readAnswer({ headers, body }: ExchangeAnswer, request: InferRequest): OutputTensor[] {
  const inMemory = new Set(request.outputs.filter(({ memory }) => memory).map(({ name }) => name));
  const headLength = Number(headers[HEADER_LENGTH] ?? body.length);
  const answer = parseObject(body.subarray(0, headLength));
  let offset = headLength;
  return arrayAt(answer, 'outputs').map((value) => {
    const output = objectAt(value, 'outputs');
    const tensor = tensorAt(output);
    if (inMemory.has(tensor.name)) return tensor;
    const { name, datatype } = tensor;
    if ('data' in output) return { ...tensor, bytes: packNumbers(name, datatype, arrayAt(output, 'data')) };
    const parameters = objectAt(output['parameters'], `the place of the output ${name}`);
    const [length = 0] = integersAt([parameters['binary_data_size']], 'binary_data_size');
    const bytes = body.subarray(offset, offset + length);
    offset += length;
    return { ...tensor, bytes };
  });
}

function jsonBody(value: unknown): [Buffer] {
  return [Buffer.from(JSON.stringify(value))];
}
