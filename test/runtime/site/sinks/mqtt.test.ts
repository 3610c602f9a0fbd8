// A site on a real mosquitto: what a second client reads at every step, through restarts, kills and bad commands.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CameraStatus } from '../../../../runtime/site/camera.ts';
import type { MessageControl } from '../../../../runtime/site/sinks/mqtt/commands.ts';
import { createMqttSink, type MqttSinkOptions } from '../../../../runtime/site/sinks/mqtt/mqtt-sink.ts';
import { createTopics } from '../../../../runtime/site/sinks/mqtt/topics.ts';
import type { SiteCamera, SiteMqtt } from '../../../../runtime/site/site.ts';
import {
  freePort,
  type Listener,
  Mosquitto,
  mosquittoAvailable,
  mosquittoNote,
  Road,
} from '../../../support/mosquitto.ts';
import { RunFolder } from '../../../support/run-folder.ts';
import { eventually, notice, objectEvent, siteObject } from './site-objects.ts';

const CHILD = fileURLToPath(new URL('../../../support/mqtt-child.mjs', import.meta.url));
const CLASSES = ['car', 'person', 'traffic light', 'light'];

const CAMERA: SiteCamera = {
  name: 'gate',
  source: 'rtsp://user:secret@10.0.0.1/live',
  enabled: true,
  classes: new Set(['car', 'person']),
  thresholds: {
    base: 0.25,
    classes: new Map([['car', 0.5]]),
    conditions: new Map([
      [
        'night',
        new Map([
          ['*', 0.3],
          ['car', 0.6],
        ]),
      ],
    ]),
  },
  filters: new Map(),
  zones: [{ name: 'street', region: Float64Array.of(0, 0, 1, 0, 1, 1), inertia: 1 }],
  lines: [],
  stallSeconds: 4,
  rtspTransport: 'tcp',
  light: 'auto',
  minFrames: 3,
  minMedianScore: 0,
};

/** A site that only remembers what it was told: the messages are what is looked at here. */
class SiteState implements MessageControl {
  readonly waiting = 2;
  readonly #cameras: Map<string, SiteCamera>;
  readonly enabled = new Map<string, boolean>();

  constructor(cameras: readonly SiteCamera[] = [CAMERA]) {
    this.#cameras = new Map(cameras.map((camera) => [camera.name, camera]));
  }

  get cameras(): readonly CameraStatus[] {
    return [...this.#cameras.values()].map(({ name }) => ({
      name,
      state: 'live',
      enabled: this.enabled.get(name) ?? true,
      lastFrameMs: 1_764_624_000_000,
      frameAgeMs: 41.6,
      frames: 100,
      dropped: 3,
      skipped: 0,
      reconnects: 1,
      objects: [siteObject()],
    }));
  }

  setEnabled(name: string, enabled: boolean): boolean {
    this.enabled.set(name, enabled);
    return this.#cameras.has(name);
  }

  useCamera(camera: SiteCamera): boolean {
    this.#cameras.set(camera.name, camera);
    return true;
  }

  camera(name: string): SiteCamera | undefined {
    return this.#cameras.get(name);
  }

  remove(name: string): void {
    this.#cameras.delete(name);
  }
}

interface OpenOptions extends Partial<Omit<MqttSinkOptions, 'mqtt'>> {
  readonly mqtt?: Partial<SiteMqtt>;
  readonly site?: SiteState;
}

function open(url: string, { mqtt, site = new SiteState(), ...options }: OpenOptions = {}) {
  const notices: string[] = [];
  const sink = createMqttSink({
    classNames: CLASSES,
    retrySeconds: [0.05, 0.2],
    onNotice: (message) => notices.push(message),
    ...options,
    mqtt: { url, topicPrefix: 'edge', clientId: `test-${Math.random()}`, ...mqtt },
  });
  sink.start(site);
  return { sink, site, notices };
}

describe('topics', () => {
  it('have no separators and wildcards in their levels, and keep the words of the states', () => {
    const topics = createTopics('/house/cams #1/');
    expect(topics.available).toBe('house/cams_1/available');
    expect(topics.count('gate', 'traffic light')).toBe('house/cams_1/gate/traffic_light');
    expect(topics.count('gate', 'a/b+#\u0000$c')).toBe('house/cams_1/gate/a_b_c');
    expect(topics.count('gate', 'light')).toBe('house/cams_1/gate/light_');
    expect(topics.count('gate', 'Fußgänger')).toBe('house/cams_1/gate/Fußgänger');
    expect(topics.threshold('gate', '*', 'set')).toBe('house/cams_1/gate/threshold/default/set');
    expect(topics.levels('house/cams_1/gate/enabled/set')).toEqual(['gate', 'enabled', 'set']);
    expect(topics.levels('house/cams_10/gate')).toBeUndefined();
  });

  it('refuse an address that is none, without its password', () => {
    const mqtt = { topicPrefix: 'edge', clientId: 'x' };
    const options = { classNames: [], onNotice: () => undefined };
    expect(() => createMqttSink({ ...options, mqtt: { ...mqtt, url: 'http://me:secret@host' } })).toThrow(
      "mqtt: 'http://***@host' is no address of a broker",
    );
    expect(() => createMqttSink({ ...options, mqtt: { ...mqtt, url: 'host:1883' } })).toThrow(/no address/);
  });
});

describe.skipIf(!mosquittoAvailable)(`a site on a broker${mosquittoNote}`, () => {
  let broker: Mosquitto;
  let listener: Listener;
  beforeAll(async () => {
    broker = await Mosquitto.start();
    listener = await broker.listen('edge/#');
  });
  afterAll(async () => {
    await listener.close();
    await broker.close();
  });

  it('promises a clip of every object where the site keeps them', async () => {
    const heard = await broker.listen('clips/#');
    const { sink } = open(broker.url, { keepsClips: true, mqtt: { topicPrefix: 'clips' } });
    sink.accept(objectEvent('new'));
    await eventually(() => heard.of('clips/events').length > 0);
    const { before, after } = JSON.parse(heard.of('clips/events')[0] ?? '');
    expect([before.has_clip, after.has_clip]).toEqual([true, true]);
    await sink.close();
    await heard.close();
  });

  it('says what is, what happens, and that it stops', async () => {
    const { sink, notices } = open(broker.url);
    for (const type of ['new', 'update', 'end'] as const)
      sink.accept(
        objectEvent(type, type === 'end' ? { endMs: 1_764_624_003_000, snapshot: 'gate/a.jpg' } : {}),
      );
    sink.accept({
      kind: 'zone',
      type: 'entered',
      zone: 'street',
      camera: 'gate',
      atMs: 5000,
      object: siteObject(),
    });
    sink.accept({
      kind: 'line',
      line: 'door',
      direction: 'in',
      camera: 'gate',
      atMs: 5000,
      object: siteObject(),
    });
    sink.accept({ kind: 'count', place: 'gate', className: 'car', count: 2, camera: 'gate', atMs: 5000 });
    sink.accept({ kind: 'count', place: 'gate', className: 'person', count: 1, camera: 'gate', atMs: 5000 });
    sink.accept({ kind: 'light', state: 'night', value: 3, camera: 'gate', atMs: 5000 });
    sink.accept({
      kind: 'drift',
      camera: 'gate',
      atMs: 5000,
      state: 'begins',
      measure: 'score',
      light: 'night',
      change: -0.1,
      psi: 0.4,
      psiExpected: 0.1,
      w1: 0.1,
      w1Expected: 0.02,
      tracks: 50,
    });
    sink.accept({
      kind: 'clip',
      camera: 'gate',
      atMs: 9000,
      file: 'gate/gate-1-1.mp4',
      startMs: 1000,
      endMs: 8500,
      objects: ['gate-1-1'],
    });
    sink.accept(notice('rtsp://user:secret@host/ stalled'));
    await eventually(() => listener.of('edge/gate/notice').length > 0);
    expect(JSON.parse(listener.of('edge/gate/clip')[0] as string)).toEqual({
      camera: 'gate',
      file: 'gate/gate-1-1.mp4',
      start_time: 1,
      end_time: 8.5,
      objects: ['gate-1-1'],
    });
    expect(JSON.parse(listener.of('edge/gate/drift')[0] as string)).toEqual({
      state: 'begins',
      camera: 'gate',
      time: 5,
      light: 'night',
      measure: 'score',
      change: -0.1,
      psi: 0.4,
      psi_expected: 0.1,
      w1: 0.1,
      w1_expected: 0.02,
      tracks: 50,
    });
    const retained = await broker.retained();
    expect(Object.fromEntries(retained)).toMatchObject({
      'edge/available': 'online',
      'edge/gate/drift/state': 'ON',
      'edge/gate/state': 'live',
      'edge/gate/enabled/state': 'ON',
      'edge/gate/light': 'night',
      'edge/gate/car': '2',
      'edge/gate/person': '1',
      'edge/gate/all': '3',
      'edge/street/car': '0',
      'edge/street/all': '0',
      'edge/gate/threshold/car/state': '0.6',
      'edge/gate/threshold/default/state': '0.3',
    });
    expect([...retained.keys()].filter((topic) => /events|zone|line|notice|stats/.test(topic))).toEqual([]);
    const events = listener.of('edge/events').map((text) => JSON.parse(text));
    expect(events.map(({ type }) => type)).toEqual(['new', 'update', 'end']);
    expect(events[0].after).toEqual({
      id: 'gate-1764624000000-1',
      camera: 'gate',
      frame_time: 1_764_624_002.5,
      label: 'car',
      score: 0.8,
      top_score: 0.9,
      box: [10, 20, 110, 70],
      area: 5000,
      current_zones: ['street'],
      entered_zones: ['street'],
      start_time: 1_764_624_000,
      end_time: null,
      has_snapshot: false,
      has_clip: false,
      frames: 12,
      score_std: 0.05,
      median_score: 0.75,
      median_std: 0.06,
      box_sigma: [1.5, 1, 2, 1.25],
      light: 'day',
      review: [],
      snapshot: null,
    });
    expect(events[0].before).toEqual(events[0].after);
    expect(events[2].after).toMatchObject({
      end_time: 1_764_624_003,
      has_snapshot: true,
      snapshot: 'gate/a.jpg',
    });
    expect(JSON.parse(listener.of('edge/gate/zone')[0] ?? '')).toMatchObject({
      type: 'entered',
      zone: 'street',
      time: 5,
      object: { label: 'car' },
    });
    expect(JSON.parse(listener.of('edge/gate/line')[0] ?? '')).toMatchObject({
      line: 'door',
      direction: 'in',
    });
    expect(JSON.parse(listener.of('edge/gate/notice')[0] ?? '').message).toBe('rtsp://***@host/ stalled');
    await sink.close();
    await sink.close();
    expect((await broker.retained()).get('edge/available')).toBe('stopped');
    expect(notices).toEqual([]);
  });

  it('adds up what cameras see in a zone that they share', async () => {
    const site = new SiteState([CAMERA, { ...CAMERA, name: 'yard' }]);
    const { sink } = open(broker.url, { site, mqtt: { topicPrefix: 'shared' } });
    const count = (camera: string, number: number) =>
      sink.accept({ kind: 'count', place: 'street', className: 'car', count: number, camera, atMs: 0 });
    count('gate', 2);
    count('yard', 3);
    count('gate', 1);
    await eventually(async () => (await broker.retained()).get('shared/street/car') === '4');
    await sink.close();
  });

  it('obeys commands, says what holds then, and answers bad ones', async () => {
    const { sink, site, notices } = open(broker.url);
    const state = async (topic: string, value: string) =>
      eventually(async () => (await broker.retained()).get(`edge/gate/${topic}`) === value);
    await state('enabled/state', 'ON');
    await listener.send('edge/gate/enabled/set', 'OFF');
    await state('enabled/state', 'OFF');
    expect(site.enabled.get('gate')).toBe(false);
    await listener.send('edge/gate/enabled/set', 'on');
    await state('enabled/state', 'ON');
    await listener.send('edge/gate/threshold/traffic_light/set', '0.35');
    await state('threshold/traffic_light/state', '0.35');
    await listener.send('edge/gate/threshold/car/set', ' 1 ');
    await state('threshold/car/state', '1');
    await listener.send('edge/gate/threshold/default/set', '.2');
    await state('threshold/default/state', '0.2');
    // Whatever the light.
    expect(site.camera('gate')?.thresholds).toEqual({
      base: 0.2,
      classes: new Map([
        ['car', 1],
        ['traffic light', 0.35],
      ]),
      conditions: new Map([
        [
          'night',
          new Map([
            ['*', 0.2],
            ['car', 1],
            ['traffic light', 0.35],
          ]),
        ],
      ]),
    });
    const before = site.camera('gate');
    const bad: readonly (readonly [string, string, boolean, RegExp])[] = [
      ['gate/enabled/set', 'maybe', false, /expected ON or OFF, found 'maybe'/],
      ['nobody/enabled/set', 'ON', false, /no camera nobody/],
      ['gate/threshold/car/set', '1.5', false, /a number from 0 to 1, found '1.5'/],
      ['gate/threshold/car/set', '-0.1', false, /a number from 0 to 1/],
      ['gate/threshold/car/set', '', false, /found ''/],
      ['gate/threshold/car/set', 'NaN', false, /a number/],
      ['gate/threshold/unicorn/set', '0.5', false, /no class unicorn; it has car, person/],
      ['gate/threshold/car/set', 'x'.repeat(100_000), false, /found 'x{64}…'/],
    ];
    for (const [topic, payload, retain] of bad) await listener.send(`edge/${topic}`, payload, retain);
    await eventually(() => listener.of('edge/error').length === bad.length);
    const answers = listener.of('edge/error').map((text) => JSON.parse(text));
    for (const [place, [topic, payload, , message]] of bad.entries()) {
      expect(answers[place]).toMatchObject({
        topic: `edge/${topic}`,
        message: expect.stringMatching(message),
      });
      expect(answers[place].payload).toBe(payload.length > 64 ? `${'x'.repeat(64)}…` : payload);
    }
    expect(notices).toHaveLength(bad.length);
    expect(notices[0]).toMatch(/^MQTT command on edge\/gate\/enabled\/set: expected ON or OFF/);
    expect(site.camera('gate')).toBe(before);
    await sink.close();
  });

  it('does not obey a retained command, which would come again at every connection', async () => {
    await listener.send('keep/gate/enabled/set', 'OFF', true);
    const { sink, site, notices } = open(broker.url, { mqtt: { topicPrefix: 'keep' } });
    await eventually(() => notices.length > 0);
    expect(notices[0]).toMatch(/send it without retain/);
    expect(site.enabled.size).toBe(0);
    await listener.send('keep/gate/enabled/set', '', true);
    await sink.close();
  });

  it('says figures of every camera at once and again', async () => {
    const { sink } = open(broker.url, { statsSeconds: 0.2 });
    const before = listener.of('edge/stats').length;
    await eventually(() => listener.of('edge/stats').length >= before + 3);
    expect(JSON.parse(listener.of('edge/stats').at(-1) ?? '')).toEqual({
      uptime_s: expect.any(Number),
      frames_waiting: 2,
      events_lost: 0,
      cameras: {
        gate: {
          state: 'live',
          reason: null,
          enabled: true,
          frames: 100,
          dropped: 3,
          skipped: 0,
          reconnects: 1,
          frame_age_ms: 42,
          last_frame_time: 1_764_624_000,
          light: null,
          objects: 1,
        },
      },
    });
    await sink.close();
  });

  it('takes back what a killed run left: counts, and cameras that are no more', async () => {
    await listener.send('edge/gate/bicycle', '4', true);
    await listener.send('edge/removed/car', '2', true);
    await listener.send('edge/removed/state', 'live', true);
    await listener.send('edge/gate/car', '7', true);
    const { sink } = open(broker.url);
    await eventually(async () => (await broker.retained()).get('edge/gate/bicycle') === '0');
    await eventually(async () => !(await broker.retained()).has('edge/removed/state'));
    const retained = await broker.retained();
    expect(retained.has('edge/removed/car')).toBe(false);
    expect(retained.get('edge/gate/car')).toBe('0');
    await sink.close();
  });

  it('is found by Home Assistant', async () => {
    const { sink } = open(broker.url, {
      mqtt: { homeAssistant: { prefix: 'homeassistant' } },
      watchesDrift: true,
    });
    sink.accept({
      kind: 'count',
      place: 'gate',
      className: 'traffic light',
      count: 1,
      camera: 'gate',
      atMs: 0,
    });
    const found = async () =>
      [...(await broker.retained())].filter(([topic]) => topic.startsWith('homeassistant/'));
    await eventually(async () => (await found()).length === 12);
    const configs = new Map((await found()).map(([topic, text]) => [topic, JSON.parse(text)]));
    expect([...configs.keys()].sort()).toEqual([
      'homeassistant/binary_sensor/edge_gate/all/config',
      'homeassistant/binary_sensor/edge_gate/class_car/config',
      'homeassistant/binary_sensor/edge_gate/class_person/config',
      'homeassistant/binary_sensor/edge_gate/class_traffic_light/config',
      'homeassistant/binary_sensor/edge_gate/connected/config',
      'homeassistant/binary_sensor/edge_gate/drift/config',
      'homeassistant/sensor/edge_gate/class_car/config',
      'homeassistant/sensor/edge_gate/class_person/config',
      'homeassistant/sensor/edge_gate/class_traffic_light/config',
      'homeassistant/sensor/edge_gate/light/config',
      'homeassistant/sensor/edge_gate/state/config',
      'homeassistant/switch/edge_gate/enabled/config',
    ]);
    expect(new Set([...configs.values()].map((config) => config['unique_id'])).size).toBe(12);
    // Every topic that is promised has a value.
    const retained = await broker.retained();
    for (const config of configs.values()) {
      expect(retained.has(config['state_topic'])).toBe(true);
      expect(retained.get(config['availability'][0].topic)).toBe('online');
    }
    expect(configs.get('homeassistant/switch/edge_gate/enabled/config')).toMatchObject({
      command_topic: 'edge/gate/enabled/set',
      device: { identifiers: ['edge_gate'], name: 'gate' },
    });
    await sink.close();
  });

  it('takes in cameras as they come, and leaves nothing of those that go', async () => {
    const site = new SiteState([]);
    const { sink } = open(broker.url, {
      site,
      mqtt: { topicPrefix: 'changing', homeAssistant: { prefix: 'ha-changing' } },
    });
    const of = async (part: string) =>
      [...(await broker.retained()).keys()].filter(
        (topic) => topic.includes('changing') && topic.includes(part),
      );
    // Said before the site knows of the camera, as it is when one is added.
    sink.accept({ kind: 'camera', state: 'connecting', camera: 'gate', atMs: 0 });
    site.useCamera(CAMERA);
    await eventually(async () => (await of('gate')).length === 8 + 9);
    expect((await broker.retained()).get('changing/gate/all')).toBe('0');
    sink.accept({ kind: 'count', place: 'gate', className: 'car', count: 2, camera: 'gate', atMs: 0 });
    site.useCamera({ ...CAMERA, name: 'yard' });
    sink.refresh();
    await eventually(async () => (await of('yard')).length === 8 + 9);
    expect((await broker.retained()).get('changing/gate/car')).toBe('2');
    site.remove('gate');
    sink.refresh();
    await eventually(async () => (await of('gate')).length === 0);
    expect(await of('yard')).toHaveLength(17);
    await sink.close();
  });

  it('is offline by its last will when it is killed', async () => {
    const child = spawn(process.execPath, [CHILD, broker.url], { stdio: 'inherit' });
    const exit = once(child, 'exit');
    try {
      await eventually(async () => (await broker.retained()).get('edge/gate/car') === '3', 20);
      expect((await broker.retained()).get('edge/available')).toBe('online');
    } finally {
      child.kill('SIGKILL');
      await exit;
    }
    await eventually(async () => (await broker.retained()).get('edge/available') === 'offline');
  });
});

describe.skipIf(!mosquittoAvailable)(`a broker that is away${mosquittoNote}`, () => {
  it('finds the state as it is when it comes back', {
    timeout: 60_000,
  }, async () => {
    const broker = await Mosquitto.start();
    try {
      const { sink, notices } = open(broker.url, { maxWaiting: 20 });
      const again = () => notices.filter((message) => message.includes('connected again'));
      sink.accept({ kind: 'count', place: 'gate', className: 'car', count: 5, camera: 'gate', atMs: 0 });
      await eventually(async () => (await broker.retained()).get('edge/gate/car') === '5');
      for (const [round, signal] of (['SIGKILL', 'SIGTERM'] as const).entries()) {
        await broker.stop(signal);
        await eventually(() => notices.at(-1)?.includes('tried again') === true);
        sink.accept({
          kind: 'count',
          place: 'gate',
          className: 'car',
          count: round,
          camera: 'gate',
          atMs: 0,
        });
        sink.accept({ kind: 'light', state: `light ${round}`, value: 1, camera: 'gate', atMs: 0 });
        for (let number = 0; number < 30; number++) sink.accept(notice(`${round}-${number}`));
        await broker.start();
        await eventually(() => again().length === round + 1);
        await eventually(async () => (await broker.retained()).get('edge/gate/light') === `light ${round}`);
        expect(Object.fromEntries(await broker.retained())).toMatchObject({
          'edge/available': 'online',
          'edge/gate/state': 'live',
          'edge/gate/car': `${round}`,
          'edge/gate/all': `${round}`,
          'edge/gate/enabled/state': 'ON',
        });
        expect(again()[round]).toMatch(/connected again; \d+ messages were dropped meanwhile/);
      }
      // Each fault of an outage is said once, however often it is met.
      expect(notices.length).toBeLessThanOrEqual(3 * 2);
      await sink.close();
    } finally {
      await broker.close();
    }
  });

  it('was never there: the site runs, connects when it comes, and every event that fits arrives in order', {
    timeout: 60_000,
  }, async () => {
    const broker = await Mosquitto.start();
    const road = await Road.to(broker.port);
    const listener = await broker.listen('edge/gate/notice');
    const heard = () => listener.of('edge/gate/notice').map((text) => JSON.parse(text).message);
    const numbers = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, place) => `${from + place}`);
    const { sink, notices } = open(road.url, { maxWaiting: 20 });
    for (let number = 0; number < 50; number++) sink.accept(notice(`${number}`));
    await eventually(() => notices.length === 1);
    expect(notices[0]).toMatch(/^MQTT broker mqtt:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED.*; it is tried again/);
    await road.open();
    await eventually(() => heard().length === 20);
    expect(heard()).toEqual(numbers(30, 50));
    expect(notices.at(-1)).toMatch(/connected again; 30 messages were dropped meanwhile/);
    // Cut with messages under way: none is lost, some may come twice.
    for (let number = 50; number < 65; number++) sink.accept(notice(`${number}`));
    await road.cut();
    for (let number = 65; number < 70; number++) sink.accept(notice(`${number}`));
    await road.open();
    await eventually(() => heard().includes('69'));
    expect([...new Set(heard())]).toEqual(numbers(30, 70));
    expect(notices.at(-1)).toMatch(/connected again$/);
    await sink.close();
    await road.cut();
    await listener.close();
    await broker.close();
  });

  it('stays away: the end does not wait for it', async () => {
    const { sink, notices } = open(`mqtt://127.0.0.1:${await freePort()}`);
    for (let number = 0; number < 5; number++) sink.accept(notice(`${number}`));
    const started = Date.now();
    await sink.close();
    expect(Date.now() - started).toBeLessThan(2000);
    expect(notices.at(-1)).toMatch(/5 messages could not be sent at the end/);
  });

  it('freezes: memory is bounded, and the end does not wait for it', { timeout: 60_000 }, async () => {
    const broker = await Mosquitto.start();
    const { sink, notices } = open(broker.url, { maxWaiting: 20 });
    await eventually(async () => (await broker.retained()).get('edge/available') === 'online');
    broker.freeze();
    for (let number = 0; number < 500; number++) sink.accept(notice(`${number}`));
    const started = Date.now();
    await sink.close();
    expect(Date.now() - started).toBeLessThan(6000);
    expect(notices.at(-1)).toMatch(/ 52 messages could not be sent at the end/);
    await broker.close();
  });

  it('asks for a password: it is given, and never said', { timeout: 60_000 }, async () => {
    const broker = await Mosquitto.start({ user: { name: 'cam', password: 'hunter2' } });
    const good = open(broker.url, { mqtt: { username: 'cam', password: 'hunter2' } });
    await eventually(async () => (await broker.retained()).get('edge/available') === 'online');
    await good.sink.close();
    const inUrl = open(broker.url.replace('//', '//cam:hunter2@'));
    await eventually(async () => (await broker.retained()).get('edge/available') === 'online');
    await inUrl.sink.close();
    const bad = open(broker.url.replace('//', '//cam:hunter3@'));
    await eventually(() => bad.notices.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await bad.sink.close();
    expect(bad.notices).toEqual([
      expect.stringMatching(/mqtt:\/\/\*\*\*@127.*: Connection refused: Not authorized/),
    ]);
    expect([...good.notices, ...inUrl.notices]).toEqual([]);
    await broker.close();
  });

  it('shows a certificate that nobody vouches for: it is refused', { timeout: 60_000 }, async () => {
    const folder = new RunFolder();
    const tls = { certificate: folder.join('broker.pem'), key: folder.join('broker.key') };
    const words = '-x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1 -keyout';
    const made = spawnSync('openssl', ['req', ...words.split(' '), tls.key, '-out', tls.certificate]);
    expect(made.status).toBe(0);
    const broker = await Mosquitto.start({ tls });
    const { sink, notices } = open(broker.url);
    await eventually(() => notices.length > 0);
    expect(notices[0]).toMatch(/^MQTT broker mqtts:.*self-signed certificate/);
    await sink.close();
    expect((await broker.retained()).size).toBe(0);
    await broker.close();
    folder.remove();
  });
});
