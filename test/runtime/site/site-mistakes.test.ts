// Every mistake that a site file can hold: one line with file, line, column and key, what was found, what was expected.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: site files name variables of the environment so.
import { describe, expect, it } from 'vitest';
import type { SiteSurroundings } from '../../../runtime/site/read-site.ts';
import { parsed, refusal, siteText } from './site-text.ts';

interface Mistake {
  readonly what: string;
  readonly text: string;
  /** line:column: key: words */
  readonly says: string;
  /** Part of the hint. */
  readonly hint?: string;
}

/** One key of the camera of `siteText`, on line 5. */
const camera = (what: string, line: string, says: string, hint?: string): Mistake => ({
  what,
  text: siteText('', `    ${line}\n`),
  says: says.replace(/^\d+/, (column) => `5:${column}`).replace('@', 'cameras.gate.'),
  ...(hint !== undefined && { hint }),
});

/** One key at the top, on line 5. */
const top = (what: string, line: string, says: string, hint?: string): Mistake => ({
  what,
  text: siteText(`${line}\n`),
  says: says.replace(/^\d+/, (column) => `5:${column}`),
  ...(hint !== undefined && { hint }),
});

const zone = (what: string, coordinates: string, words: string, hint?: string): Mistake =>
  camera(what, `zones: {door: {coordinates: ${coordinates}}}`, `33: @zones.door.coordinates: ${words}`, hint);

const whole: readonly Mistake[] = [
  { what: 'an empty file', text: '', says: '1:1: the file is empty, expected a site' },
  { what: 'only comments', text: '# nothing\n', says: '1:1: the file is empty' },
  { what: 'a list', text: '- a\n- b\n', says: '1:1: found a list, expected a map with model and cameras' },
  { what: 'a word', text: 'hello\n', says: "1:1: found 'hello', expected a map with model and cameras" },
  {
    what: 'no YAML',
    text: 'model: [m\ncameras: {}\n',
    says: '2:1: not valid YAML: Flow sequence',
    hint: 'correct the line',
  },
  {
    what: 'a tab',
    text: 'model: m\ncameras:\n\tgate: {source: 0}\n',
    says: '3:1: a tab is no indentation',
    hint: 'spaces',
  },
  {
    what: 'bad indentation',
    text: 'model: m\ncameras:\n    a: {source: 0}\n  b: {source: 1}\n',
    says: '4:1: not valid YAML: All mapping items must start at the same column',
  },
  { what: 'two documents', text: 'model: m\n---\ncameras: {}\n', says: '2:1: a second document' },
  {
    what: 'a tag',
    text: 'model: !secret m\ncameras: {a: {source: 0}}\n',
    says: '1:8: not understood',
    hint: '${NAME}',
  },
  {
    what: 'a secret that YAML tells back',
    text: 'model: !<rtsp://u:geheim@h> m\ncameras: {a: {source: 0}}\n',
    says: '1:8: not understood: Unresolved tag: rtsp://***@h',
  },
  {
    what: 'an anchor that is not there',
    text: 'model: *m\ncameras: {a: {source: 0}}\n',
    says: '1:8: model: there is no &m above',
  },
  {
    what: 'an anchor in itself',
    text: 'model: m\ncameras: &c {a: *c}\n',
    says: '2:17: cameras.a: &c holds itself',
  },
  {
    what: 'anchors of anchors',
    text: `model: m\nx-0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n${[1, 2, 3, 4, 5, 6]
      .map(
        (level) =>
          `x-${level}: &a${level} [${Array(10)
            .fill(`*a${level - 1}`)
            .join(', ')}]\n`,
      )
      .join('')}cameras: {a: {source: 0}}\n`,
    says: '2:32: x-4: the file is nested too deeply',
  },
  {
    what: 'a merge of no map',
    text: 'model: &m m\ncameras: {a: {<<: *m, source: 0}}\n',
    says: '2:15: cameras.a.<<: expected the anchor of a map',
  },
  {
    what: 'no model',
    text: 'cameras: {a: {source: 0}}\n',
    says: '1:1: model: this key is missing',
    hint: 'add model:',
  },
  { what: 'no cameras', text: 'model: m\n', says: '1:1: cameras: this key is missing' },
  { what: 'no camera', text: 'model: m\ncameras: {}\n', says: '2:1: cameras: found no camera' },
  {
    what: 'nothing behind cameras',
    text: 'model: m\ncameras:\n',
    says: '2:1: cameras: found nothing, expected a map of cameras',
  },
  {
    what: 'cameras as a list',
    text: 'model: m\ncameras:\n  - source: 0\n',
    says: '3:3: cameras: found a list, expected a map',
    hint: 'without -',
  },
  {
    what: 'two cameras of one name',
    text: 'model: m\ncameras:\n  a: {source: 0}\n  a: {source: 1}\n',
    says: '4:3: cameras.a: this key stands here twice',
  },
  {
    what: 'a key twice',
    text: 'model: m\nmodel: n\ncameras: {a: {source: 0}}\n',
    says: '2:1: model: this key stands here twice',
  },
  {
    what: 'a name with a blank',
    text: 'model: m\ncameras: {"front gate": {source: 0}}\n',
    says: "2:11: cameras.front gate: found the name 'front gate', expected a name of up to 64 letters",
  },
  {
    what: 'a name with a slash',
    text: 'model: m\ncameras: {a/b: {source: 0}}\n',
    says: "2:11: cameras.a/b: found the name 'a/b'",
  },
  {
    what: 'a name of the language',
    text: 'model: m\ncameras: {a: {source: 0}, __proto__: {source: 0}}\n',
    says: '2:27: cameras.__proto__: this cannot be a key',
  },
  {
    what: 'a camera without source',
    text: 'model: m\ncameras: {a: {fps: 5}}\n',
    says: '2:11: cameras.a.source: this key is missing',
  },
  {
    what: 'a camera that is only its address',
    text: 'model: m\ncameras: {a: "rtsp://h/1"}\n',
    says: "2:14: cameras.a: found 'rtsp://h/1', expected a map",
  },
  {
    what: 'a model of a wrong type',
    text: 'model: [m]\ncameras: {a: {source: 0}}\n',
    says: '1:8: model: found a list, expected a path',
  },
];

const tops: readonly Mistake[] = [
  top('a text of two lines', 'server: {host: "a\\nb"}', "16: server.host: found 'a b', expected the name"),
  top('an unknown key', 'treads: 2', "1: treads: 'treads' is not a key here; did you mean 'threads'?"),
  top(
    'a key of another program',
    'detect: {fps: 5}',
    "1: detect: 'detect' is not a key here",
    'write fps: 5',
  ),
  top(
    'a number as text',
    'threads: "2"',
    "10: threads: found '2', expected a whole number from 1 to 1024",
    'without quotes',
  ),
  top('a fraction', 'sessions: 1.5', '11: sessions: found 1.5, expected a whole number from 1 to 64'),
  top('an overlap out of range', 'iou: 70', '6: iou: found 70, expected a score from 0 to 1'),
  top('a score out of range', 'conf: 25', '7: conf: found 25, expected a score from 0 to 1'),
  top(
    'a least score out of range',
    'thresholds: {car: 1.2}',
    '19: thresholds.car: found 1.2, expected a score from 0 to 1',
  ),
  top(
    'thresholds as a list',
    'thresholds: [0.5]',
    '13: thresholds: found a list, expected the path of a thresholds file, or a map',
  ),
  top('an empty path', 'thresholds: ""', '13: thresholds: found an empty text, expected a path'),
  top(
    'the score of the others twice',
    "conf: 0.3\nthresholds: {'*': 0.3}",
    "1: conf: thresholds says the same with '*'",
  ),
  top(
    'an unknown light state',
    'thresholds: {conditions: {nigth: {car: 0.3}}}',
    "27: thresholds.conditions.nigth: 'nigth' is no light state; did you mean 'night'?",
  ),
  top(
    'an unknown light word',
    'light: aut',
    "8: light: found 'aut', expected 'auto', 'sun' or 'off'",
    'did you mean light: auto?',
  ),
  top('light as a truth value', 'light: false', '8: light: found false', 'write light: off'),
  top(
    'classes as one word',
    'classes: car',
    "10: classes: found 'car', expected a list of classes, as in [car, person]",
  ),
  top('no classes', 'classes: []', '10: classes: found an empty list, expected one class or more'),
  top('a class twice', 'classes: [car, car]', "16: classes.1: found 'car' a second time"),
  top('a drift without its file', 'drift: {learn_hours: 2}', '1: drift.path: this key is missing'),
  top(
    'too few tracks for a verdict',
    'drift: {path: d.json, window_tracks: 5}',
    '38: drift.window_tracks: found 5, expected a whole number from 20 to 256',
  ),
  top(
    'no time to learn',
    'drift: {path: d.json, learn_hours: 0}',
    '36: drift.learn_hours: found 0, expected hours above 0',
  ),
  top(
    'a drift reference in the place of events',
    'drift: {path: e.jsonl}\nevents: {path: e.jsonl}',
    "15: drift.path: found 'e.jsonl', where events is already",
  ),
  top('a review without bound', 'review: {folder: r}', '1: review: found no bound', 'max_std'),
  top('a review of nothing', 'review: {bimodal: false}', '1: review: found no bound', 'bimodal: true'),
  top('two humps as a number', 'review: {bimodal: 2}', '19: review.bimodal: found 2, expected true or false'),
  top(
    'review bounds the wrong way round',
    'review: {doubtful: [0.6, 0.3]}',
    '20: review.doubtful: found [0.6, 0.3], expected [low, high]',
  ),
  top(
    'one review bound',
    'review: {doubtful: [0.6]}',
    '20: review.doubtful: found a list, expected two scores [low, high]',
  ),
  top(
    'a deviation no score has',
    'review: {max_std: 0.7}',
    '19: review.max_std: found 0.7, expected a standard deviation above 0, up to 0.5',
  ),
  top('a bad port', 'server: {port: 99999}', '16: server.port: found 99999, expected a port from 1 to 65535'),
  top(
    'others reach the server without token',
    'server: {host: 0.0.0.0}',
    "16: server.host: found '0.0.0.0', which others reach, without a token",
    'add token:',
  ),
  top(
    'an empty token',
    'server: {token: ""}',
    '17: server.token: found an empty text, expected a token of 8 characters',
  ),
  top(
    'a short token, which is not told',
    'server: {token: abc}',
    "17: server.token: found '***', expected a token of 8",
  ),
  top(
    'a bad address of a broker',
    'mqtt: {url: "http://h"}',
    "13: mqtt.url: found 'http://h', expected mqtt://host or mqtts://host",
  ),
  top('no broker', 'mqtt: {port: 1883}', '1: mqtt: host is missing'),
  top(
    'a password without user',
    'mqtt: {host: h, password: geheim}',
    '17: mqtt.password: found a password without user',
  ),
  top('a broker said twice', 'mqtt: {url: "mqtt://h", host: h}', '25: mqtt.host: url says the same'),
  top('tls beside an address', 'mqtt: {url: "mqtt://h", tls: true}', '25: mqtt.tls: url says the same'),
  top(
    'a path in the address of a broker',
    'mqtt: {url: "mqtt://h/topic"}',
    "13: mqtt.url: found 'mqtt://h/topic', expected an address without a path",
  ),
  top(
    'a bad sign in a password',
    'mqtt: {url: "mqtt://u:geheim%zz@h"}',
    '13: mqtt.url: found a % that stands for no character',
  ),
  top(
    'a host with a scheme',
    'mqtt: {host: "mqtt://h"}',
    "14: mqtt.host: found 'mqtt://h', expected the name or address of a host, without scheme",
  ),
  top(
    'a topic with a wildcard',
    'mqtt: {host: h, topic_prefix: "a/#"}',
    "31: mqtt.topic_prefix: found 'a/#', expected a topic without #",
  ),
  top(
    'on for true',
    'mqtt: {host: h, tls: on}',
    "22: mqtt.tls: found 'on', expected true or false",
    'write true: in YAML 1.2',
  ),
  top(
    'a hook without scheme',
    'webhook: {url: "h/x"}',
    "16: webhook.url: found 'h/x', expected https://host or http://host",
  ),
  top('no path of events', 'events: {keep: 2}', '1: events.path: this key is missing'),
  {
    what: 'two sinks in one place',
    text: siteText('events: {path: out}\nsnapshots: {folder: ./out}\n'),
    says: "6:21: snapshots.folder: found './out', where events is already",
  },
  top(
    'events into the model',
    'events: {path: m.onnx}',
    "16: events.path: found 'm.onnx', where model is already",
  ),
  top(
    'a missing variable',
    'device: ${EDGE_DEVCE}',
    '9: device: the environment has no variable EDGE_DEVCE; did you mean EDGE_DEVICE?',
    'set EDGE_DEVCE',
  ),
  top(
    'a bad reference',
    'device: ${1}',
    "9: device: found '${1}', expected ${NAME} or ${NAME:-default}",
    '$${',
  ),
  top('an open reference', 'device: "${A"', "9: device: found '${A', expected ${NAME}"),
];

const cameras: readonly Mistake[] = [
  camera('an unknown key', 'zone: {}', "5: @zone: 'zone' is not a key here; did you mean 'zones'?"),
  camera(
    'no pictures per second',
    'fps: 0',
    '10: @fps: found 0, expected a number of pictures per second above 0',
  ),
  camera('fps as a word', 'fps: five', "10: @fps: found 'five', expected a number of pictures"),
  camera('yes for true', 'enabled: yes', "14: @enabled: found 'yes', expected true or false", 'write true'),
  camera(
    'an unknown transport',
    'rtsp_transport: tpc',
    "21: @rtsp_transport: found 'tpc', expected 'tcp' or 'udp'",
    'tcp',
  ),
  camera('nothing behind a key', 'zones:', '5: @zones: found nothing, expected a map of zones'),
  camera(
    'more least than most',
    'objects: {filters: {car: {min_area: 0.5, max_area: 0.1}}}',
    '41: @objects.filters.car.min_area: found 0.5, expected at most max_area, which is 0.1',
  ),
  camera(
    'an area in pixels',
    'objects: {filters: {car: {min_area: 5000}}}',
    '41: @objects.filters.car.min_area: found 5000, expected a share of the picture from 0 to 1',
    '0.0054',
  ),
  camera(
    'more least ratio than most',
    'objects: {filters: {car: {min_ratio: 3, max_ratio: 2}}}',
    '42: @objects.filters.car.min_ratio: found 3',
  ),
  camera(
    'a score among the filters',
    'objects: {filters: {car: {min_score: 0.5}}}',
    "31: @objects.filters.car.min_score: 'min_score' is not a key here",
    'thresholds: {car: 0.5}',
  ),
  camera(
    'a bad mask',
    'objects: {filters: {car: {mask: "0,0,1,1"}}}',
    '37: @objects.filters.car.mask: found 2 corners, expected 3 or more',
  ),
  camera(
    'a bad mask among several',
    'objects: {filters: {car: {mask: ["0,0,1,0,1,1", [[0, 0], [1, 1]]]}}}',
    '53: @objects.filters.car.mask.1: found 2 corners',
  ),
  camera(
    'an empty mask',
    'objects: {filters: {car: {mask: []}}}',
    '37: @objects.filters.car.mask: found an empty list, expected a polygon',
  ),
  camera(
    'a flat mask',
    'objects: {filters: {car: {mask: [0, 0, 1, 0, 1, 1]}}}',
    '38: @objects.filters.car.mask.0: found 0, expected a polygon',
  ),
  zone('two corners', '"0.1,0.2,0.3,0.4"', 'found 2 corners, expected 3 or more'),
  zone('an odd count', '"0.1,0.2,0.3,0.4,0.5"', 'found 5 numbers, expected an even count'),
  zone('a word', '"0.1,0.2,x,0.4,0.5,0.6"', "found 'x' as number 3, expected numbers and commas"),
  zone('pixels', '"0,0,640,0,640,480"', 'found 640, expected shares of the picture from 0 to 1', 'divide x'),
  zone('edges that cross', '"0,0,1,1,1,0,0,1"', 'found edges that cross each other', 'in order'),
  zone('no area', '"0,0,0.5,0.5,1,1"', 'found a polygon without area'),
  zone('a number', '5', 'found 5, expected a polygon'),
  camera(
    'a pixel in a pair',
    'zones: {door: {coordinates: [[0, 0], [640, 0], [1, 1]]}}',
    '43: @zones.door.coordinates.1.0: found 640, expected a share',
  ),
  camera(
    'three numbers in a pair',
    'zones: {door: {coordinates: [[0, 0], [1, 0, 1], [1, 1]]}}',
    '42: @zones.door.coordinates.1: found a list, expected a pair [x, y]',
  ),
  camera('no coordinates', 'zones: {door: {inertia: 3}}', '13: @zones.door.coordinates: this key is missing'),
  camera(
    'no inertia',
    'zones: {door: {coordinates: "0,0,1,0,1,1", inertia: 0}}',
    '57: @zones.door.inertia: found 0, expected a whole number of pictures from 1',
  ),
  camera(
    'a line without length',
    'lines: {l: {from: [0.5, 0.5], to: [0.5, 0.5]}}',
    '39: @lines.l.to: found a line without length',
  ),
  camera('a line without end', 'lines: {l: {from: [0, 0]}}', '13: @lines.l.to: this key is missing'),
  {
    what: 'a zone of a class that is not reported',
    text: siteText('classes: [car]\n', '    zones: {z: {coordinates: "0,0,1,0,1,1", objects: [cra]}}\n'),
    says: "5:55: cameras.gate.zones.z.objects.0: found 'cra', which is not in classes; did you mean 'car'?",
  },
];

const source = (what: string, written: string, words: string, hint?: string): Mistake => ({
  what,
  text: siteText().replace('rtsp://h/1', () => written),
  says: `4:13: cameras.gate.source: ${words}`,
  ...(hint !== undefined && { hint }),
});

const sources: readonly Mistake[] = [
  source('no source', '""', 'found an empty text, expected the address or path of a camera or clip'),
  source(
    'an unknown scheme',
    'rtps://h/1',
    "found 'rtps://h/1': rtps:// is not known; did you mean rtsp://?",
    'expected rtsp://',
  ),
  source('secrets of an unknown scheme', 'ftp://u:geheim@h/1', "found 'ftp://***@h/1': ftp:// is not known"),
  source('no host', 'rtsp:///stream1', "found 'rtsp:///stream1', which names no host"),
  source('a bad port in an address', 'rtsp://h:99999/1', "found 'rtsp://h:99999/1', which names no host"),
  source('a long secret', `ftp://u:${'geheim'.repeat(20)}@h/1`, "found 'ftp://***@h/1': ftp:// is not known"),
  source('a user without scheme', 'anna:geheim@h/1', 'found a user and a host without scheme', 'rtsp://'),
  source('standard input', '"-"', "found '-', which is the standard input"),
  source('a truth value', 'true', 'found true, expected the address or path'),
  source('a negative camera', '-1', 'found -1, expected the number of a camera from 0 to 999'),
  source(
    'a missing clip',
    'gone.mp4',
    "found 'gone.mp4': there is no such file",
    'relative to the site file',
  ),
  source('a number of a text', '[0]', 'found a list, expected the address or path of a camera or clip'),
];

const around: SiteSurroundings = {
  thresholdsText: () => {
    throw new Error('there is no such file');
  },
  faultOfFile: (path) => (/gone/.test(path) ? 'there is no such file' : undefined),
};

const files: readonly Mistake[] = [
  {
    what: 'a missing model',
    text: siteText().replace('m.onnx', 'gone.onnx'),
    says: "1:8: model: found 'gone.onnx': there is no such file",
    hint: 'relative to the site file',
  },
  top(
    'a missing thresholds file',
    'thresholds: gone.json',
    "13: thresholds: found 'gone.json', which cannot be read: there is no such file",
  ),
];

const mistakes = [...whole, ...tops, ...cameras, ...sources, ...files];

describe(`a mistake in a site file (${mistakes.length} kinds)`, () => {
  it.each(mistakes)('is one line with its place: $what', ({ text, says, hint }) => {
    const refused = refusal(() => parsed(text, { EDGE_DEVICE: 'cpu' }, around));
    expect(refused.message.split('\n')).toHaveLength(1);
    expect(refused.message.startsWith(`site.yaml:${says}`), refused.message).toBe(true);
    expect(refused.hint).toContain(hint ?? '');
    expect(refused.hint).not.toBe('');
    expect(refused.message + refused.hint).not.toContain('geheim');
  });
});
