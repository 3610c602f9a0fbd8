// The connection to a broker that may be away: what is, is said again when it is back; what happened, waits for a while.
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import { redactCredentials } from '../../../ffmpeg/index.ts';

export interface BrokerLinkOptions {
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  readonly clientId: string;
  /** Retained topic that says whether we are there: `online`, `offline` (last will) or `stopped`. */
  readonly availableTopic: string;
  /** Topics whose messages are commands. */
  readonly commands: readonly string[];
  /** Topics that an earlier run may have left values on; heard for a moment after every connection. */
  readonly leftovers: string;
  readonly onCommand: (topic: string, payload: Buffer, isRetained: boolean) => void;
  readonly onLeftover: (topic: string, payload: Buffer) => void;
  readonly onConnected: () => void;
  /** Told once per fault of an outage, and when it is over. No secrets. */
  readonly onNotice: (message: string) => void;
  /** Most messages that wait while the broker is away; then the oldest are dropped and counted. */
  readonly maxWaiting: number;
  /** Between two tries: the first, and the longest; doubled each time. */
  readonly retrySeconds: readonly [first: number, longest: number];
}

interface Message {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
}

/** Messages that the broker has not confirmed: few, so that a broker that freezes does not fill our memory. */
const MAX_FLYING = 32;
/** A connection that held this long starts the back-off anew; two clients of one name throw each other out at once. */
const STEADY_MS = 10_000;
const LEFTOVERS_MS = 2000;
const CLOSE_MS = 3000;

/**
 * Every connection is a client of its own, and what it did not confirm goes back in front of the queue: so each message
 * arrives once or, around a break, twice, and never an old state after a new one.
 */
export class BrokerLink {
  readonly #options: BrokerLinkOptions;
  readonly #states = new Map<string, string>();
  readonly #unsaid = new Set<string>();
  readonly #waiting: Message[] = [];
  readonly #flying = new Set<Message>();
  #client: MqttClient | undefined;
  /** Set once subscribed: only then is anything said. */
  #isReady = false;
  #failures = 0;
  #readyMs = 0;
  /** What was said of the outage that is now. */
  readonly #faults = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #idle: (() => void) | undefined;
  #isClosed = false;
  /** Messages that were dropped since the start. */
  lost = 0;
  #lostBefore = 0;

  constructor(options: BrokerLinkOptions) {
    this.#options = options;
    this.#states.set(options.availableTopic, 'online');
  }

  /** A retained value: only the latest counts. An empty one takes it off the broker. */
  say(topic: string, payload: string): void {
    if (this.#states.get(topic) === payload) return;
    this.#states.set(topic, payload);
    this.#unsaid.add(topic);
    this.#pump();
  }

  /** A value that holds until another is known. */
  sayFirst(topic: string, payload: string): void {
    if (!this.has(topic)) this.say(topic, payload);
  }

  has(topic: string): boolean {
    return (this.#states.get(topic) ?? '') !== '';
  }

  /** Takes values off the broker. */
  forget(isMeant: (topic: string) => boolean): void {
    for (const topic of [...this.#states.keys()]) if (isMeant(topic)) this.say(topic, '');
  }

  /** Something that happened. */
  tell(topic: string, payload: string): void {
    this.#waiting.push({ topic, payload, retain: false });
    while (this.#waiting.length > this.#options.maxWaiting) {
      this.#waiting.shift();
      this.lost++;
    }
    this.#pump();
  }

  /** Something of no use later on: said where there is room for it, now. */
  mention(topic: string, payload: string): void {
    if (this.#isReady && this.#waiting.length < this.#options.maxWaiting) this.tell(topic, payload);
  }

  open(): void {
    if (this.#isClosed) return;
    const { url, username, password, clientId, availableTopic } = this.#options;
    const options: IClientOptions = {
      clientId,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      clean: true,
      reconnectPeriod: 0,
      connectTimeout: 10_000,
      keepalive: 15,
      queueQoSZero: false,
      will: { topic: availableTopic, payload: Buffer.from('offline'), qos: 1, retain: true },
    };
    const client = connect(url, options);
    this.#client = client;
    client.on('error', (error) => this.#hearFault(error));
    client.on('connect', () => this.#subscribe(client));
    client.on('close', () => this.#drop(client));
    client.on('message', (topic, payload, { retain }) => this.#hear(topic, payload, retain));
  }

  /** Says what is left, then `stopped`; gives up after some seconds. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const end = AbortSignal.timeout(CLOSE_MS);
    await this.#untilIdle(end);
    if (this.#isReady) {
      this.say(this.#options.availableTopic, 'stopped');
      await this.#untilIdle(end);
    }
    const unsaid = [...this.#waiting, ...this.#flying].filter(({ retain }) => !retain).length;
    this.lost += unsaid;
    if (unsaid > 0) this.#options.onNotice(`${this.#name}: ${unsaid} messages could not be sent at the end`);
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    await Promise.race([client.endAsync(!this.#isReady), aborted(AbortSignal.timeout(1000))]);
    client.end(true);
    this.#isReady = false;
  }

  get #name(): string {
    return `MQTT broker ${redactCredentials(this.#options.url)}`;
  }

  #subscribe(client: MqttClient): void {
    const { commands, leftovers } = this.#options;
    client.subscribe([...commands, leftovers], { qos: 1 }, (error) => {
      if (client !== this.#client || !client.connected) return;
      if (error) this.#options.onNotice(`${this.#name}: commands cannot be heard: ${error.message}`);
      setTimeout(() => client.connected && client.unsubscribe(leftovers), LEFTOVERS_MS).unref();
      this.#begin();
    });
  }

  #begin(): void {
    this.#isReady = true;
    this.#readyMs = Date.now();
    const lost = this.lost - this.#lostBefore;
    this.#lostBefore = this.lost;
    if (this.#faults.size > 0)
      this.#options.onNotice(
        `${this.#name}: connected again${lost > 0 ? `; ${lost} messages were dropped meanwhile` : ''}`,
      );
    this.#faults.clear();
    for (const topic of this.#states.keys()) this.#unsaid.add(topic);
    this.#options.onConnected();
    this.#pump();
  }

  #hear(topic: string, payload: Buffer, isRetained: boolean): void {
    // What we say ourselves comes back on the leftovers, but not as retained.
    if (topic.endsWith('/set')) this.#options.onCommand(topic, payload, isRetained);
    else if (isRetained && payload.length > 0 && !this.has(topic)) this.#options.onLeftover(topic, payload);
  }

  #hearFault(error: Error): void {
    if (this.#isClosed) return;
    const fault = faultText(error);
    if (this.#faults.has(fault)) return;
    this.#faults.add(fault);
    this.#options.onNotice(`${this.#name}: ${redactCredentials(fault)}; it is tried again and again`);
  }

  #drop(client: MqttClient): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    this.#isReady = false;
    client.end(true);
    this.#waiting.unshift(...[...this.#flying].filter(({ retain }) => !retain));
    this.#flying.clear();
    this.#idle?.();
    if (this.#isClosed) return;
    if (this.#faults.size === 0) this.#hearFault(new Error('the connection was closed'));
    if (this.#readyMs > 0 && Date.now() - this.#readyMs > STEADY_MS) this.#failures = 0;
    this.#readyMs = 0;
    const [first, longest] = this.#options.retrySeconds;
    const seconds = Math.min(longest, first * 2 ** this.#failures++);
    this.#timer = setTimeout(() => this.open(), 1000 * seconds);
  }

  #pump(): void {
    while (this.#isReady && this.#flying.size < MAX_FLYING) {
      const message = this.#next();
      if (message === undefined) {
        if (this.#flying.size === 0) this.#idle?.();
        return;
      }
      this.#send(message);
    }
  }

  /** What is goes before what happened. */
  #next(): Message | undefined {
    for (const topic of this.#unsaid) {
      this.#unsaid.delete(topic);
      const payload = this.#states.get(topic) ?? '';
      // What is off the broker need not be taken off again.
      if (payload === '') this.#states.delete(topic);
      return { topic, payload, retain: true };
    }
    return this.#waiting.shift();
  }

  #send(message: Message): void {
    const client = this.#client;
    if (client === undefined) return;
    this.#flying.add(message);
    client.publish(message.topic, message.payload, { qos: 1, retain: message.retain }, () => {
      // After a break it is in the queue again, whatever this client says of it.
      if (client !== this.#client) return;
      this.#flying.delete(message);
      this.#pump();
    });
  }

  async #untilIdle(end: AbortSignal): Promise<void> {
    const isIdle = () => !this.#isReady || this.#flying.size + this.#waiting.length + this.#unsaid.size === 0;
    if (isIdle()) return;
    await Promise.race([
      aborted(end),
      new Promise<void>((resolve) => {
        this.#idle = resolve;
      }),
    ]);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** A name with several addresses fails with several errors and no message of its own. */
function faultText(error: Error): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors
      .map((each: unknown) => (each instanceof Error ? each.message : String(each)))
      .join(', ');
  return error.message || error.name;
}
