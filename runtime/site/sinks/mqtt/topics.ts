// Names of topics, in the habits of the field's NVR, Frigate.

/** Words behind `<prefix>/<camera>/` that are no objects. */
const TAKEN: ReadonlySet<string> = new Set([
  'all',
  'state',
  'light',
  'zone',
  'line',
  'notice',
  'drift',
  'clip',
  'enabled',
  'threshold',
]);

/** Stands in topics for the classes that have no threshold of their own. */
export const DEFAULT_CLASS = 'default';

export interface Topics {
  readonly available: string;
  readonly events: string;
  readonly stats: string;
  readonly error: string;
  /** Of one camera, or of a zone; `parts` are written as they are. */
  of(place: string, ...parts: readonly string[]): string;
  /** How many objects of a class are there; `undefined`: of all. */
  count(place: string, className: string | undefined): string;
  threshold(camera: string, className: string, ending: 'set' | 'state'): string;
  /** What is listened to. */
  readonly commands: readonly string[];
  /** Every topic of the form `<prefix>/<place>/<word>`. */
  readonly places: string;
  /** The levels behind the prefix, or undefined where the topic is not ours. */
  levels(topic: string): readonly string[] | undefined;
}

export function createTopics(prefix: string): Topics {
  const root = prefix
    .split('/')
    .filter((level) => level !== '')
    .map(topicWord)
    .join('/');
  const of = (place: string, ...parts: readonly string[]) => [root, topicWord(place), ...parts].join('/');
  return {
    available: `${root}/available`,
    events: `${root}/events`,
    stats: `${root}/stats`,
    error: `${root}/error`,
    of,
    count: (place, className) => of(place, className === undefined ? 'all' : objectWord(className)),
    threshold: (camera, className, ending) => of(camera, 'threshold', thresholdWord(className), ending),
    commands: [`${root}/+/enabled/set`, `${root}/+/threshold/+/set`],
    places: `${root}/+/+`,
    levels: (topic) => (topic.startsWith(`${root}/`) ? topic.slice(root.length + 1).split('/') : undefined),
  };
}

/** A name as one level of a topic: without separators, wildcards, spaces and control characters. */
export function topicWord(name: string): string {
  return name.replace(/[\s\p{C}/+#$]+/gu, '_') || '_';
}

/** The class `light` must not lie where the state of the light does. */
function objectWord(className: string): string {
  const word = topicWord(className);
  return TAKEN.has(word) ? `${word}_` : word;
}

/** `*` is the name of all classes without a threshold of their own. */
export function thresholdWord(className: string): string {
  if (className === '*') return DEFAULT_CLASS;
  const word = topicWord(className);
  return word === DEFAULT_CLASS ? `${word}_` : word;
}
