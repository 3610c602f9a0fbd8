// The page of a running site, its metrics and its health, over HTTP. Everything that a client can make grow is bounded.
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { ConfigError } from '#core';
import type { CameraStatus } from '../site/camera.ts';
import type { SiteEvent } from '../site/events.ts';
import type { SiteControl, SiteSink } from '../site/run-site.ts';
import type { SiteServer } from '../site/site.ts';
import { isRecord } from '../site/site-placed.ts';
import { type Access, createAccess, TOKEN_COOKIE } from './access.ts';
import type { LiveView } from './live-view.ts';
import type { SiteMetrics } from './metrics.ts';
import { PAGE_HTML, PAGE_SCRIPT, PAGE_STYLE } from './page/index.ts';
import { sendStored } from './stored-file.ts';

export interface SiteServerOptions extends SiteServer {
  readonly control: SiteControl;
  readonly metrics: SiteMetrics;
  readonly view: LiveView;
  /** Where snapshots lie; absent: none are served. */
  readonly snapshots?: string;
  /** Where clips lie; absent: none are served. */
  readonly clips?: string;
}

export interface OpenSiteServer extends SiteSink {
  /** `http://127.0.0.1:8080/`. */
  readonly url: string;
}

const EVENTS_KEPT = 200;
const LOOKERS_PER_CAMERA = 8;
const LISTENERS = 32;
/** Bytes that wait for a slow client before it misses pictures. */
const MOST_WAITING = 1 << 20;
const BODY_LIMIT = 16 * 1024;
const STATE_EVERY_MS = 250;
/** Nothing from elsewhere runs on the page, and nothing of it is kept. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

/** @throws ConfigError where the port is taken or the host cannot be bound */
export async function openSiteServer(options: SiteServerOptions): Promise<OpenSiteServer> {
  const { host, port } = options;
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    connectionTimeout: 60_000,
    requestTimeout: 10_000,
    forceCloseConnections: true,
    // Addresses may carry the token: nothing is logged.
    logger: false,
    routerOptions: { maxParamLength: 200 },
  });
  app.server.maxConnections = 256;
  const site = new Pages(options);
  site.install(app);
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw new ConfigError(
      `server: ${host}:${port} cannot be opened: ${error instanceof Error ? error.message : error}`,
      { hint: 'choose another server.port, or end what listens there', cause: error },
    );
  }
  const address = app.server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}/`,
    accept: (event) => site.accept(event),
    async close() {
      site.close();
      await app.close();
    },
  };
}

class Pages {
  readonly #options: SiteServerOptions;
  readonly #access: Access;
  readonly #events: SiteEvent[] = [];
  readonly #listeners = new Set<FastifyReply>();
  readonly #timer: NodeJS.Timeout;
  #lastState = '';

  constructor(options: SiteServerOptions) {
    this.#options = options;
    this.#access = createAccess(options);
    this.#timer = setInterval(() => this.#tellState(), STATE_EVERY_MS);
    this.#timer.unref();
  }

  accept(event: SiteEvent): void {
    if (event.kind === 'count') return;
    this.#events.push(event);
    if (this.#events.length > EVENTS_KEPT) this.#events.shift();
    this.#tell('event', event);
  }

  close(): void {
    clearInterval(this.#timer);
    for (const reply of this.#listeners) reply.raw.end();
  }

  install(app: FastifyInstance): void {
    app.addHook('onRequest', async (request, reply) => {
      reply.headers(HEADERS);
      if (!this.#access.isOurName(request)) return refuse(reply, 403, 'this name is not served here');
      if (request.url === '/healthz' || request.url === '/readyz') return undefined;
      if (!this.#access.mayLook(request)) return refuse(reply, 401, 'the token is missing or wrong');
      return undefined;
    });
    app.get('/healthz', async () => ({ status: 'ok' }));
    app.get('/readyz', async (_, reply) => this.#ready(reply));
    app.get('/metrics', async (_, reply) => {
      const { body, contentType } = await this.#options.metrics.text();
      return reply.type(contentType).send(body);
    });
    app.get('/', async (request, reply) => this.#page(request, reply));
    app.get('/page.js', async (_, reply) => reply.type('text/javascript').send(PAGE_SCRIPT));
    app.get('/page.css', async (_, reply) => reply.type('text/css').send(PAGE_STYLE));
    app.get('/api/state', async () => this.#state());
    app.get('/api/events', async () => this.#events);
    app.get('/api/live', (request, reply) => this.#live(request, reply));
    app.get<{ Params: { camera: string } }>('/cameras/:camera.mjpeg', (request, reply) =>
      this.#pictures(request.params.camera, reply),
    );
    app.get<{ Params: { '*': string } }>('/snapshots/*', (request, reply) =>
      this.#file(this.#options.snapshots, 'jpg', request, reply),
    );
    app.get<{ Params: { '*': string } }>('/clips/*', (request, reply) =>
      this.#file(this.#options.clips, 'mp4', request, reply),
    );
    app.put<{ Params: { camera: string }; Body: unknown }>(
      '/api/cameras/:camera/thresholds',
      async (request, reply) => this.#changeThresholds(request, reply),
    );
    app.put<{ Params: { camera: string }; Body: unknown }>(
      '/api/cameras/:camera/enabled',
      async (request, reply) => this.#switch(request, reply),
    );
  }

  /** The token of a link becomes a cookie, so that it stays in no address. */
  async #page(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { token } = (request.query ?? {}) as { readonly token?: unknown };
    if (typeof token === 'string' && this.#access.holdsToken(request)) {
      const cookie = `${TOKEN_COOKIE}=${encodeURIComponent(token)}; HttpOnly; SameSite=Strict; Path=/`;
      return reply.header('set-cookie', cookie).redirect('/');
    }
    return reply.type('text/html; charset=utf-8').send(PAGE_HTML);
  }

  #ready(reply: FastifyReply): FastifyReply {
    const waiting = this.#options.control.cameras.filter(({ enabled, state }) => enabled && state !== 'live');
    const body = {
      status: waiting.length === 0 ? 'ready' : 'not ready',
      cameras: Object.fromEntries(waiting.map(({ name, state }) => [name, state])),
    };
    return reply.code(waiting.length === 0 ? 200 : 503).send(body);
  }

  #state() {
    const { control, view } = this.#options;
    return {
      mayChange: this.#options.token !== undefined,
      cameras: control.cameras.map((status) => ({
        ...withoutObjects(status),
        thresholds: thresholdsOf(control, status.name),
        seen: view.frames.get(status.name) ?? null,
      })),
    };
  }

  #tellState(): void {
    if (this.#listeners.size === 0) return;
    const state = JSON.stringify(this.#state());
    if (state === this.#lastState) return;
    this.#lastState = state;
    this.#write(`event: state\ndata: ${state}\n\n`);
  }

  #tell(name: string, value: unknown): void {
    if (this.#listeners.size > 0) this.#write(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`);
  }

  #write(text: string): void {
    for (const { raw } of this.#listeners) {
      // Who cannot follow comes back by himself: browsers connect again.
      if (raw.writableLength > MOST_WAITING) raw.destroy();
      else raw.write(text);
    }
  }

  #live(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    if (this.#listeners.size >= LISTENERS) return refuse(reply, 503, 'too many pages are open');
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream', connection: 'keep-alive' });
    raw.write(`event: state\ndata: ${JSON.stringify(this.#state())}\n\n`);
    this.#listeners.add(reply);
    request.raw.once('close', () => this.#listeners.delete(reply));
    return reply;
  }

  #pictures(camera: string, reply: FastifyReply): FastifyReply {
    const { control, view } = this.#options;
    if (control.camera(camera) === undefined) return refuse(reply, 404, 'there is no such camera');
    if (view.lookers(camera) >= LOOKERS_PER_CAMERA) return refuse(reply, 503, 'too many look at this camera');
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, { ...HEADERS, 'content-type': 'multipart/x-mixed-replace; boundary=frame' });
    const leave = view.look(camera, (jpeg) => {
      if (raw.writableLength > MOST_WAITING) return; // a slow client misses pictures
      raw.write(`--frame\r\nContent-Type: image/jpeg\r\nContent-Length: ${jpeg.length}\r\n\r\n`);
      raw.write(jpeg);
      raw.write('\r\n');
    });
    raw.once('close', leave);
    return reply;
  }

  async #file(
    folder: string | undefined,
    kind: 'jpg' | 'mp4',
    request: FastifyRequest<{ Params: { '*': string } }>,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    return (
      (await sendStored(folder, kind, request.params['*'], request, reply)) ??
      refuse(reply, 404, 'there is no such file')
    );
  }

  #changeThresholds(
    request: FastifyRequest<{ Params: { camera: string }; Body: unknown }>,
    reply: FastifyReply,
  ): FastifyReply {
    const { control } = this.#options;
    if (!this.#access.mayChange(request)) return refuse(reply, 401, 'changes need the token');
    const camera = control.camera(request.params.camera);
    if (camera === undefined) return refuse(reply, 404, 'there is no such camera');
    const given = Object.entries(isRecord(request.body) ? request.body : {});
    const wrong = given.find(([, value]) => typeof value !== 'number' || !(value >= 0 && value <= 1));
    if (given.length === 0 || wrong !== undefined) {
      const what = wrong === undefined ? 'nothing' : `${wrong[0]}: ${JSON.stringify(wrong[1])}`;
      return refuse(reply, 400, `expected classes with numbers from 0 to 1, found ${what}`);
    }
    const { thresholds } = camera;
    const classes = new Map([...thresholds.classes, ...(given as [string, number][])]);
    control.useCamera({ ...camera, thresholds: { ...thresholds, classes } });
    return reply.send(thresholdsOf(control, camera.name));
  }

  #switch(
    request: FastifyRequest<{ Params: { camera: string }; Body: unknown }>,
    reply: FastifyReply,
  ): FastifyReply {
    if (!this.#access.mayChange(request)) return refuse(reply, 401, 'changes need the token');
    const { enabled } = (isRecord(request.body) ? request.body : {}) as { readonly enabled?: unknown };
    if (typeof enabled !== 'boolean') return refuse(reply, 400, 'expected {"enabled": true} or false');
    const found = this.#options.control.setEnabled(request.params.camera, enabled);
    return found ? reply.send({ enabled }) : refuse(reply, 404, 'there is no such camera');
  }
}

function refuse(reply: FastifyReply, code: number, message: string): FastifyReply {
  return reply.code(code).send({ error: message });
}

/** Objects are shown by their boxes; addresses of cameras are nobody's business here. */
function withoutObjects({ objects, ...status }: CameraStatus) {
  return { ...status, objects: objects.length };
}

function thresholdsOf(control: SiteControl, camera: string) {
  const { thresholds } = control.camera(camera) ?? {};
  return {
    base: thresholds?.base ?? 0,
    classes: Object.fromEntries(thresholds?.classes ?? []),
    conditions: Object.fromEntries(
      [...(thresholds?.conditions ?? [])].map(([state, classes]) => [state, Object.fromEntries(classes)]),
    ),
  };
}
