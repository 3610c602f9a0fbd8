// One request of HTTP and its whole answer, within a time and a size.
import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import { MAX_ANSWER_BYTES, TransportFault } from './transport.ts';

export interface ExchangeTarget {
  readonly tls: boolean;
  readonly host: string;
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Told of every connection that ends. */
  readonly onLoss: () => void;
}

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: readonly Uint8Array[];
}

export interface ExchangeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** @throws TransportFault where no whole answer came in time */
export function exchange(
  agent: Agent,
  target: ExchangeTarget,
  { method, path, headers, body = [] }: ExchangeRequest,
  limitMs: number,
): Promise<ExchangeAnswer> {
  const length = body.reduce((sum, part) => sum + part.length, 0);
  const options = {
    agent,
    method,
    path,
    host: target.host.replace(/^\[|\]$/g, ''),
    port: target.port,
    headers: { ...target.headers, ...headers, 'content-length': String(length) },
  };
  return new Promise((resolve, reject) => {
    const request = (target.tls ? requestHttps : requestHttp)(options);
    const timer = setTimeout(
      () => request.destroy(new TransportFault('late', `no answer within ${limitMs} ms`)),
      limitMs,
    );
    const fail = (error: Error) => {
      clearTimeout(timer);
      request.destroy();
      reject(faultOf(error));
    };
    request.on('error', fail);
    request.on('socket', (socket) => {
      if (!request.reusedSocket) socket.once('close', target.onLoss);
    });
    request.on('response', (response) => {
      readBody(response).then((answer) => {
        clearTimeout(timer);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answer });
      }, fail);
    });
    for (const part of body) request.write(part);
    request.end();
  });
}

async function readBody(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > MAX_ANSWER_BYTES) {
      throw new TransportFault('garbled', `the answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts, length);
}

function faultOf(error: Error): TransportFault {
  if (error instanceof TransportFault) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (code.startsWith('HPE_')) {
    return new TransportFault('garbled', `what answers speaks no HTTP (${error.message})`, error);
  }
  // Names with several addresses fail with one error for each.
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return new TransportFault('unreachable', error.message || first?.message || code || error.name, error);
}
