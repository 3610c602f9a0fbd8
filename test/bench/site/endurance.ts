// Eight cameras for half an hour, with faults at random: what is noticed, when is it back, and are the others left alone?
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom, type Random } from '#core';
import { type Listener, Mosquitto } from '../../support/mosquitto.ts';
import { fitLine } from '../fit-line.ts';
import { type CameraClips, CameraStand, makeCameraClips, SAMPLES } from './cameras.ts';
import { FAULT_KINDS, type FaultKind, inflict } from './faults.ts';
import { type SiteSample, WatchedSite } from './watched-site.ts';

const CAMERAS = 8;
const SECONDS_PER_FAULT = 36;
/** After every so many faults the broker goes away, while a camera does, too. */
const BROKER_EVERY = 10;
const LOOK_EVERY_MS = 250;

export interface FaultRecord {
  readonly number: number;
  readonly kind: FaultKind;
  readonly camera: string;
  readonly lastedSeconds: number;
  /** From its begin to the first word about it over MQTT; null: none came. */
  readonly noticedSeconds: number | null;
  /** From the camera's return to its next frame; null: not within 20 s. */
  readonly resumedSeconds: number | null;
  /** Longest time without a frame among all other cameras meanwhile. */
  readonly worstGapOfOthers: number;
  /** What stood on the broker and was not so; empty: all was right. */
  readonly wrongOnBroker: readonly string[];
}

export interface BrokerRecord {
  readonly awaySeconds: number;
  /** From its return until every retained state was right again; null: not within 20 s. */
  readonly rightAfterSeconds: number | null;
}

export interface EnduranceFigures {
  readonly minutes: number;
  readonly faults: number;
  readonly noticedWithin5s: number;
  readonly resumedWithin3s: number;
  readonly othersUnaffected: number;
  readonly rightOnBroker: number;
  readonly brokers: readonly BrokerRecord[];
  /** Mean age of frames, ms, by tenth of the run. */
  readonly frameAgeMs: readonly number[];
  readonly rssMb: readonly number[];
  readonly descriptors: readonly number[];
  /** Over the second half, with its standard error. */
  readonly rssMbPerHour: { readonly slope: number; readonly error: number };
  readonly framesPerSecond: number;
  readonly cores: number;
  readonly exitCode: number | null;
}

interface Stage {
  readonly stands: readonly CameraStand[];
  readonly clips: CameraClips;
  readonly site: WatchedSite;
  readonly broker: Mosquitto;
  readonly listener: Listener;
}

export async function measureEndurance(
  faults: number,
  onRecord: (record: FaultRecord | BrokerRecord) => void,
): Promise<EnduranceFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'edge-detect-endurance-'));
  const clips = makeCameraClips(folder);
  const stands: CameraStand[] = [];
  const broker = await Mosquitto.start();
  try {
    for (let index = 0; index < CAMERAS; index++)
      stands.push(await CameraStand.start(`camera${index}`, clips.of(index)));
    const listener = await broker.listen('edge/#');
    const site = await WatchedSite.start(folder, siteOf(stands, broker.port), LOOK_EVERY_MS);
    try {
      await site.until(
        ({ states }) => [...states.values()].filter((one) => one === 'live').length === CAMERAS,
        60,
      );
      await sleep(15_000);
      return await endure({ stands, clips, site, broker, listener }, faults, onRecord);
    } finally {
      await site.stop();
      await listener.close();
    }
  } finally {
    await Promise.all(stands.map((stand) => stand.close()));
    await broker.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function siteOf(stands: readonly CameraStand[], port: number): string {
  const cameras = stands.map(({ name, url }) => `  ${name}: { source: '${url}', fps: 5 }`);
  return [
    `model: ${join(SAMPLES, 'model/edge-n-street.onnx')}`,
    'light: auto',
    `mqtt: { host: 127.0.0.1, port: ${port}, topic_prefix: edge }`,
    'events: { path: events.jsonl }',
    'cameras:',
    ...cameras,
  ].join('\n');
}

async function endure(
  stage: Stage,
  faults: number,
  onRecord: (record: FaultRecord | BrokerRecord) => void,
): Promise<EnduranceFigures> {
  const random = createRandom(7);
  const records: FaultRecord[] = [];
  const brokers: BrokerRecord[] = [];
  for (let number = 0; number < faults; number++) {
    const next = sleep(1000 * SECONDS_PER_FAULT);
    const record = await oneFault(stage, number, random);
    records.push(record);
    onRecord(record);
    if (number % BROKER_EVERY === BROKER_EVERY - 1) {
      const away = await restartBroker(stage, random.between(2, 6), number % CAMERAS);
      brokers.push(away);
      onRecord(away);
    }
    await next;
  }
  const { samples } = stage.site;
  const exitCode = await stage.site.stop();
  return { ...figuresOf(samples), ...countsOf(records), brokers, exitCode };
}

async function oneFault(
  { stands, clips, site, listener }: Stage,
  number: number,
  random: Random,
): Promise<FaultRecord> {
  // Every kind in turn, so that none is left out; which camera and for how long is drawn.
  const kind = FAULT_KINDS[number % FAULT_KINDS.length] ?? 'kill';
  const index = random.integer(CAMERAS);
  const stand = stands[index];
  if (stand === undefined) throw new Error(`no camera ${index}`);
  const beganMs = Date.now();
  const wrong: string[] = [];
  const check = () => {
    // A camera whose noise the decoder makes pictures of is live, and its trouble is said beside.
    const isSaid = heardOf(listener, stand.name, beganMs) !== undefined;
    const found = wrongStates(site, listener, stand.name);
    wrong.push(...found.filter((words) => !isSaid || !words.startsWith(`${stand.name} `)));
  };
  const checks = setTimeout(check, 5300);
  const returnedMs = await inflict({
    kind,
    stand,
    clips,
    index,
    seconds: random.between(6, 15),
  });
  const isShort = returnedMs - beganMs < 5300;
  if (isShort) clearTimeout(checks);
  const noticedMs = await waitFor(() => heardOf(listener, stand.name, beganMs), 6);
  const resumedMs = await waitFor(
    () => framesAgain(site.samples, stand.name, Math.max(returnedMs, noticedMs ?? 0)),
    20,
  );
  await sleep(Math.max(0, returnedMs + 3300 - Date.now()));
  wrong.push(...wrongStates(site, listener, undefined));
  const others = stands.filter((one) => one !== stand).map(({ name }) => name);
  return {
    number,
    kind,
    camera: stand.name,
    lastedSeconds: (returnedMs - beganMs) / 1000,
    noticedSeconds: noticedMs === undefined ? null : (noticedMs - beganMs) / 1000,
    resumedSeconds: resumedMs === undefined ? null : (resumedMs - returnedMs) / 1000,
    worstGapOfOthers: Math.max(...others.map((name) => longestGap(site.samples, name, beganMs))),
    wrongOnBroker: wrong,
  };
}

/** The broker comes back without what it had retained, and meanwhile a camera went away. */
async function restartBroker(
  { stands, broker }: Stage,
  awaySeconds: number,
  index: number,
): Promise<BrokerRecord> {
  const stand = stands[index];
  if (stand === undefined) throw new Error(`no camera ${index}`);
  await broker.stop('SIGKILL');
  const comeBack = await stand.leave();
  await sleep(1000 * awaySeconds);
  await broker.start();
  const startMs = Date.now();
  const rightMs = await waitFor(async () => {
    const found = await broker.retained();
    const isRight = stands.every(
      ({ name }) => (found.get(`edge/${name}/state`) === 'live') === (name !== stand.name),
    );
    return isRight && found.get('edge/available') === 'online' ? Date.now() : undefined;
  }, 20);
  await comeBack();
  return { awaySeconds, rightAfterSeconds: rightMs === undefined ? null : (rightMs - startMs) / 1000 };
}

async function waitFor(
  look: () => number | undefined | Promise<number | undefined>,
  seconds: number,
): Promise<number | undefined> {
  const end = Date.now() + 1000 * seconds;
  for (;;) {
    const found = await look();
    if (found !== undefined || Date.now() > end) return found;
    await sleep(50);
  }
}

function heardOf({ messages }: Listener, camera: string, sinceMs: number): number | undefined {
  return messages.find(
    ({ topic, payload, atMs }) =>
      atMs >= sinceMs &&
      ((topic === `edge/${camera}/state` && payload !== 'live') || topic === `edge/${camera}/notice`),
  )?.atMs;
}

function framesAgain(samples: readonly SiteSample[], camera: string, sinceMs: number): number | undefined {
  const after = samples.filter(({ atMs }) => atMs >= sinceMs - LOOK_EVERY_MS);
  const rises = after.find(
    (sample, place) =>
      place > 0 &&
      sample.states.get(camera) === 'live' &&
      (sample.frames.get(camera) ?? 0) > (after[place - 1]?.frames.get(camera) ?? 0),
  );
  return rises?.atMs;
}

function longestGap(samples: readonly SiteSample[], camera: string, sinceMs: number): number {
  let last = sinceMs;
  let longest = 0;
  let frames = 0;
  for (const sample of samples) {
    const now = sample.frames.get(camera) ?? 0;
    if (sample.atMs >= sinceMs && now > frames) {
      longest = Math.max(longest, sample.atMs - last);
      last = sample.atMs;
    }
    frames = now;
  }
  return longest / 1000;
}

/** Retained states that contradict what is so: `away` is not live, all others are. */
function wrongStates(site: WatchedSite, { messages }: Listener, away: string | undefined): string[] {
  const said = new Map(messages.map(({ topic, payload }) => [topic, payload]));
  return [...(site.latest?.states.keys() ?? [])].flatMap((camera) => {
    const state = said.get(`edge/${camera}/state`) ?? 'nothing';
    return (state === 'live') === (camera !== away) ? [] : [`${camera} ${state}`];
  });
}

function countsOf(records: readonly FaultRecord[]) {
  const count = (is: (record: FaultRecord) => boolean) => records.filter(is).length;
  return {
    faults: records.length,
    noticedWithin5s: count(({ noticedSeconds }) => (noticedSeconds ?? 99) <= 5),
    resumedWithin3s: count(({ resumedSeconds }) => (resumedSeconds ?? 99) <= 3),
    othersUnaffected: count(({ worstGapOfOthers }) => worstGapOfOthers <= 1),
    rightOnBroker: count(({ wrongOnBroker }) => wrongOnBroker.length === 0),
  };
}

function figuresOf(samples: readonly SiteSample[]) {
  const tenths = Array.from(
    { length: 11 },
    (_, part) => samples[Math.min(samples.length - 1, Math.floor((part * samples.length) / 10))],
  ).filter((sample) => sample !== undefined);
  const [first, last] = [tenths[0], tenths.at(-1)];
  if (first === undefined || last === undefined) throw new Error('the site was never seen');
  const sum = (of: ReadonlyMap<string, number>) =>
    [...of.values()].reduce((total, value) => total + value, 0);
  const age = (sample: SiteSample, key: 'count' | 'sum') =>
    [...sample.ages.values()].reduce((total, one) => total + one[key], 0);
  const seconds = (last.atMs - first.atMs) / 1000;
  const late = samples.slice(samples.length >> 1);
  return {
    minutes: seconds / 60,
    frameAgeMs: tenths.slice(1).map((sample, part) => {
      const before = tenths[part] ?? first;
      return Math.round(
        (1000 * (age(sample, 'sum') - age(before, 'sum'))) / (age(sample, 'count') - age(before, 'count')),
      );
    }),
    rssMb: tenths.map(({ rssMb }) => Math.round(rssMb)),
    descriptors: tenths.map(({ descriptors }) => descriptors),
    rssMbPerHour: fitLine(late.map(({ atMs, rssMb }) => [(atMs - first.atMs) / 3.6e6, rssMb])),
    framesPerSecond: (sum(last.frames) - sum(first.frames)) / seconds,
    cores: (last.cpuSeconds - first.cpuSeconds) / seconds,
  };
}
