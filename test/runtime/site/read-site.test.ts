// What a site file means: layers, defaults, variables, anchors, files around it.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: site files name variables of the environment so.
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatThresholdsFile, type ThresholdsFile } from '#core';
import { readSite } from '../../../runtime/site/read-site.ts';
import { parsed, refusal, siteText } from './site-text.ts';

const sample = fileURLToPath(new URL('../../../samples/site/site.yaml', import.meta.url));

describe('the sample', () => {
  it('is a site with every key explained in it', async () => {
    const { site, classUses } = await readSite(sample, {});
    expect(site.cameras.map(({ name }) => name)).toEqual(['gate', 'yard', 'cellar']);
    const [gate, yard, cellar] = site.cameras;
    expect(gate?.source).toBe('rtsp://viewer:secret@192.0.2.10:554/stream1');
    expect(gate?.zones.map(({ name }) => name)).toEqual(['door', 'parking']);
    expect(gate?.light).toBe('auto');
    expect(yard?.source).toMatch(/samples\/clips\/dusk\.mp4$/);
    expect(yard?.zones[0]).toMatchObject({ name: 'parking', inertia: 10, classes: new Set(['car']) });
    expect(yard?.filters.get('car')?.masks).toHaveLength(2);
    expect(yard?.filters.get('person')?.minArea).toBe(0.0005);
    expect(cellar).toMatchObject({ source: '0', enabled: false });
    expect(cellar).not.toHaveProperty('light');
    expect(cellar).not.toHaveProperty('review');
    expect(site.mqtt).toMatchObject({
      url: 'mqtt://127.0.0.1:1883',
      homeAssistant: { prefix: 'homeassistant' },
    });
    expect(new Set(classUses.map(({ name }) => name))).toEqual(new Set(['person', 'car', 'bus']));
  });
});

describe('a site without words', () => {
  it('has every default', () => {
    const { site } = parsed(siteText());
    expect(site).toEqual({
      model: join(process.cwd(), 'm.onnx'),
      device: 'cpu',
      cameras: [
        {
          name: 'gate',
          source: 'rtsp://h/1',
          enabled: true,
          thresholds: { base: 0.25, classes: new Map(), conditions: new Map() },
          filters: new Map(),
          zones: [],
          lines: [],
          stallSeconds: 4,
          rtspTransport: 'tcp',
          minFrames: 3,
          minMedianScore: 0,
        },
      ],
    });
  });

  it('has every default of its outputs', () => {
    const outputs =
      'mqtt: {host: broker}\nserver: {}\nevents: {path: e.jsonl}\nsnapshots: {folder: s}\ndrift: {path: d.json}\n';
    const { site } = parsed(
      siteText(`${outputs}webhook: {url: "https://h/x"}\nobjects: {filters: {car: {}}}\n`),
    );
    expect(site).toMatchObject({
      mqtt: { url: 'mqtt://broker:1883', topicPrefix: 'edge-detect', clientId: 'edge-detect' },
      server: { host: '127.0.0.1', port: 8080 },
      events: { path: join(process.cwd(), 'e.jsonl'), maxBytes: 100_000_000, keep: 5 },
      snapshots: { folder: join(process.cwd(), 's'), days: 7 },
      drift: {
        path: join(process.cwd(), 'd.json'),
        learnHours: 24,
        learnTracks: 200,
        windowHours: 1,
        windowTracks: 50,
      },
      webhook: { url: 'https://h/x', timeoutSeconds: 5 },
    });
    expect(site.mqtt).not.toHaveProperty('homeAssistant');
    expect(site.cameras[0]?.filters.get('car')).toEqual({
      minArea: 0,
      maxArea: 1,
      minRatio: 0,
      maxRatio: Number.POSITIVE_INFINITY,
      masks: [],
    });
  });
});

describe('thresholds', () => {
  const thresholdsOf = (rest: string, camera = '') =>
    parsed(siteText(rest, camera)).site.cameras[0]?.thresholds;

  it('are those of the top where a camera says nothing', () => {
    expect(thresholdsOf('conf: 0.3\nthresholds: {car: 0.5}\n')).toEqual({
      base: 0.3,
      classes: new Map([['car', 0.5]]),
      conditions: new Map(),
    });
  });

  it('are overridden class by class, and as a whole by * or conf of the camera', () => {
    const top = "thresholds: {'*': 0.3, car: 0.5}\n";
    expect(thresholdsOf(top, '    thresholds: {bus: 0.6}\n')).toMatchObject({
      base: 0.3,
      classes: new Map(Object.entries({ car: 0.5, bus: 0.6 })),
    });
    expect(thresholdsOf(top, '    conf: 0.1\n')).toMatchObject({ base: 0.1, classes: new Map() });
  });

  it('of a light state are a whole table, and make the light followed', () => {
    const { site } = parsed(siteText('thresholds: {car: 0.5, bus: 0.4, conditions: {night: {car: 0.2}}}\n'));
    const table = new Map(Object.entries({ '*': 0.25, car: 0.2, bus: 0.4 }));
    expect(site.cameras[0]?.thresholds.conditions).toEqual(new Map([['night', table]]));
    expect(site.cameras[0]?.light).toBe('auto');
  });

  it('follow no light where it is off', () => {
    const { site } = parsed(siteText('light: off\nthresholds: {conditions: {night: {car: 0.2}}}\n'));
    expect(site.cameras[0]?.thresholds.conditions.size).toBe(0);
    expect(site.cameras[0]?.light).toBeUndefined();
  });
});

describe('a thresholds file', () => {
  let folder = '';
  const file: ThresholdsFile = {
    version: 1,
    modelSha256: 'bc8341a8e2b3ff1cdd09f4a1b6d1d0d5bb79ffb3d4d6ad7b1f4b4e0f7b7d1f2a',
    score: 'raw',
    suppression: { kind: 'hard', iou: 0.6, agnostic: false },
    classes: { '*': 0.3, car: 0.5 },
    conditions: { dark: { car: 0.2 } },
    cameras: { gate: { classes: { car: 0.7 }, conditions: { dark: { car: 0.1 } } } },
    hysteresis: { states: ['dark', 'bright'], boundaries: [0.5], margin: 0.1, holdSeconds: 10 },
  };
  const write = (name: string, text: string) => writeFile(join(folder, name), text);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'site-'));
    await write('m.onnx', 'onnx');
    const modelSha256 = createHash('sha256').update('onnx').digest('hex');
    await write('t.json', formatThresholdsFile({ ...file, modelSha256 }, 't.json'));
    await write('other.json', formatThresholdsFile(file, 'other.json'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('gives thresholds of the camera, its ladder and its suppression', async () => {
    const text = siteText('thresholds: t.json\n', '').replace('cameras:', 'cameras:\n  yard: {source: 0}');
    await write('site.yaml', text);
    const { site, score, classUses } = await readSite(join(folder, 'site.yaml'), {});
    const [yard, gate] = site.cameras.map(({ thresholds }) => thresholds);
    expect(gate?.classes).toEqual(new Map([['car', 0.7]]));
    expect(gate?.conditions.get('dark')).toEqual(new Map(Object.entries({ '*': 0.3, car: 0.1 })));
    expect(yard?.conditions.get('dark')).toEqual(new Map(Object.entries({ '*': 0.3, car: 0.2 })));
    expect(gate?.ladder).toEqual(file.hysteresis);
    expect(site.suppression).toMatchObject({ suppression: { kind: 'hard' }, iou: 0.6 });
    expect(score).toBe('raw');
    expect(classUses).toContainEqual({
      name: 'car',
      key: 'thresholds',
      line: 6,
      column: 13,
      file: 't.json',
    });
  });

  it.each([
    [
      'gone.json',
      /site\.yaml:5:13: thresholds: found 'gone\.json', which cannot be read: there is no such file/,
    ],
    ['m.onnx', /site\.yaml:5:13: thresholds: m\.onnx is not JSON/],
    ['other.json', /site\.yaml:5:13: thresholds: other\.json was made for the model with SHA-256 bc83/],
  ])('that does not fit is a mistake of one line: %s', async (named, message) => {
    await write('site.yaml', siteText(`thresholds: ${named}\n`));
    await expect(readSite(join(folder, 'site.yaml'), {})).rejects.toThrow(message);
  });

  it('decides suppression and the score of other classes alone', async () => {
    await write('site.yaml', siteText('thresholds: t.json\nconf: 0.4\niou: 0.5\n'));
    await expect(readSite(join(folder, 'site.yaml'), {})).rejects.toThrow(
      /:6:1: conf: the thresholds file decides that already.*\n.*:7:1: iou: the thresholds file decides/,
    );
  });

  it('is looked for beside a model and a clip that must be there too', async () => {
    await write('site.yaml', 'model: gone.onnx\ncameras: {a: {source: gone.mp4}, b: {source: .}}\n');
    await expect(readSite(join(folder, 'site.yaml'), {})).rejects.toThrow(
      /:1:8: model: found 'gone\.onnx': there is no such file.*\n.*:2:23: cameras\.a\.source: found 'gone\.mp4': there is no such file/,
    );
  });

  it('is refused with the file where that is none', async () => {
    await expect(readSite(join(folder, 'no.yaml'), {})).rejects.toThrow(/no\.yaml: .* there is no such file/);
    await expect(readSite(folder, {})).rejects.toThrow(/this is a folder/);
    await write('large.yaml', '#'.repeat(1_000_001));
    await expect(readSite(join(folder, 'large.yaml'), {})).rejects.toThrow(/more than 1 MB/);
  });
});

describe('variables', () => {
  it('are put into texts, with a stand-in where they are unset or empty', () => {
    const text = siteText('device: ${DEVICE:-cpu}\n').replace(
      'rtsp://h',
      () => 'rtsp://${USER}:$${x}@${HOST:-h}',
    );
    const { site } = parsed(text, { USER: 'anna', HOST: '', DEVICE: 'tensorrt:0' });
    expect(site.cameras[0]?.source).toBe('rtsp://anna:${x}@h/1');
    expect(site.device).toBe('tensorrt:0');
  });

  it('are numbers and truth values where those are wanted, and texts elsewhere', () => {
    const rest =
      'server: {port: "${PORT}"}\nmqtt: {host: b, user: u, password: "${PASSWORD}", tls: "${TLS}"}\n';
    const { site } = parsed(siteText(rest), { PORT: '9000', PASSWORD: '1234', TLS: 'true' });
    expect(site.server?.port).toBe(9000);
    expect(site.mqtt).toMatchObject({ url: 'mqtts://b:8883', password: '1234' });
  });

  it('are named, and not told, in what is said about them', () => {
    const env = { PORT: 'geheim', SOURCE: 'ftp://u:geheim@h/1' };
    const text = siteText('server: {port: "${PORT}"}\n').replace('rtsp://h/1', () => '${SOURCE}');
    const { message, hint } = refusal(() => parsed(text, env));
    expect(message).toContain("server.port: found '${PORT}', expected a port from 1 to 65535");
    expect(message).toContain("cameras.gate.source: found '${SOURCE}': ftp:// is not known");
    expect(message + hint).not.toContain('geheim');
  });
});

describe('anchors and merge keys', () => {
  it('bring keys that are written elsewhere; what stands beside them wins', () => {
    const { site } = parsed(
      'model: m\nx-all: &all {fps: 5, light: auto}\ncameras:\n  a: {<<: *all, source: 0}\n  b: {source: 1, fps: 2, <<: *all}\n',
    );
    expect(site.cameras).toMatchObject([
      { framesPerSecond: 5, light: 'auto' },
      { framesPerSecond: 2, light: 'auto' },
    ]);
  });
});

describe('a broker', () => {
  it('may be an address, whose secrets are taken out of it', () => {
    const { site } = parsed(siteText('mqtt: {url: "mqtts://anna:s%40fe@broker"}\n'));
    expect(site.mqtt).toMatchObject({ url: 'mqtts://broker:8883', username: 'anna', password: 's@fe' });
  });
});

describe('many mistakes', () => {
  it('are told together, in the order of the file, 20 at most', () => {
    const rest = Array.from({ length: 25 }, (_, index) => `wrong_${index}: 1\n`).join('');
    const { message, hint } = refusal(() => parsed(siteText(rest)));
    const lines = message.split('\n');
    expect(lines).toHaveLength(21);
    expect(lines[0]).toMatch(/^site\.yaml:5:1: wrong_0: 'wrong_0' is not a key here/);
    expect(lines[20]).toBe('and 5 more');
    expect(hint).toBe('correct these 25 places');
  });
});
