// A site on an MQTT broker, with the topics that houses already listen to: events, counts, states, and commands.
import { ConfigError } from '#core';
import { redactCredentials } from '../../../ffmpeg/index.ts';
import type { CameraStatus } from '../../camera.ts';
import type { SiteEvent } from '../../events.ts';
import type { SiteSink } from '../../run-site.ts';
import type { SiteMqtt } from '../../site.ts';
import { leastScore } from '../../thresholds.ts';
import { CommandFault, type MessageControl, obey, shorten } from './commands.ts';
import {
  type Discovery,
  type DiscoveryOptions,
  discoverCamera,
  discoverClass,
  discoverDrift,
} from './home-assistant.ts';
import { BrokerLink } from './link.ts';
import { clipForm, driftForm, eventForm, objectForm, statsForm } from './payloads.ts';
import { createTopics, type Topics } from './topics.ts';

export interface MqttSinkOptions {
  readonly mqtt: SiteMqtt;
  /** Of the model: the classes that thresholds may be set for. */
  readonly classNames: readonly string[];
  /** The site watches for drift: then its state is said, too. Default false. */
  readonly watchesDrift?: boolean;
  /** The site keeps a clip of every object. Default false. */
  readonly keepsClips?: boolean;
  /** Told of what an operator should know, without secrets: outages, bad commands. */
  readonly onNotice: (message: string) => void;
  /** Between two messages on `stats`. Default 60. */
  readonly statsSeconds?: number;
  /** Most events that wait while the broker is away. Default 1000. */
  readonly maxWaiting?: number;
  /** Between two tries to connect. Default 1 to 60. */
  readonly retrySeconds?: readonly [first: number, longest: number];
}

export interface MqttSink extends SiteSink {
  /** Connects, in the background: a site runs without its broker, too. Call it in `onStart`. */
  start(control: MessageControl): void;
  /** Says states and thresholds again that another hand has changed. */
  refresh(): void;
}

const PROTOCOLS = ['mqtt:', 'mqtts:', 'ws:', 'wss:'];
const UNKNOWN = 'unknown';

/** @throws ConfigError where the address is none of a broker */
export function createMqttSink(options: MqttSinkOptions): MqttSink {
  const { url } = options.mqtt;
  if (!URL.canParse(url) || !PROTOCOLS.includes(new URL(url).protocol)) {
    throw new ConfigError(`mqtt: '${redactCredentials(url)}' is no address of a broker`, {
      hint: 'write mqtt://host:1883, mqtts://host:8883, ws:// or wss://',
    });
  }
  return new Messages(options);
}

class Messages implements MqttSink {
  readonly #options: MqttSinkOptions;
  readonly #topics: Topics;
  readonly #link: BrokerLink;
  readonly #discovery: DiscoveryOptions | undefined;
  /** Topic → who counts → how many: cameras may share a zone. */
  readonly #counts = new Map<string, Map<string, number>>();
  /** Camera → what has drifted: light and measure. */
  readonly #drifts = new Map<string, Set<string>>();
  /** Camera → topics that Home Assistant finds it by. */
  readonly #discovered = new Map<string, Set<string>>();
  readonly #known = new Set<string>();
  /** As events said it: what a camera says of itself follows with its next result. */
  readonly #lights = new Map<string, string>();
  #control: MessageControl | undefined;
  #startMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MqttSinkOptions) {
    this.#options = options;
    const { url, username, password, clientId, topicPrefix, homeAssistant } = options.mqtt;
    this.#topics = createTopics(topicPrefix);
    this.#discovery = homeAssistant && {
      prefix: homeAssistant.prefix,
      siteId: topicPrefix,
      topics: this.#topics,
    };
    this.#link = new BrokerLink({
      url,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      clientId,
      availableTopic: this.#topics.available,
      commands: this.#topics.commands,
      leftovers: this.#topics.places,
      onCommand: (topic, payload, isRetained) => this.#command(topic, payload, isRetained),
      onLeftover: (topic, payload) => this.#clear(topic, payload.toString()),
      onConnected: () => {
        this.refresh();
        this.#sayStats();
      },
      onNotice: options.onNotice,
      maxWaiting: options.maxWaiting ?? 1000,
      retrySeconds: options.retrySeconds ?? [1, 60],
    });
  }

  start(control: MessageControl): void {
    this.#control = control;
    this.#startMs = Date.now();
    this.refresh();
    this.#link.open();
    const { statsSeconds = 60 } = this.#options;
    this.#timer = setInterval(() => {
      this.refresh();
      this.#sayStats();
    }, 1000 * statsSeconds).unref();
  }

  refresh(): void {
    const control = this.#control;
    if (control === undefined) return;
    for (const status of control.cameras) {
      this.#known.add(status.name);
      this.#introduce(status.name, control);
      this.#sayCamera(status, control);
    }
    for (const name of this.#known) if (control.camera(name) === undefined) this.#forget(name);
  }

  accept(event: SiteEvent): void {
    const { of, events } = this.#topics;
    const { keepsClips = false } = this.#options;
    const time = event.atMs / 1000;
    switch (event.kind) {
      case 'object':
        this.#tell(events, eventForm(event, keepsClips));
        return;
      case 'zone': {
        const { type, zone, camera } = event;
        this.#tell(of(camera, 'zone'), {
          type,
          zone,
          camera,
          time,
          object: objectForm(event.object, keepsClips),
        });
        return;
      }
      case 'line': {
        const { line, direction, camera } = event;
        this.#tell(of(camera, 'line'), {
          line,
          direction,
          camera,
          time,
          object: objectForm(event.object, keepsClips),
        });
        return;
      }
      case 'count':
        this.#count(event.camera, event.place, event.className, event.count);
        return;
      case 'camera':
        this.#link.say(of(event.camera, 'state'), event.state);
        // A camera that is new to the site says this before it can be asked for.
        setImmediate(() => this.refresh());
        return;
      case 'light':
        this.#lights.set(event.camera, event.state);
        this.#link.say(of(event.camera, 'light'), event.state);
        this.#sayThresholds(event.camera, event.state);
        return;
      case 'clip':
        this.#tell(of(event.camera, 'clip'), clipForm(event));
        return;
      case 'drift':
        this.#tell(of(event.camera, 'drift'), driftForm(event));
        this.#drift(event);
        return;
      case 'notice':
        this.#tell(of(event.camera, 'notice'), { time, message: redactCredentials(event.message) });
        return;
      default:
        event satisfies never;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#link.close();
  }

  #tell(topic: string, payload: unknown): void {
    this.#link.tell(topic, JSON.stringify(payload));
  }

  /** Counts that no event has named yet, so that nobody reads those of an earlier run. */
  #introduce(camera: string, control: MessageControl): void {
    const { classes, zones = [] } = control.camera(camera) ?? {};
    for (const place of [camera, ...zones.map(({ name }) => name)]) {
      for (const className of [undefined, ...(classes ?? [])])
        this.#link.sayFirst(this.#topics.count(place, className), '0');
    }
    if (this.#discovery === undefined) return;
    this.#discover(camera, discoverCamera(camera, this.#discovery));
    if (this.#options.watchesDrift === true) this.#discover(camera, discoverDrift(camera, this.#discovery));
    for (const className of classes ?? []) this.#discoverClass(camera, className);
  }

  #drift({ camera, light = UNKNOWN, measure, state }: Extract<SiteEvent, { kind: 'drift' }>): void {
    const drifted = this.#drifts.get(camera) ?? new Set<string>();
    this.#drifts.set(camera, drifted);
    if (state === 'begins') drifted.add(`${light}/${measure}`);
    else drifted.delete(`${light}/${measure}`);
    this.#link.say(this.#topics.of(camera, 'drift', 'state'), drifted.size > 0 ? 'ON' : 'OFF');
  }

  #discoverClass(camera: string, className: string): void {
    if (this.#discovery !== undefined)
      this.#discover(camera, discoverClass(camera, className, this.#discovery));
  }

  #discover(camera: string, messages: Discovery): void {
    const topics = this.#discovered.get(camera) ?? new Set<string>();
    this.#discovered.set(camera, topics);
    for (const [topic, payload] of messages) {
      topics.add(topic);
      this.#link.say(topic, payload);
    }
  }

  /** A camera that the site no longer has leaves nothing behind. */
  #forget(camera: string): void {
    this.#known.delete(camera);
    this.#lights.delete(camera);
    this.#drifts.delete(camera);
    this.#link.forget((topic) => topic.startsWith(`${this.#topics.of(camera)}/`));
    this.#link.forget((topic) => this.#discovered.get(camera)?.has(topic) === true);
    this.#discovered.delete(camera);
  }

  #sayCamera({ name, state, enabled, ...status }: CameraStatus, control: MessageControl): void {
    const { of } = this.#topics;
    const light = this.#lights.get(name) ?? status.light;
    this.#link.say(of(name, 'state'), state);
    this.#link.say(of(name, 'enabled', 'state'), enabled ? 'ON' : 'OFF');
    if (light !== undefined || control.camera(name)?.light !== undefined)
      this.#link.say(of(name, 'light'), light ?? UNKNOWN);
    if (this.#options.watchesDrift === true) this.#link.sayFirst(of(name, 'drift', 'state'), 'OFF');
    this.#sayThresholds(name, light);
  }

  #sayThresholds(name: string, light: string | undefined): void {
    const thresholds = this.#control?.camera(name)?.thresholds;
    if (thresholds === undefined) return;
    const named = [...thresholds.conditions.values()].flatMap((scores) => [...scores.keys()]);
    for (const className of new Set(['*', ...thresholds.classes.keys(), ...named])) {
      const score = leastScore(thresholds, className, light);
      this.#link.say(this.#topics.threshold(name, className, 'state'), String(Number(score.toFixed(4))));
    }
  }

  #count(camera: string, place: string, className: string, count: number): void {
    if (place === camera) this.#discoverClass(camera, className);
    this.#add(this.#topics.count(place, className), `${camera}\n${className}`, count);
    this.#add(this.#topics.count(place, undefined), `${camera}\n${className}`, count);
  }

  #add(topic: string, who: string, count: number): void {
    const counts = this.#counts.get(topic) ?? new Map<string, number>();
    this.#counts.set(topic, counts.set(who, count));
    this.#link.say(topic, String([...counts.values()].reduce((sum, each) => sum + each, 0)));
  }

  #sayStats(): void {
    if (this.#control === undefined) return;
    const stats = statsForm(this.#control, this.#startMs, this.#link.lost);
    this.#link.mention(this.#topics.stats, JSON.stringify(stats));
  }

  /** A run that was killed left counts on the broker, which nobody else would take back. */
  #clear(topic: string, payload: string): void {
    const [place = '', word = ''] = this.#topics.levels(topic) ?? [];
    const isKnown = this.#link.has(this.#topics.of(place, 'all'));
    if (/^\d+$/.test(payload)) this.#link.say(topic, isKnown ? '0' : '');
    else if (!isKnown && ['state', 'light'].includes(word)) this.#link.say(topic, '');
  }

  #command(topic: string, payload: Buffer, isRetained: boolean): void {
    const levels = this.#topics.levels(topic);
    const control = this.#control;
    if (levels === undefined || control === undefined) return;
    const text = payload.subarray(0, 1000).toString();
    try {
      if (isRetained)
        throw new CommandFault(
          'a retained command would be obeyed at every connection: send it without retain',
        );
      obey(levels, text, { control, classNames: this.#options.classNames });
      this.refresh();
    } catch (error) {
      if (!(error instanceof CommandFault)) throw error;
      this.#options.onNotice(`MQTT command on ${shorten(topic, 200)}: ${error.message}`);
      this.#tell(this.#topics.error, {
        topic: shorten(topic, 200),
        payload: shorten(text),
        message: error.message,
      });
    }
  }
}
