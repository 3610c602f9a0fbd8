// A real MQTT broker on a free port of the loopback, and a second client that reads what stands on it.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAsync, type MqttClient } from 'mqtt';

const BINARY = ['/usr/sbin/mosquitto', '/usr/local/sbin/mosquitto', '/opt/homebrew/sbin/mosquitto'].find(
  existsSync,
);

export const mosquittoAvailable = BINARY !== undefined;

/** Ends the title of a group of tests that skips. */
export const mosquittoNote = mosquittoAvailable ? '' : ' (skipped: mosquitto is not installed)';

export interface BrokerOptions {
  /** The only one that may connect. */
  readonly user?: { readonly name: string; readonly password: string };
  /** Own certificate for TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string };
}

/** Retained messages are gone after a restart, as with a broker whose disk was lost. */
export class Mosquitto {
  readonly port: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'broker-'));
  readonly #options: BrokerOptions;
  #process: ChildProcess | undefined;

  private constructor(port: number, options: BrokerOptions) {
    this.port = port;
    this.#options = options;
    const { user, tls } = options;
    const passwords = join(this.#folder, 'passwords');
    if (user) spawnSync('mosquitto_passwd', ['-b', '-c', passwords, user.name, user.password]);
    const lines = [
      `listener ${port} 127.0.0.1`,
      // Else it becomes a user that cannot read the folder.
      ...(process.getuid?.() === 0 ? ['user root'] : []),
      ...(user ? ['allow_anonymous false', `password_file ${passwords}`] : ['allow_anonymous true']),
      ...(tls ? [`certfile ${tls.certificate}`, `keyfile ${tls.key}`] : []),
      'persistence false',
    ];
    writeFileSync(join(this.#folder, 'mosquitto.conf'), `${lines.join('\n')}\n`);
  }

  static async start(options: BrokerOptions = {}): Promise<Mosquitto> {
    const broker = new Mosquitto(await freePort(), options);
    await broker.start();
    return broker;
  }

  get url(): string {
    return `${this.#options.tls ? 'mqtts' : 'mqtt'}://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    if (BINARY === undefined) throw new Error('mosquitto is not installed');
    const broker = spawn(BINARY, ['-c', join(this.#folder, 'mosquitto.conf')], { stdio: 'ignore' });
    this.#process = broker;
    // A test that fails does not come to its `close`.
    process.once('exit', () => broker.kill('SIGKILL'));
    for (let tries = 0; tries < 250; tries++) {
      if (await answers(this.port)) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error('mosquitto did not start');
  }

  /** Ends the broker; it can be started again on the same port. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    const broker = this.#process;
    this.#process = undefined;
    if (broker === undefined) return;
    broker.kill(signal);
    await once(broker, 'exit');
  }

  /** It takes connections no more and answers none that it has. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  async close(): Promise<void> {
    this.thaw();
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A second client, which remembers everything that it hears. */
  async listen(topic = '#'): Promise<Listener> {
    const { user } = this.#options;
    const client = await connectAsync(this.url, {
      ...(user && { username: user.name, password: user.password }),
      reconnectPeriod: 50,
      rejectUnauthorized: false,
    });
    const listener = new Listener(client);
    await client.subscribeAsync(topic, { qos: 1 });
    return listener;
  }

  /** The retained messages as a client finds them that comes now. */
  async retained(): Promise<ReadonlyMap<string, string>> {
    const listener = await this.listen();
    // The broker says them in order before it answers anything later.
    await listener.client.publishAsync('test/mark', 'x', { qos: 1 });
    while (listener.of('test/mark').length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const found = listener.messages.filter(({ retain }) => retain);
    await listener.close();
    return new Map(found.map(({ topic, payload }) => [topic, payload]));
  }
}

export interface Heard {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
  /** ms since 1970. */
  readonly atMs: number;
}

export class Listener {
  readonly messages: Heard[] = [];
  readonly client: MqttClient;

  constructor(client: MqttClient) {
    this.client = client;
    client.on('message', (topic, payload, { retain }) =>
      this.messages.push({ topic, payload: payload.toString(), retain, atMs: Date.now() }),
    );
    client.on('error', () => undefined);
  }

  of(topic: string): readonly string[] {
    return this.messages.filter((message) => message.topic === topic).map(({ payload }) => payload);
  }

  async send(topic: string, payload: string, retain = false): Promise<void> {
    await this.client.publishAsync(topic, payload, { qos: 1, retain });
  }

  async close(): Promise<void> {
    await this.client.endAsync(true);
  }
}

/** The only way to a broker, which a test opens and cuts while other clients stay connected. */
export class Road {
  readonly port: number;
  readonly #to: number;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  private constructor(port: number, to: number) {
    this.port = port;
    this.#to = to;
  }

  /** Closed until `open`. */
  static async to(port: number): Promise<Road> {
    return new Road(await freePort(), port);
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`;
  }

  async open(): Promise<void> {
    this.#server = createServer((near) => {
      const far = createConnection(this.#to, '127.0.0.1');
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => other.destroy());
        socket.pipe(other);
      }
    }).listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async cut(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
    const server = this.#server;
    this.#server = undefined;
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
