// Every event as an HTTP POST to an address of the operator's choice.
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '#core';
import { redactCredentials } from '../../ffmpeg/index.ts';
import type { SiteEvent } from '../events.ts';
import type { SiteSink } from '../run-site.ts';

export interface WebhookOptions {
  readonly url: string;
  /** Until an answer must have come. */
  readonly timeoutSeconds: number;
  /** Told once per fault of an outage, and when it is over. No secrets. */
  readonly onNotice: (message: string) => void;
  /** Most events that wait; then the oldest are dropped and counted. Default 1000. */
  readonly maxWaiting?: number;
  /** Between two tries: the first, and the longest; doubled each time. Default 1 to 60. */
  readonly retrySeconds?: readonly [first: number, longest: number];
}

/** A receiver that answers with errors may have trouble with one event: the others shall not wait for it for ever. */
const MAX_REFUSALS = 5;

type Outcome =
  | { readonly kind: 'taken' }
  /** Asked again: the receiver was not there, or said that it may be later. */
  | { readonly kind: 'later'; readonly reason: string; readonly isAnswered: boolean }
  /** Would be refused again. */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * One event a request, one request at a time, in order. An event is asked for again while the receiver cannot be
 * reached, five times where it answers 408, 429 or 5xx, and not at all where it answers anything else but 2xx; redirects
 * are not followed, since events and secrets would go elsewhere.
 * @throws ConfigError where the address is none
 */
export function createWebhook(options: WebhookOptions): SiteSink {
  const { url } = options;
  if (!URL.canParse(url) || !['http:', 'https:'].includes(new URL(url).protocol)) {
    throw new ConfigError(`webhook: '${redactCredentials(url)}' is no web address`, {
      hint: 'write http:// or https:// with host and path',
    });
  }
  return new Webhook(options);
}

class Webhook implements SiteSink {
  readonly #options: WebhookOptions;
  readonly #address: string;
  readonly #name: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #waiting: string[] = [];
  readonly #faults = new Set<string>();
  readonly #stop = new AbortController();
  readonly #hurry = new AbortController();
  #lost = 0;
  #work: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: WebhookOptions) {
    this.#options = options;
    const url = new URL(options.url);
    const user = `${decoded(url.username)}:${decoded(url.password)}`;
    url.username = '';
    url.password = '';
    this.#address = url.href;
    // The path of many a webhook is its password.
    this.#name = `webhook ${url.origin}`;
    this.#headers = {
      'Content-Type': 'application/json',
      'User-Agent': 'edge-detect',
      ...(user !== ':' && { Authorization: `Basic ${Buffer.from(user).toString('base64')}` }),
    };
  }

  accept(event: SiteEvent): void {
    if (this.#isClosed) return;
    this.#waiting.push(JSON.stringify(event));
    // The first one is on its way.
    const { maxWaiting = 1000 } = this.#options;
    while (this.#waiting.length > maxWaiting) {
      this.#waiting.splice(this.#work === undefined ? 0 : 1, 1);
      this.#lost++;
    }
    this.#work ??= this.#deliver();
  }

  /** Gives what waits the time of one answer. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#hurry.abort();
    const timer = setTimeout(() => this.#stop.abort(), 1000 * this.#options.timeoutSeconds);
    await this.#work;
    clearTimeout(timer);
    this.#lost += this.#waiting.length;
    if (this.#lost > 0) this.#options.onNotice(`${this.#name}: ${this.#lost} events could not be delivered`);
  }

  async #deliver(): Promise<void> {
    let tries = 0;
    let refusals = 0;
    for (
      let body = this.#waiting[0];
      body !== undefined && !this.#stop.signal.aborted;
      body = this.#waiting[0]
    ) {
      const outcome = await this.#post(body);
      if (outcome.kind === 'taken') this.#sayRecovered();
      else if (!this.#stop.signal.aborted) this.#sayFault(outcome.reason);
      if (outcome.kind === 'later') {
        if (outcome.isAnswered) refusals++;
        if (refusals < MAX_REFUSALS) {
          await this.#pause(tries++);
          continue;
        }
      }
      if (outcome.kind !== 'taken') this.#lost++;
      this.#waiting.shift();
      tries = 0;
      refusals = 0;
    }
    this.#work = undefined;
  }

  async #pause(tries: number): Promise<void> {
    const [first, longest] = this.#options.retrySeconds ?? [1, 60];
    const seconds = this.#isClosed ? first : Math.min(longest, first * 2 ** tries);
    const { signal } = this.#isClosed ? this.#stop : this.#hurry;
    await sleep(1000 * seconds, undefined, { signal }).catch(() => undefined);
  }

  async #post(body: string): Promise<Outcome> {
    const { timeoutSeconds } = this.#options;
    const timeout = AbortSignal.timeout(1000 * timeoutSeconds);
    try {
      const response = await fetch(this.#address, {
        method: 'POST',
        headers: this.#headers,
        body,
        redirect: 'manual',
        signal: AbortSignal.any([timeout, this.#stop.signal]),
      });
      // Nobody reads the answer, and an unread one would hold its connection.
      await response.body?.cancel();
      return outcomeOf(response.status);
    } catch (error) {
      const reason = timeout.aborted ? `no answer within ${timeoutSeconds} s` : causeOf(error);
      return { kind: 'later', reason, isAnswered: false };
    }
  }

  #sayFault(reason: string): void {
    if (this.#faults.has(reason)) return;
    this.#faults.add(reason);
    this.#options.onNotice(`${this.#name}: ${redactCredentials(reason)}`);
  }

  #sayRecovered(): void {
    if (this.#faults.size === 0) return;
    this.#faults.clear();
    const lost = this.#lost === 0 ? '' : `; ${this.#lost} events were dropped meanwhile`;
    this.#lost = 0;
    this.#options.onNotice(`${this.#name}: takes events again${lost}`);
  }
}

function outcomeOf(status: number): Outcome {
  if (status >= 200 && status < 300) return { kind: 'taken' };
  if (status >= 300 && status < 400)
    return { kind: 'refused', reason: `answered ${status}, and redirects are not followed` };
  const reason = `answered ${status}`;
  return status >= 500 || status === 408 || status === 429
    ? { kind: 'later', reason, isAnswered: true }
    : { kind: 'refused', reason };
}

/** A `%` that stands for itself is no mistake here. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** fetch says `fetch failed`, and the reason lies beneath. */
function causeOf(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  if (cause instanceof AggregateError && cause.message === '')
    return cause.errors
      .map((each: unknown) => (each instanceof Error ? each.message : String(each)))
      .join(', ');
  if (cause instanceof Error) return cause.message;
  return error instanceof Error ? error.message : String(error);
}
