// What goes wrong between a program and an inference server: it is said clearly, it ends in time, and what can mend mends.
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError, DeviceError, ModelError } from '#core';
import { ElementType, floats, graph, model, node, serialize, valueInfo } from '#onnx';
import type { Session } from '#runtime';
import { prepareSession, prepareSessions } from '../../../runtime/session/open-session.ts';
import { doubledModel } from '../../support/session-models.ts';
import { InferenceServer, serverInstalled } from './kserve-server.ts';

const SPEC = { name: 'x', shape: [2, 3] };
const note = serverInstalled ? '' : ' (skipped: scripts/install-inference-server.mjs was not run)';

function open(url: string, bytes = doubledModel()): Promise<Session> {
  const options = { provider: { kind: 'kserve', url }, threads: 1 } as const;
  return prepareSession(options).open(bytes, 'model.onnx', options);
}

const input = () => new Float32Array(6).fill(4);

async function failure(promise: Promise<unknown>): Promise<{ error: Error; ms: number }> {
  const started = performance.now();
  const error = await promise.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason as Error,
  );
  return { error, ms: performance.now() - started };
}

/** `y = factor x` for x float32[N, 3]. */
function rowsModel(factor = 2): Uint8Array {
  return serialize(
    model(
      graph({
        nodes: [node('Mul', ['x', 'factor'], ['y'])],
        inputs: [valueInfo('x', ElementType.FLOAT, ['N', 3])],
        outputs: [valueInfo('y', ElementType.FLOAT, ['N', 3])],
        initializers: [floats('factor', [1], [factor])],
      }),
    ),
  );
}

describe('an address', () => {
  it.each([
    ['kserve://host', /expected one name of a model/],
    ['kserve://host/a/b', /expected one name of a model/],
    ['kserve:///model', /expected kserve:\/\/host:port\/model/],
    ['kserve://host/model?versoin=2', /there is no versoin=/],
    ['kserve://host/model?deadline_ms=soon', /deadline_ms=soon: expected a whole number/],
    ['kserve://host/model?batch=0', /batch=0: expected a whole number from 1 to 256/],
    ['kserve://host/model?shm=maybe', /shm=maybe: expected auto, on, off/],
  ])('%s is refused', (url, words) => {
    expect(() => prepareSessions({ provider: { kind: 'kserve', url } }, 1)).toThrow(ConfigError);
    expect(() => prepareSessions({ provider: { kind: 'kserve', url } }, 1)).toThrow(words);
  });

  it('keeps its secrets to itself, and hands them to the server', async () => {
    const asked: (string | undefined)[] = [];
    const gate = createHttpServer((request, response) => {
      asked.push(request.headers.authorization);
      response.writeHead(401).end('{"error":"who are you?"}');
    }).listen(0, '127.0.0.1');
    await once(gate, 'listening');
    const { port } = gate.address() as AddressInfo;
    const { error } = await failure(open(`kserve+http://eva:s3cret@127.0.0.1:${port}/best`));
    gate.closeAllConnections();
    gate.close();
    expect(asked[0]).toBe(`Basic ${Buffer.from('eva:s3cret').toString('base64')}`);
    expect(error).toBeInstanceOf(DeviceError);
    expect(`${error.message}${(error as DeviceError).hint}${error.stack}`).not.toContain('s3cret');
    expect(error.message).toContain('kserve+http://***@127.0.0.1');
  });
});

describe('what listens at the port is', () => {
  const sockets: Socket[] = [];
  const listeners: { close(): void }[] = [];

  async function listen(answer: (socket: Socket) => void): Promise<number> {
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      answer(socket);
    }).listen(0, '127.0.0.1');
    listeners.push(server);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const listener of listeners.splice(0)) listener.close();
  });

  it.each(['kserve', 'kserve+http'])('nobody (%s)', async (scheme) => {
    const port = await listen(() => undefined);
    listeners.splice(0).forEach((listener) => {
      listener.close();
    });
    const { error, ms } = await failure(open(`${scheme}://127.0.0.1:${port}/best`));
    expect(error).toBeInstanceOf(DeviceError);
    expect(error.message).toMatch(/no inference server answers at 127\.0\.0\.1:\d+ \(.*ECONNREFUSED/);
    expect(ms).toBeLessThan(3000);
  });

  it.each(['kserve', 'kserve+http'])('nobody known (%s)', async (scheme) => {
    const { error, ms } = await failure(open(`${scheme}://no-such-host.invalid/best?deadline_ms=4000`));
    expect(error).toBeInstanceOf(DeviceError);
    expect(error.message).toMatch(/no inference server answers|does not answer/);
    expect(ms).toBeLessThan(6000);
  });

  it.each(['kserve', 'kserve+http'])('somebody who says nothing (%s)', async (scheme) => {
    const port = await listen(() => undefined);
    const { error, ms } = await failure(open(`${scheme}://127.0.0.1:${port}/best?deadline_ms=400`));
    expect(error).toBeInstanceOf(DeviceError);
    expect(error.message).toMatch(/does not answer/);
    expect(ms).toBeLessThan(2000);
  });

  it.each(['kserve', 'kserve+http'])('somebody who speaks something else (%s)', async (scheme) => {
    const port = await listen((socket) => socket.write('220 mail.example ESMTP\r\n'.repeat(9)));
    const { error, ms } = await failure(open(`${scheme}://127.0.0.1:${port}/best?deadline_ms=1000`));
    expect(error).toBeInstanceOf(DeviceError);
    expect(error.message).toMatch(/no inference server/);
    expect(ms).toBeLessThan(3000);
  });

  it('a web server', async () => {
    const web = createHttpServer((_, response) => response.end('<html>hello</html>')).listen(0, '127.0.0.1');
    await once(web, 'listening');
    const { error } = await failure(
      open(`kserve+http://127.0.0.1:${(web.address() as AddressInfo).port}/best`),
    );
    web.closeAllConnections();
    web.close();
    expect(error).toBeInstanceOf(DeviceError);
    expect(error.message).toMatch(
      /is no inference server \(the answer is no JSON, it begins with "<html>hello/,
    );
  });
});

describe.skipIf(!serverInstalled)(`an inference server${note}`, { timeout: 60_000 }, () => {
  let server: InferenceServer;
  const sessions: Session[] = [];

  beforeAll(async () => {
    server = await InferenceServer.create();
    await server.add('doubled', doubledModel());
    await server.add('rows', rowsModel());
    await server.add('rows-batched', rowsModel(), { maxBatchSize: 4, delayMs: 30 });
    await server.add('rows-free', rowsModel(), { freeBatch: true, delayMs: 30 });
    await server.add('said-free', doubledModel(), { freeBatch: true, delayMs: 30 });
    await server.add('slow', doubledModel(), { delayMs: 1500 });
    await server.start();
  }, 60_000);
  afterEach(async () => {
    for (const session of sessions.splice(0)) await session.close();
  });
  afterAll(() => server.end());

  async function opened(url: string, bytes?: Uint8Array): Promise<Session> {
    const session = await open(url, bytes);
    sessions.push(session);
    return session;
  }

  it('is asked in the wrong protocol', async () => {
    const wrong = [
      `kserve://127.0.0.1:${server.httpPort}/doubled?deadline_ms=2000`,
      `kserve+http://127.0.0.1:${server.grpcPort}/doubled?deadline_ms=2000`,
    ];
    for (const url of wrong) {
      const { error, ms } = await failure(open(url));
      expect(error).toBeInstanceOf(DeviceError);
      expect((error as DeviceError).hint).toMatch(/kserve:\/\/.*gRPC/);
      expect(ms).toBeLessThan(4000);
    }
  });

  it.each(['grpc', 'http'] as const)('is too slow for the deadline (%s)', async (protocol) => {
    const session = await opened(server[protocol]('slow', '?deadline_ms=300'));
    const { error, ms } = await failure(session.run(input(), SPEC));
    expect(error).toBeInstanceOf(DeviceError);
    expect(error.message).toMatch(/no answer within 300 ms/);
    expect(ms).toBeLessThan(1000);
  });

  it.each(['grpc', 'http'] as const)('stands still, and goes on (%s)', async (protocol) => {
    const session = await opened(server[protocol]('doubled', '?deadline_ms=600'));
    await session.run(input(), SPEC);
    server.signal('SIGSTOP');
    try {
      const { error, ms } = await failure(session.run(input(), SPEC));
      expect(error).toBeInstanceOf(DeviceError);
      expect(error.message).toMatch(/no answer within 600 ms/);
      expect(ms).toBeLessThan(1500);
    } finally {
      server.signal('SIGCONT');
    }
    await sleep(200);
    expect((await session.run(input(), SPEC)).outputs.get('y')?.data[0]).toBe(8);
  });

  it.each(['grpc', 'http'] as const)(
    'is killed in mid-run and comes back within the deadline (%s)',
    async (protocol) => {
      const session = await opened(server[protocol]('doubled', '?deadline_ms=20000'));
      const runs = (async () => {
        for (let run = 0; run < 300; run++) {
          const { outputs } = await session.run(new Float32Array(6).fill(run), SPEC);
          expect(outputs.get('y')?.data[0]).toBe(2 * run);
        }
      })();
      await sleep(20);
      await server.kill();
      await sleep(300);
      await server.start();
      await runs;
    },
  );

  it.each(['grpc', 'http'] as const)('is away for longer than the deadline (%s)', async (protocol) => {
    const session = await opened(server[protocol]('doubled', '?deadline_ms=500'));
    await session.run(input(), SPEC);
    await server.kill();
    try {
      for (let run = 0; run < 2; run++) {
        const { error, ms } = await failure(session.run(input(), SPEC));
        expect(error).toBeInstanceOf(DeviceError);
        expect(error.message).toMatch(/no answer within 500 ms \(.*(ECONNREFUSED|closed|hang up|reset|RST)/i);
        expect(ms).toBeLessThan(1500);
      }
    } finally {
      await server.start();
    }
    await expect
      .poll(() => session.run(input(), SPEC).then(({ outputs }) => outputs.get('y')?.data[0]), {
        timeout: 5000,
      })
      .toBe(8);
  });

  it.each(['grpc', 'http'] as const)('comes back with another model (%s)', async (protocol) => {
    await server.add('changing', rowsModel());
    await server.load('changing');
    const session = await opened(server[protocol]('changing'), rowsModel());
    await session.run(input(), SPEC);
    await server.kill();
    await server.add('changing', doubledModel());
    await server.start();
    const { error } = await failure(session.run(input(), SPEC));
    expect(error).toBeInstanceOf(DeviceError);
    expect(error.message).toMatch(/came back with another model/);
  });

  it.each(['grpc', 'http'] as const)('refuses a run, and serves the next (%s)', async (protocol) => {
    const session = await opened(server[protocol]('rows'), rowsModel());
    const { error } = await failure(session.run(new Float32Array(8), { name: 'x', shape: [2, 4] }));
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(/failed while running on kserve.*(\[2,4\]|INVALID_ARGUMENT)/);
    expect((await session.run(input(), SPEC)).outputs.get('y')?.data[5]).toBe(8);
  });

  describe('takes what waits as one request', () => {
    async function requestsOf(name: string): Promise<{ requests: number; rows: number }> {
      const answer = await fetch(`http://127.0.0.1:${server.httpPort}/v2/models/${name}/stats`);
      const { model_stats } = (await answer.json()) as {
        model_stats: { inference_count: number; inference_stats: { success: { count: number } } }[];
      };
      const [stats] = model_stats;
      return { requests: stats?.inference_stats.success.count ?? 0, rows: stats?.inference_count ?? 0 };
    }

    async function runTogether(url: string, bytes: Uint8Array, rows: number, count: number): Promise<void> {
      const session = await opened(url, bytes);
      const runs = Array.from({ length: count }, async (_, run) => {
        const spec = { name: 'x', shape: [rows, 3] };
        const { outputs } = await session.run(new Float32Array(3 * rows).fill(run), spec);
        expect(outputs.get('y')).toEqual({
          shape: [rows, 3],
          data: new Float32Array(3 * rows).fill(2 * run),
        });
      });
      await Promise.all(runs);
    }

    it.each([
      ['within the bound of the server', 'grpc', 'rows-batched', '', 2 + Math.ceil(10 / 4)],
      ['within the bound of the server', 'http', 'rows-batched', '', 2 + Math.ceil(10 / 4)],
      ['within our own bound', 'grpc', 'rows-batched', '?batch=2', 2 + 5],
      ['where its axis is free', 'grpc', 'rows-free', '', 2 + Math.ceil(10 / 8)],
      ['unless it is told not to', 'http', 'rows-free', '?batch=1', 12],
    ] as const)('%s, over %s', async (_, protocol, name, query, expected) => {
      const before = await requestsOf(name);
      await runTogether(server[protocol](name, query), rowsModel(), 1, 12);
      // The server counts a request a moment after it has answered.
      await expect.poll(async () => (await requestsOf(name)).requests - before.requests).toBe(expected);
    });

    it('or one by one, where the model takes but one at a time', async () => {
      await runTogether(server.grpc('said-free'), doubledModel(), 2, 7);
    });

    it('for all sessions of a model', async () => {
      const before = await requestsOf('rows-free');
      const provider = { kind: 'kserve', url: server.grpc('rows-free') } as const;
      const options = { provider, threads: 1 };
      const six = await Promise.all(
        prepareSessions(options, 6).map((prepared) => prepared.open(rowsModel(), 'rows.onnx', options)),
      );
      sessions.push(...six);
      await Promise.all(six.map((session) => session.run(new Float32Array(3), { name: 'x', shape: [1, 3] })));
      await expect.poll(async () => (await requestsOf('rows-free')).requests - before.requests).toBe(3);
    });
  });
});
