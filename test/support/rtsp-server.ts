// A small RTSP server (packets inside the TCP connection) with faults on request. Its RTP comes from an ffmpeg child.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { FAST_H264 } from './clips.ts';

export interface RtspOptions {
  /** ffmpeg arguments up to the codec: what the camera sees. */
  readonly input?: readonly string[];
  /** How the camera encodes; H.264 with a key frame about twice a second if not given. */
  readonly codec?: readonly string[];
  /** The port of a server that was closed before, for "the camera is back". */
  readonly port?: number;
  /** Basic authentication. */
  readonly user?: string;
  readonly password?: string;
}

interface Client {
  readonly socket: Socket;
  playing: boolean;
}

export function testPicture(size: string, framesPerSecond: number): readonly string[] {
  return ['-re', '-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=${framesPerSecond}`];
}

export class RtspServer {
  /** Methods that clients called, in order. */
  readonly requests: string[] = [];
  /** Packets stop, connections stay: a frozen camera. */
  frozen = false;
  /** Answers DESCRIBE with this instead of the stream. */
  refusal: string | undefined;
  /** Packets carry noise: in the place of the picture, or of the packet itself. */
  garbage: 'payload' | 'packet' | undefined;
  readonly #options: RtspOptions;
  readonly #clients = new Set<Client>();
  readonly #server: Server;
  #encoder: ChildProcess;
  readonly #sockets: readonly UdpSocket[];
  #description: string;

  private constructor(
    options: RtspOptions,
    encoder: ChildProcess,
    sockets: readonly UdpSocket[],
    description: string,
  ) {
    this.#options = options;
    this.#encoder = encoder;
    this.#sockets = sockets;
    this.#description = description;
    this.#server = createServer((socket) => this.#accept(socket));
    sockets.forEach((socket, channel) => {
      socket.on('message', (packet) => this.#send(channel, packet));
    });
  }

  static async start(options: RtspOptions = {}): Promise<RtspServer> {
    const sockets = await bindPair();
    const encoder = encode(options, sockets);
    const server = new RtspServer(options, encoder, sockets, await describe(encoder));
    server.#server.listen(options.port ?? 0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = 'live', userInfo = ''): string {
    return `rtsp://${userInfo === '' ? '' : `${userInfo}@`}127.0.0.1:${this.port}/${path}`;
  }

  /** Cuts all connections: politely (FIN) or not (RST). */
  drop(how: 'fin' | 'rst'): void {
    for (const { socket } of this.#clients) {
      if (how === 'fin') socket.end();
      else socket.resetAndDestroy();
    }
  }

  /** The camera sees something else, of another size perhaps; connections stay. */
  async show(input: readonly string[]): Promise<void> {
    await this.#endEncoder();
    this.#encoder = encode({ ...this.#options, input }, this.#sockets);
    this.#description = await describe(this.#encoder);
  }

  /** Always to be called: an encoder left behind would send into the next test's sockets. */
  async close(): Promise<void> {
    await this.#endEncoder();
    for (const { socket } of this.#clients) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.close();
  }

  async #endEncoder(): Promise<void> {
    const ended = once(this.#encoder, 'exit');
    if (this.#encoder.exitCode === null && this.#encoder.kill('SIGKILL')) await ended;
  }

  #send(channel: number, packet: Buffer): void {
    if (this.frozen) return;
    // The header of a packet of RTP has 12 bytes.
    if (this.garbage !== undefined)
      randomFillSync(packet, this.garbage === 'packet' ? 0 : Math.min(12, packet.length));
    const header = Buffer.from([0x24, channel, packet.length >> 8, packet.length & 255]);
    for (const { playing, socket } of this.#clients) {
      if (playing && !socket.destroyed) socket.write(Buffer.concat([header, packet]));
    }
  }

  #accept(socket: Socket): void {
    const client: Client = { socket, playing: false };
    this.#clients.add(client);
    let buffer = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('close', () => this.#clients.delete(client));
    socket.on('data', (chunk) => {
      buffer = Buffer.concat([buffer, chunk]);
      for (;;) {
        const used = this.#take(client, buffer);
        if (used === 0) return;
        buffer = buffer.subarray(used);
      }
    });
  }

  /** One request, or one packet of the client's own reports, which is left alone. Returns the bytes used. */
  #take(client: Client, buffer: Buffer): number {
    if (buffer[0] === 0x24) {
      const length = buffer.length < 4 ? Number.POSITIVE_INFINITY : 4 + buffer.readUInt16BE(2);
      return buffer.length < length ? 0 : length;
    }
    const end = buffer.indexOf('\r\n\r\n');
    if (end < 0) return 0;
    if (!this.frozen) this.#answer(client, buffer.subarray(0, end).toString('latin1'));
    return end + 4;
  }

  #answer(client: Client, request: string): void {
    const [method = '', url = ''] = request.split(' ');
    const sequence = /CSeq: *(\d+)/i.exec(request)?.[1] ?? '0';
    this.requests.push(method);
    const reply = (status: string, headers: readonly string[] = [], body = '') => {
      const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
      const lines = [`RTSP/1.0 ${status}`, `CSeq: ${sequence}`, ...headers, ...length];
      client.socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
    };
    if (method !== 'OPTIONS' && !this.#isAllowed(request)) {
      reply('401 Unauthorized', ['WWW-Authenticate: Basic realm="camera"']);
    } else if (method === 'OPTIONS') {
      reply('200 OK', ['Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER']);
    } else if (method === 'DESCRIBE') {
      if (this.refusal !== undefined) reply(this.refusal);
      else reply('200 OK', [`Content-Base: ${url}/`, 'Content-Type: application/sdp'], this.#description);
    } else if (method === 'SETUP') {
      if (/TCP/.test(request)) reply('200 OK', ['Transport: RTP/AVP/TCP;unicast;interleaved=0-1', SESSION]);
      else reply('461 Unsupported Transport');
    } else if (method === 'PLAY') {
      reply('200 OK', [SESSION, 'Range: npt=0.000-']);
      client.playing = true;
    } else {
      reply('200 OK', [SESSION]);
      if (method === 'TEARDOWN') client.socket.end();
    }
  }

  #isAllowed(request: string): boolean {
    const { user, password } = this.#options;
    if (user === undefined) return true;
    const given = /Authorization: Basic (\S+)/i.exec(request)?.[1] ?? '';
    return Buffer.from(given, 'base64').toString() === `${user}:${password}`;
  }
}

const SESSION = 'Session: 12345678';

function encode(options: RtspOptions, sockets: readonly UdpSocket[]): ChildProcess {
  const { port } = sockets[0]!.address();
  const input = options.input ?? testPicture('320x180', 25);
  const codec = options.codec ?? [...FAST_H264, '-tune', 'zerolatency', '-g', '12'];
  const target = ['-f', 'rtp', `rtp://127.0.0.1:${port}?pkt_size=1200`];
  return spawn('ffmpeg', ['-v', 'error', '-nostdin', ...input, ...codec, ...target], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

/** RTP takes an even port and RTCP the next one. */
async function bindPair(): Promise<readonly UdpSocket[]> {
  for (;;) {
    const first = await bind(0);
    const { port } = first.address();
    if (port % 2 === 0) {
      const second = await bind(port + 1).catch(() => undefined);
      if (second !== undefined) return [first, second];
    }
    first.close();
  }
}

function bind(port: number): Promise<UdpSocket> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    socket.once('error', reject).bind(port, '127.0.0.1', () => resolve(socket));
  });
}

/** ffmpeg writes the stream's description to standard output as soon as it knows it. */
async function describe(encoder: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of encoder.stdout!) {
    text += String(chunk);
    if (/a=fmtp:[^\n]*\n/.test(text)) break;
  }
  const lines = text
    .replace(/^SDP:\s*/, '')
    .replace(/m=video \d+/, 'm=video 0')
    .replace(/c=IN IP4 [^\r\n]*/, 'c=IN IP4 0.0.0.0')
    .trimEnd()
    .split(/\r?\n/);
  return `${[...lines, 'a=control:streamid=0'].join('\r\n')}\r\n`;
}
