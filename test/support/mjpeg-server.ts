// A web server that is a camera (endless multipart JPEG), and that also hands out the files of a folder.
import { once } from 'node:events';
import { createReadStream, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  m3u8: 'application/vnd.apple.mpegurl',
  ts: 'video/mp2t',
  mp4: 'video/mp4',
};

export interface WebOptions {
  /** One JPEG that every client of `/camera` gets 25 times a second. */
  readonly picture?: Buffer;
  /** Files under `/files/`. */
  readonly folder?: string;
  readonly port?: number;
  /** `user:password` that is asked for. */
  readonly userInfo?: string;
}

export class WebServer {
  readonly requests: string[] = [];
  /** The camera says nothing more, and holds its connections. */
  frozen = false;
  readonly #options: WebOptions;
  readonly #server: Server;
  readonly #cameras = new Set<ServerResponse>();
  readonly #timer: NodeJS.Timeout;

  private constructor(options: WebOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#timer = setInterval(() => this.#sendPicture(), 40);
  }

  static async start(options: WebOptions): Promise<WebServer> {
    const server = new WebServer(options);
    server.#server.listen(options.port ?? 0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path: string, userInfo = ''): string {
    return `http://${userInfo === '' ? '' : `${userInfo}@`}127.0.0.1:${this.port}/${path}`;
  }

  /** Cuts all pictures off. */
  drop(): void {
    for (const response of this.#cameras) response.destroy();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? '/', 'http://local').pathname;
    this.requests.push(path);
    const { userInfo, folder } = this.#options;
    const given = Buffer.from(
      request.headers.authorization?.replace(/^Basic /, '') ?? '',
      'base64',
    ).toString();
    if (userInfo !== undefined && given !== userInfo) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="camera"' }).end();
    } else if (path === '/camera') {
      response.writeHead(200, { 'Content-Type': 'multipart/x-mixed-replace; boundary=picture' });
      this.#cameras.add(response);
      response.on('close', () => this.#cameras.delete(response));
    } else if (folder !== undefined && path.startsWith('/files/')) {
      sendFile(join(folder, basename(path)), request, response);
    } else {
      response.writeHead(404).end();
    }
  }

  #sendPicture(): void {
    if (!this.frozen) this.send();
  }

  /** One picture to every client of the camera, also while it is frozen. @returns how many there are */
  send(): number {
    const { picture } = this.#options;
    if (picture === undefined) return 0;
    const head = `--picture\r\nContent-Type: image/jpeg\r\nContent-Length: ${picture.length}\r\n\r\n`;
    for (const response of this.#cameras) {
      if (!response.writableNeedDrain)
        response.write(Buffer.concat([Buffer.from(head), picture, Buffer.from('\r\n')]));
    }
    return this.#cameras.size;
  }
}

function sendFile(path: string, request: IncomingMessage, response: ServerResponse): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) {
    response.writeHead(404).end();
    return;
  }
  const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  const start = Number(from);
  const end = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  response.writeHead(request.headers.range === undefined ? 200 : 206, {
    'Content-Type': TYPES[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    'Content-Length': end - start + 1,
    'Accept-Ranges': 'bytes',
    ...(request.headers.range !== undefined && { 'Content-Range': `bytes ${start}-${end}/${size}` }),
  });
  createReadStream(path, { start, end }).pipe(response);
}
