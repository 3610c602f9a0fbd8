// Where a site's events, pictures and states go: broker, server, files, hook; no two of them to one place.
import type {
  Site,
  SiteClips,
  SiteDrift,
  SiteEventsFile,
  SiteMqtt,
  SiteServer,
  SiteSnapshots,
} from './site.ts';
import { isLoopback, toUrl } from './site-addresses.ts';
import type { SiteContext } from './site-camera.ts';
import type { SiteFaults } from './site-faults.ts';
import type { SitePath } from './site-placed.ts';
import type { SiteDocument } from './site-schema.ts';

export type SiteOutputs = Pick<
  Site,
  'mqtt' | 'server' | 'events' | 'snapshots' | 'clips' | 'drift' | 'webhook'
>;

export function buildOutputs(document: SiteDocument, context: SiteContext): SiteOutputs {
  const mqtt = document.mqtt && mqttOf(document.mqtt, context);
  const webhook = document.webhook && webhookOf(document.webhook, context);
  expectOwnPaths(document, context);
  return {
    ...(mqtt && { mqtt }),
    ...(document.server && { server: serverOf(document.server, context) }),
    ...(document.events && { events: eventsOf(document.events, context) }),
    ...(document.snapshots && { snapshots: snapshotsOf(document.snapshots, context) }),
    ...(document.clips && { clips: clipsOf(document.clips, context) }),
    ...(document.drift && { drift: driftOf(document.drift, context) }),
    ...(webhook && { webhook }),
  };
}

type MqttDocument = NonNullable<SiteDocument['mqtt']>;

function mqttOf(mqtt: MqttDocument, context: SiteContext): SiteMqtt | undefined {
  const address = brokerOf(mqtt, context);
  if (address === undefined) return undefined;
  const username = mqtt.user ?? address.username;
  const password = mqtt.password ?? address.password;
  if (password !== undefined && username === undefined && !context.faults.touches(['mqtt', 'user'])) {
    const hint = 'add user:, or remove the password';
    context.faults.addNew(['mqtt', 'password'], { text: 'found a password without user', hint, atKey: true });
  }
  const topicPrefix = mqtt.topic_prefix ?? 'edge-detect';
  const home = mqtt.home_assistant ?? false;
  const prefix = typeof home === 'boolean' ? 'homeassistant' : home.prefix;
  return {
    url: address.url,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    topicPrefix,
    clientId: mqtt.client_id ?? topicPrefix.replaceAll('/', '-'),
    ...(home !== false && { homeAssistant: { prefix } }),
  };
}

interface Broker {
  /** Without user and password. */
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
}

function brokerOf(mqtt: MqttDocument, { faults }: SiteContext): Broker | undefined {
  const { url, host, port, tls = false } = mqtt;
  if (url === undefined) {
    if (host === undefined)
      faults.addNew(['mqtt'], { text: 'host is missing', hint: 'add host: or url:', atKey: true });
    const isIpv6 = host?.includes(':') && !host.startsWith('[');
    const name = isIpv6 ? `[${host}]` : host;
    return { url: `${tls ? 'mqtts' : 'mqtt'}://${name}:${port ?? (tls ? 8883 : 1883)}` };
  }
  const at = ['mqtt', 'url'];
  const found = toUrl(url, ['mqtt', 'mqtts'], { path: at, faults });
  if (found === undefined) return undefined;
  if (found.pathname.length > 1 || found.search !== '' || found.hash !== '')
    faults.expected(
      at,
      'an address without a path',
      'write mqtt://host:1883; topics begin with topic_prefix:',
    );
  const { protocol, hostname } = found;
  const username = decoded(found.username, faults);
  const password = decoded(found.password, faults);
  const rivals = Object.entries({
    host: true,
    port: true,
    tls: true,
    user: username !== undefined,
    password: password !== undefined,
  });
  for (const [key, isInUrl] of rivals) {
    if (!isInUrl || mqtt[key as keyof MqttDocument] === undefined) continue;
    faults.add(['mqtt', key], { text: 'url says the same', hint: 'keep one of the two', atKey: true });
  }
  return {
    url: `${protocol}//${hostname}:${found.port || (protocol === 'mqtts:' ? 8883 : 1883)}`,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
}

/** @returns undefined for nothing */
function decoded(part: string, faults: SiteFaults): string | undefined {
  if (part === '') return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    const hint = 'write special characters as %40 (@), %25 (%); or use user: and password:';
    faults.addNew(['mqtt', 'url'], { text: 'found a % that stands for no character', hint });
    return undefined;
  }
}

function serverOf(
  { host = '127.0.0.1', port = 8080, token }: NonNullable<SiteDocument['server']>,
  { faults }: SiteContext,
): SiteServer {
  if (!isLoopback(host) && token === undefined && !faults.touches(['server', 'token'])) {
    const hint = `add token: \${NAME}, or host: 127.0.0.1 for this machine alone`;
    const at = ['server', 'host'];
    faults.add(at, { text: `found ${faults.found(at)}, which others reach, without a token`, hint });
  }
  return { host, port, ...(token !== undefined && { token }) };
}

function eventsOf(
  { path, max_mb: megabytes = 100, keep = 5 }: NonNullable<SiteDocument['events']>,
  { absolute }: SiteContext,
): SiteEventsFile {
  return { path: absolute(path), maxBytes: Math.max(1, Math.round(megabytes * 1e6)), keep };
}

function snapshotsOf(
  { folder, days = 7 }: NonNullable<SiteDocument['snapshots']>,
  { absolute }: SiteContext,
): SiteSnapshots {
  return { folder: absolute(folder), days };
}

function clipsOf(clips: NonNullable<SiteDocument['clips']>, { absolute, faults }: SiteContext): SiteClips {
  const { folder, pre = 5, post = 5, longest = 120, days = 7, max_mb: megabytes = 10_000 } = clips;
  if (longest <= pre)
    faults.addNew(['clips', clips.longest === undefined ? 'pre' : 'longest'], {
      text: `found longest ${longest} s, expected more than the ${pre} s of pre`,
      hint: 'no object would be seen: make longest: larger, or pre: smaller',
    });
  return { folder: absolute(folder), pre, post, longest, days, maxBytes: Math.round(megabytes * 1e6) };
}

function driftOf(
  {
    path,
    learn_hours: learnHours = 24,
    learn_tracks: learnTracks = 200,
    window_hours: windowHours = 1,
    window_tracks: windowTracks = 50,
  }: NonNullable<SiteDocument['drift']>,
  { absolute }: SiteContext,
): SiteDrift {
  return { path: absolute(path), learnHours, learnTracks, windowHours, windowTracks };
}

function webhookOf({ url, timeout = 5 }: NonNullable<SiteDocument['webhook']>, { faults }: SiteContext) {
  const found = toUrl(url, ['https', 'http'], { path: ['webhook', 'url'], faults });
  return found && { url, timeoutSeconds: timeout };
}

/** A sink that writes where another writes, or where something is read, would spoil it. */
function expectOwnPaths(document: SiteDocument, { absolute, faults }: SiteContext): void {
  const reviews = [
    { review: document.review, path: ['review', 'folder'] },
    ...Object.entries(document.cameras).map(([name, { review }]) => ({
      review,
      path: ['cameras', name, 'review', 'folder'],
    })),
  ];
  // Cameras may share a review folder: a name of their own is in each file there.
  const written: readonly {
    readonly what: string;
    readonly to: string | undefined;
    readonly path: SitePath;
  }[] = [
    { what: 'model', to: document.model, path: ['model'] },
    { what: 'events', to: document.events?.path, path: ['events', 'path'] },
    { what: 'snapshots', to: document.snapshots?.folder, path: ['snapshots', 'folder'] },
    { what: 'clips', to: document.clips?.folder, path: ['clips', 'folder'] },
    { what: 'drift', to: document.drift?.path, path: ['drift', 'path'] },
    ...reviews.map(({ review, path }) => ({
      what: 'review',
      to: typeof review === 'object' ? review.folder : undefined,
      path,
    })),
  ];
  const taken = new Map<string, string>();
  for (const { what, to, path } of written) {
    if (to === undefined) continue;
    const before = taken.get(absolute(to));
    if (before !== undefined && before !== what)
      faults.addNew(path, {
        text: `found ${faults.found(path)}, where ${before} is already`,
        hint: 'give each a place of its own',
      });
    taken.set(absolute(to), what);
  }
}
