// The keys of a site file, their types and ranges, in one place; `site.schema.json` is made from it.
// Each message says what is expected; what was found is put in front of it.
import * as v from 'valibot';

type Schema = v.GenericSchema;

/** One of several kinds of value, told apart by its YAML type alone, so that a fault inside is named where it is. */
export type Choice<T extends readonly Schema[]> = v.LazySchema<T[number]> & { readonly options: T };

function choice<const T extends readonly Schema[]>(expected: string, options: T): Choice<T> {
  const none = v.never(expected) as Schema as T[number];
  const lazy = v.lazy<T[number]>(
    (input) => options.find((option) => kindOfSchema(option) === kindOfValue(input)) ?? none,
  );
  return Object.assign(lazy, { options });
}

/** `map` and `list` as YAML has them. */
type Kind = 'text' | 'number' | 'boolean' | 'list' | 'map' | 'nothing';

export function kindOfValue(value: unknown): Kind {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'object') return 'map';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? 'number' : 'boolean';
}

function kindOfSchema({ type }: { readonly type: string }): Kind {
  if (type === 'string' || type === 'picklist') return 'text';
  if (type === 'number' || type === 'boolean') return type;
  return type === 'array' ? 'list' : 'map';
}

function range(expected: string, least: number, most: number) {
  return v.pipe(v.number(expected), v.minValue(least, expected), v.maxValue(most, expected));
}

function whole(expected: string, least: number, most: number) {
  return v.pipe(
    v.number(expected),
    v.integer(expected),
    v.minValue(least, expected),
    v.maxValue(most, expected),
  );
}

function above(expected: string, least: number, most: number) {
  return v.pipe(v.number(expected), v.gtValue(least, expected), v.maxValue(most, expected));
}

function described<T extends Schema>(schema: T, description: string) {
  return v.optional(v.pipe(schema, v.description(description)));
}

function text(expected: string) {
  return v.pipe(v.string(expected), v.minLength(1, expected));
}

const score = range('a score from 0 to 1', 0, 1);
const share = range('a share of the picture from 0 to 1', 0, 1);
const ratio = above('a ratio of width to height above 0', 0, 10_000);
const truth = v.boolean('true or false');
const path = text('a path');
const name = v.pipe(
  v.string('a name'),
  v.regex(/^[\w-]{1,64}$/, 'a name of up to 64 letters, digits, _ and -'),
);

const className = text('the name of a class');
const classList = v.pipe(
  v.array(className, 'a list of classes, as in [car, person]'),
  v.minLength(1, 'one class or more, as in [car, person]'),
);

const PAIR = 'a pair [x, y] of shares from 0 to 1';
const pair = v.pipe(v.array(share, PAIR), v.length(2, PAIR));
const POLYGON = 'a polygon: three pairs [x, y] or more, or a text "x,y,x,y,x,y"';
const polygon = choice(POLYGON, [v.string(), v.array(pair, POLYGON)]);
const polygons = choice(POLYGON, [
  v.string(),
  v.array(
    choice(POLYGON, [
      v.string(),
      v.array(choice(PAIR, [share, pair]), 'a pair [x, y], or a polygon of such pairs'),
    ]),
    POLYGON,
  ),
]);

const filter = v.strictObject({
  min_area: described(share, 'Least area of a box, as a share of the picture.'),
  max_area: described(share, 'Largest area of a box, as a share of the picture.'),
  min_ratio: described(ratio, 'Least ratio of width to height.'),
  max_ratio: described(ratio, 'Largest ratio of width to height.'),
  mask: described(polygons, 'Objects whose foot point lies in one of these polygons are left out.'),
});
const objects = v.strictObject({
  filters: described(v.record(className, filter, 'a map of classes'), 'By class; * for the others.'),
});

const scores = v.record(className, score, 'a map of classes with least scores');
const thresholds = choice('the path of a thresholds file, or a map of classes with least scores', [
  path,
  v.objectWithRest(
    {
      conditions: described(
        v.record(text('a light state'), scores, 'a map of light states'),
        'Light state (night, dusk, day) to least scores.',
      ),
    },
    score,
  ),
]);

const deviation = above('a standard deviation above 0, up to 0.5', 0, 0.5);
const review = choice("'off', or a map with bounds", [
  v.picklist(['off'], "'off', or a map with bounds"),
  v.strictObject({
    max_std: described(deviation, 'A person should look where the score is less sure than this.'),
    max_epistemic_std: described(deviation, 'The same for what the model does not know.'),
    doubtful: described(
      v.pipe(v.array(score, 'two scores [low, high]'), v.length(2, 'two scores [low, high]')),
      'A person should look where the score lies between these two.',
    ),
    bimodal: described(truth, 'A person should look where the model hesitates between two scores.'),
    folder: described(path, 'Folder of the YOLO set that marked pictures and labels go to.'),
    per_hour: described(
      whole('a whole number from 1 to 3600', 1, 3600),
      'Most pictures a camera adds in an hour. Default 20.',
    ),
  }),
]);

const MOTION = "'on', 'off', or a map";
const motion = choice(MOTION, [
  v.picklist(['on', 'off'], MOTION),
  v.strictObject({
    threshold: described(
      range('a difference from 1 to 255', 1, 255),
      'Least difference from the background, of 255 steps of brightness. Default 10.',
    ),
    min_area: described(
      share,
      'Least connected area that changes, as a share of the picture. Default 0.0005.',
    ),
    mask: described(polygons, 'Motion in these polygons does not count.'),
    detect_every: described(
      range('seconds from 0.1 to 3600', 0.1, 3600),
      'Seconds after which a picture is looked at without motion. Default 5.',
    ),
  }),
]);

const location = v.strictObject({
  latitude: range('degrees from -90 to 90, north positive', -90, 90),
  longitude: range('degrees from -180 to 180, east positive', -180, 180),
});

/** What stands at the top for every camera, and in a camera for itself. */
const shared = {
  conf: described(score, 'Least score of classes that thresholds do not name. Default 0.25.'),
  thresholds: described(thresholds, 'Least scores by class, or a file that compare or val wrote.'),
  classes: described(classList, 'Classes that are reported. Default: all.'),
  objects: described(objects, 'What an object must be to be reported.'),
  review: described(review, 'When a person should look.'),
  light: described(
    v.picklist(['auto', 'sun', 'off'], "'auto', 'sun' or 'off'"),
    'How the light is told: by the picture, or by the sun over location. Default: auto where thresholds have conditions.',
  ),
  location: described(location, 'Where the cameras stand, for light: sun.'),
  motion: described(motion, 'Whether only pictures with motion go to the model. Default off.'),
  fps: described(
    above('a number of pictures per second above 0, up to 240', 0, 240),
    'Pictures per second that are looked at. Default: as many as come.',
  ),
  stall: described(
    range('seconds from 0.5 to 3600', 0.5, 3600),
    'Seconds without a picture that count as a break. Default 4.',
  ),
  rtsp_transport: described(v.picklist(['tcp', 'udp'], "'tcp' or 'udp'"), 'Default tcp.'),
  min_frames: described(
    whole('a whole number from 1 to 1000', 1, 1000),
    'Pictures that an object is seen in before it is an event. Default 3.',
  ),
  min_median_score: described(score, 'Median score that makes an object an event. Default 0.'),
};

const zone = v.strictObject({
  coordinates: polygon,
  objects: described(classList, 'Classes that count here. Default: all.'),
  inertia: described(
    whole('a whole number of pictures from 1 to 100', 1, 100),
    'Pictures in a row that an object must be inside, or outside. Default 3.',
  ),
});
const line = v.strictObject({
  from: pair,
  to: pair,
  objects: described(classList, 'Classes that count here. Default: all.'),
});
const camera = v.strictObject({
  source: choice('the address or path of a camera or clip, or the number of a camera', [
    text('the address or path of a camera or clip'),
    whole('the number of a camera from 0 to 999', 0, 999),
  ]),
  enabled: described(truth, 'Default true.'),
  start_time: described(
    text('a time with its zone, such as 2021-03-20T18:30:00+08:00'),
    'When a clip begins, for light: sun.',
  ),
  ...shared,
  zones: described(v.record(name, zone, 'a map of zones'), 'Areas by name.'),
  lines: described(v.record(name, line, 'a map of lines'), 'Lines that are counted at, by name.'),
});

const port = whole('a port from 1 to 65535', 1, 65_535);
const host = v.pipe(
  v.string('the name or address of a host'),
  v.regex(/^[^\s/@]+$/, 'the name or address of a host, without scheme, path or user'),
);
const mqtt = v.strictObject({
  url: described(text('an address such as mqtt://host:1883'), 'Instead of host, port and tls.'),
  host: described(host, 'The broker.'),
  port: described(port, 'Default 1883, with tls 8883.'),
  tls: described(truth, 'Default false.'),
  user: described(text('the name of a user'), `Better as \${NAME} of the environment.`),
  password: described(text('a password'), `Better as \${NAME} of the environment.`),
  topic_prefix: described(
    v.pipe(
      v.string('a topic'),
      v.regex(/^[^\s#+/][^\s#+]*(?<!\/)$/, 'a topic without #, +, blanks, and / at its ends'),
    ),
    'Default edge-detect.',
  ),
  client_id: described(text('a text'), 'Default: the topic prefix.'),
  home_assistant: described(
    choice('true, false or a map', [truth, v.strictObject({ prefix: text('a topic') })]),
    "Announces itself to Home Assistant. Default false; prefix 'homeassistant'.",
  ),
});
const server = v.strictObject({
  host: described(host, 'Default 127.0.0.1: this machine alone.'),
  port: described(port, 'Default 8080.'),
  token: described(
    v.pipe(v.string('a text'), v.regex(/^\S{8,}$/, 'a token of 8 characters or more, without blanks')),
    'Asked for off this machine, and by every change.',
  ),
});
const events = v.strictObject({
  path,
  max_mb: described(above('megabytes above 0, up to 100000', 0, 100_000), 'Default 100.'),
  keep: described(whole('a whole number from 0 to 1000', 0, 1000), 'Older files that are kept. Default 5.'),
});
const snapshots = v.strictObject({
  folder: path,
  days: described(above('days above 0, up to 36500', 0, 36_500), 'How long pictures are kept. Default 7.'),
});
const clipSeconds = range('seconds from 0 to 60', 0, 60);
const clips = v.strictObject({
  folder: path,
  pre: described(clipSeconds, 'Seconds before an object comes. Default 5.'),
  post: described(clipSeconds, 'Seconds after it has gone. Default 5.'),
  longest: described(range('seconds from 1 to 3600', 1, 3600), 'No clip is longer. Default 120.'),
  days: described(above('days above 0, up to 36500', 0, 36_500), 'How long clips are kept. Default 7.'),
  max_mb: described(
    above('megabytes above 0, up to 100000000', 0, 100_000_000),
    'Of all clips together; the oldest go first. Default 10000.',
  ),
});
const webhook = v.strictObject({
  url: text('an address such as https://host/path'),
  timeout: described(range('seconds from 0.1 to 300', 0.1, 300), 'Default 5.'),
});

const hours = above('hours above 0, up to 10000', 0, 10_000);
const tracks = whole('a whole number from 20 to 256', 20, 256);
const drift = v.strictObject({
  path,
  learn_hours: described(hours, 'Hours in a light that its reference is learned from. Default 24.'),
  learn_tracks: described(tracks, 'Tracks that it needs, too. Default 200.'),
  window_hours: described(hours, 'Hours in that light that are compared with it. Default 1.'),
  window_tracks: described(tracks, 'Tracks that they need, too; until then the window goes on. Default 50.'),
});

export const siteSchema = v.strictObject({
  model: v.pipe(path, v.description('Path of the ONNX file. Paths are relative to this file.')),
  device: described(text('a device, such as cpu, auto or tensorrt:0'), 'Where the model runs. Default cpu.'),
  sessions: described(whole('a whole number from 1 to 64', 1, 64), 'Copies of the model that work at once.'),
  threads: described(whole('a whole number from 1 to 1024', 1, 1024), 'Threads of each copy.'),
  iou: described(score, 'Overlap from which of two boxes one is dropped.'),
  ...shared,
  mqtt: described(mqtt, 'Events and states for the house.'),
  server: described(server, 'Live page, metrics and health.'),
  events: described(events, 'JSON lines of events.'),
  snapshots: described(snapshots, 'Best picture of each event.'),
  clips: described(clips, 'Video of each event, from before it to after it.'),
  drift: described(drift, 'Says when scores leave what was learned in that light.'),
  webhook: described(webhook, 'Events as POST requests.'),
  cameras: v.pipe(v.record(name, camera, 'a map of cameras'), v.description('Cameras by name.')),
});

/** A site file that has the right keys, types and ranges; what they mean together is not checked yet. */
export type SiteDocument = v.InferOutput<typeof siteSchema>;
export type CameraDocument = SiteDocument['cameras'][string];
export type SharedDocument = Pick<CameraDocument, keyof typeof shared>;
