// `kserve://host:port/model?version=2`: where a served model is, and how it is asked.
import { ConfigError } from '#core';
import { redactCredentials } from '../../ffmpeg/redact.ts';

export interface KServeAddress {
  readonly protocol: 'grpc' | 'http';
  readonly tls: boolean;
  /** Host name, IPv4 address or IPv6 address in brackets. */
  readonly host: string;
  readonly port: number;
  readonly model: string;
  /** Empty: the one that the server chooses, which is the newest unless it was told otherwise. */
  readonly version: string;
  /** A run is answered or fails within so many ms, however often it is tried. */
  readonly deadlineMs: number;
  /** Most pictures that go as one request, where the served model has a free batch axis. */
  readonly batch: number;
  /** Most requests under way at one time. */
  readonly parallel: number;
  /** Whether tensors go through the memory of this machine: `auto` where the server can and is here. */
  readonly sharedMemory: 'auto' | 'on' | 'off';
  /** Value of the header `authorization`. */
  readonly authorization?: string;
  /** As written, without its secrets. */
  readonly name: string;
}

const SCHEMES: Readonly<Record<string, Pick<KServeAddress, 'protocol' | 'tls' | 'port'>>> = {
  'kserve:': { protocol: 'grpc', tls: false, port: 8001 },
  'kserve+grpc:': { protocol: 'grpc', tls: false, port: 8001 },
  'kserve+grpcs:': { protocol: 'grpc', tls: true, port: 443 },
  'kserve+http:': { protocol: 'http', tls: false, port: 8000 },
  'kserve+https:': { protocol: 'http', tls: true, port: 443 },
};

const NUMBERS = {
  deadline_ms: { otherwise: 10_000, least: 1, most: 3_600_000 },
  batch: { otherwise: 8, least: 1, most: 256 },
  parallel: { otherwise: 2, least: 1, most: 64 },
} as const;

const KEYS = ['version', 'shm', ...Object.keys(NUMBERS)];
const SHARED_MEMORY = ['auto', 'on', 'off'] as const;
const HINT =
  'write kserve://host:8001/model for gRPC or kserve+http://host:8000/model for HTTP, with ?version=, deadline_ms=, batch=, parallel= or shm= behind it';

/** @throws ConfigError for what is no such address */
export function parseAddress(text: string): KServeAddress {
  const name = redactCredentials(text);
  const fail = (what: string) => new ConfigError(`device=${name}: ${what}`, { hint: HINT });
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const scheme = SCHEMES[url?.protocol ?? ''];
  if (url === undefined || scheme === undefined || url.hostname === '')
    throw fail('expected kserve://host:port/model');
  const path = url.pathname.split('/').filter((part) => part !== '');
  const [model] = path;
  if (model === undefined || path.length > 1) throw fail('expected one name of a model behind the port');
  const unknown = [...url.searchParams.keys()].find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw fail(`there is no ${unknown}=; expected ${KEYS.join(', ')}`);
  const number = (key: keyof typeof NUMBERS) => {
    const { otherwise, least, most } = NUMBERS[key];
    const value = Number(url.searchParams.get(key) ?? otherwise);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw fail(`${key}=${url.searchParams.get(key)}: expected a whole number from ${least} to ${most}`);
  };
  const shared = url.searchParams.get('shm') ?? 'auto';
  const sharedMemory = SHARED_MEMORY.find((word) => word === shared);
  if (sharedMemory === undefined) throw fail(`shm=${shared}: expected ${SHARED_MEMORY.join(', ')}`);
  const authorization = authorizationOf(url);
  return {
    ...scheme,
    host: url.hostname,
    port: url.port === '' ? scheme.port : Number(url.port),
    model: decodeURIComponent(model),
    version: url.searchParams.get('version') ?? '',
    deadlineMs: number('deadline_ms'),
    batch: number('batch'),
    parallel: number('parallel'),
    sharedMemory,
    ...(authorization !== undefined && { authorization }),
    name,
  };
}

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const secret = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(secret).toString('base64')}`;
}
