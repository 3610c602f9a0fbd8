// What Home Assistant finds by itself: a device per camera with its switch, its states and its counts.
import { type Topics, topicWord } from './topics.ts';

export interface DiscoveryOptions {
  /** Home Assistant's own prefix, `homeassistant` unless it was changed there. */
  readonly prefix: string;
  /** Tells our devices from those of another site. */
  readonly siteId: string;
  readonly topics: Topics;
}

/** Retained messages: topic and payload. */
export type Discovery = readonly (readonly [topic: string, payload: string])[];

type Entity = Readonly<Record<string, unknown>>;

/** Switch, connection, light and whether anything is there. */
export function discoverCamera(camera: string, options: DiscoveryOptions): Discovery {
  const { topics } = options;
  return [
    config('switch', camera, 'enabled', options, {
      name: 'Detection',
      icon: 'mdi:cctv',
      state_topic: topics.of(camera, 'enabled', 'state'),
      command_topic: topics.of(camera, 'enabled', 'set'),
    }),
    config('binary_sensor', camera, 'connected', options, {
      name: 'Connection',
      device_class: 'connectivity',
      entity_category: 'diagnostic',
      state_topic: topics.of(camera, 'state'),
      value_template: "{{ 'ON' if value == 'live' else 'OFF' }}",
    }),
    config('sensor', camera, 'state', options, {
      name: 'State',
      entity_category: 'diagnostic',
      state_topic: topics.of(camera, 'state'),
    }),
    config('sensor', camera, 'light', options, { name: 'Light', state_topic: topics.of(camera, 'light') }),
    config('binary_sensor', camera, 'all', options, {
      name: 'Occupancy',
      ...occupancy(topics.count(camera, undefined)),
    }),
  ];
}

/** Whether scores have left what was learned. */
export function discoverDrift(camera: string, options: DiscoveryOptions): Discovery {
  return [
    config('binary_sensor', camera, 'drift', options, {
      name: 'Score drift',
      device_class: 'problem',
      entity_category: 'diagnostic',
      state_topic: options.topics.of(camera, 'drift', 'state'),
    }),
  ];
}

/** How many of a class a camera sees, and whether any. */
export function discoverClass(camera: string, className: string, options: DiscoveryOptions): Discovery {
  const topic = options.topics.count(camera, className);
  const word = `class_${slug(className)}`;
  return [
    config('binary_sensor', camera, word, options, { name: `${className} occupancy`, ...occupancy(topic) }),
    config('sensor', camera, word, options, {
      name: `${className} count`,
      state_topic: topic,
      state_class: 'measurement',
    }),
  ];
}

function occupancy(topic: string): Entity {
  return {
    device_class: 'occupancy',
    state_topic: topic,
    value_template: "{{ 'ON' if value | int(0) > 0 else 'OFF' }}",
  };
}

function config(
  component: string,
  camera: string,
  word: string,
  { prefix, siteId, topics }: DiscoveryOptions,
  entity: Entity,
): readonly [string, string] {
  const node = `${slug(siteId)}_${slug(camera)}`;
  const payload = {
    ...entity,
    unique_id: `${node}_${component}_${word}`,
    object_id: `${camera}_${word}`,
    availability: [
      {
        topic: topics.available,
        // `stopped` is a word of its own, which Home Assistant would take for none.
        value_template: "{{ 'online' if value == 'online' else 'offline' }}",
      },
    ],
    device: { identifiers: [node], name: camera, manufacturer: 'edge-detect', model: 'camera' },
    origin: { name: 'edge-detect' },
  };
  return [`${topicWord(prefix)}/${component}/${node}/${word}/config`, JSON.stringify(payload)];
}

/** Home Assistant takes letters, digits, `_` and `-` in these. */
function slug(name: string): string {
  return name.replace(/[^\w-]+/g, '_') || '_';
}
