// Events to a real web server: one that is slow, fails, sends elsewhere, or is not there.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createWebhook, type WebhookOptions } from '../../../../runtime/site/sinks/webhook.ts';
import { freePort } from '../../../support/mosquitto.ts';
import { eventually, notice, objectEvent } from './site-objects.ts';

interface Received {
  readonly message: string;
  readonly headers: IncomingMessage['headers'];
  readonly path: string;
}

class Receiver {
  readonly received: Received[] = [];
  readonly #server: Server;
  /** Status of the answer to the nth request (from 0); 0: no answer. */
  answer: (request: number) => number = () => 204;

  constructor() {
    this.#server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        const status = this.answer(this.received.length);
        this.received.push({ message: body, headers: request.headers, path: request.url ?? '' });
        if (status === 0) return;
        response.writeHead(status, { Location: '/elsewhere' }).end('thanks');
      });
    });
  }

  async listen(port = 0): Promise<string> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/hook`;
  }

  get messages(): readonly string[] {
    return this.received.map(({ message }) => JSON.parse(message).message);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

let receiver = new Receiver();
afterEach(async () => {
  await receiver.close();
  receiver = new Receiver();
});

function open(url: string, changes: Partial<WebhookOptions> = {}) {
  const notices: string[] = [];
  const hook = createWebhook({
    url,
    timeoutSeconds: 5,
    retrySeconds: [0.01, 0.05],
    onNotice: (message) => notices.push(message),
    ...changes,
  });
  return { hook, notices };
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, place) => `${from + place}`);

describe('a webhook', () => {
  it('gets every event once, in order, and what waits at the end', async () => {
    const { hook, notices } = open(await receiver.listen());
    const event = objectEvent('new');
    hook.accept(event);
    for (const number of numbers(0, 20)) hook.accept(notice(number));
    await hook.close();
    await hook.close();
    hook.accept(notice('late'));
    expect(JSON.parse(receiver.received[0]?.message ?? '')).toEqual(event);
    expect(receiver.messages.slice(1)).toEqual(numbers(0, 20));
    expect(receiver.received[0]?.headers['content-type']).toBe('application/json');
    expect(notices).toEqual([]);
  });

  it('is asked again after an error, without a loss or a change of order', async () => {
    const { hook, notices } = open(await receiver.listen());
    receiver.answer = (request) => (request < 3 ? 503 : 200);
    for (const number of numbers(0, 3)) hook.accept(notice(number));
    await hook.close();
    expect(receiver.messages).toEqual(['0', '0', '0', '0', '1', '2']);
    expect(notices).toEqual([
      expect.stringMatching(/^webhook http:\/\/127\.0\.0\.1:\d+: answered 503$/),
      expect.stringMatching(/takes events again$/),
    ]);
  });

  it('that fails for ever on one event gets the next; a refusal is not repeated', async () => {
    const { hook, notices } = open(await receiver.listen());
    receiver.answer = (request) => (request < 5 ? 500 : request === 5 ? 404 : 200);
    for (const number of numbers(0, 3)) hook.accept(notice(number));
    await hook.close();
    expect(receiver.messages).toEqual(['0', '0', '0', '0', '0', '1', '2']);
    expect(notices.at(-1)).toMatch(/takes events again; 2 events were dropped meanwhile/);
  });

  it('that answers late is given up after the time-out, and asked again', async () => {
    const { hook, notices } = open(await receiver.listen(), { timeoutSeconds: 0.2 });
    receiver.answer = (request) => (request === 0 ? 0 : 200);
    hook.accept(notice('0'));
    await eventually(() => receiver.received.length === 2);
    await hook.close();
    expect(notices[0]).toMatch(/no answer within 0.2 s/);
  });

  it('that is slow holds a bounded number of events, and the end does not wait for it', async () => {
    const { hook, notices } = open(await receiver.listen(), { timeoutSeconds: 0.3, maxWaiting: 10 });
    receiver.answer = () => 0;
    for (const number of numbers(0, 50)) hook.accept(notice(number));
    const started = Date.now();
    await hook.close();
    expect(Date.now() - started).toBeLessThan(2000);
    expect(notices.at(-1)).toMatch(/50 events could not be delivered/);
  });

  it('that is not there gets what waited, oldest first, when it comes', async () => {
    const port = await freePort();
    const { hook, notices } = open(`http://127.0.0.1:${port}/hook`, { maxWaiting: 10 });
    hook.accept(notice('0'));
    await eventually(() => notices.length === 1);
    expect(notices[0]).toMatch(/ECONNREFUSED/);
    for (const number of numbers(1, 15)) hook.accept(notice(number));
    await receiver.listen(port);
    await hook.close();
    // The one under way stays.
    expect(receiver.messages).toEqual(['0', ...numbers(6, 15)]);
    expect(notices.at(-1)).toMatch(/takes events again; 5 events were dropped meanwhile/);
  });

  it('does not send elsewhere', async () => {
    const { hook, notices } = open(await receiver.listen());
    receiver.answer = (request) => (request === 0 ? 307 : 200);
    hook.accept(notice('0'));
    await hook.close();
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook']);
    expect(notices[0]).toMatch(/answered 307, and redirects are not followed/);
    expect(notices[1]).toMatch(/1 events could not be delivered/);
  });

  it('is given its user and password, which are said nowhere', async () => {
    const url = (await receiver.listen()).replace('//', '//me:p%40ss@');
    const { hook, notices } = open(`${url}?token=abc`);
    receiver.answer = () => 400;
    hook.accept(notice('0'));
    await hook.close();
    expect(receiver.received[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
    );
    expect(receiver.received[0]?.path).toBe('/hook?token=abc');
    expect(notices[0]).toMatch(/^webhook http:\/\/127\.0\.0\.1:\d+: answered 400$/);
    expect(notices.join()).not.toMatch(/p@ss|p%40ss|abc|hook:/);
  });

  it('that is back at the end is not kept waiting for the back-off', async () => {
    const port = await freePort();
    const { hook, notices } = open(`http://me:50%@127.0.0.1:${port}/hook`, { retrySeconds: [0.1, 60] });
    hook.accept(notice('0'));
    await eventually(() => notices.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 1700));
    await receiver.listen(port);
    const started = Date.now();
    await hook.close();
    expect(Date.now() - started).toBeLessThan(700);
    expect(receiver.messages).toEqual(['0']);
  });

  it('needs an address', async () => {
    await receiver.listen();
    expect(() => open('ftp://me:secret@host/x')).toThrow("webhook: 'ftp://***@host/x' is no web address");
    expect(() => open('nowhere')).toThrow(/is no web address/);
  });
});
