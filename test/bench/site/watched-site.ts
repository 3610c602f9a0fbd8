// A site as an operator runs it, in a process of its own, watched from outside: its metrics, memory and descriptors.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../support/mosquitto.ts';
import { childrenOf } from '../../support/processes.ts';

const BIN = fileURLToPath(new URL('../../../src/cli/bin.js', import.meta.url));

/** One look at the site from outside. */
export interface SiteSample {
  readonly atMs: number;
  /** Frames looked at since the start, by camera. */
  readonly frames: ReadonlyMap<string, number>;
  readonly dropped: ReadonlyMap<string, number>;
  readonly states: ReadonlyMap<string, string>;
  /** Frames and sum of their ages in s, by camera. */
  readonly ages: ReadonlyMap<string, { readonly count: number; readonly sum: number }>;
  /** Of all cameras and kinds. */
  readonly events: number;
  /** 99 % of the pauses of the event loop are shorter, ms. */
  readonly lagP99Ms: number;
  readonly rssMb: number;
  /** Of its children, pages that are shared counted by parts. */
  readonly childrenMb: number;
  readonly descriptors: number;
  readonly children: number;
  /** s of CPU since the start, children that live included. */
  readonly cpuSeconds: number;
}

export class WatchedSite {
  readonly samples: SiteSample[] = [];
  readonly said: string[] = [];
  readonly #child: ChildProcess;
  readonly #url: string;
  #watching = true;
  #done: Promise<void> = Promise.resolve();

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#url = `http://127.0.0.1:${port}/metrics`;
    child.stderr?.on('data', (chunk: Buffer) => this.said.push(chunk.toString()));
  }

  /** @param site YAML without its server; @param everyMs between two looks */
  static async start(folder: string, site: string, everyMs: number): Promise<WatchedSite> {
    const port = await freePort();
    const path = join(folder, 'site.yaml');
    await writeFile(path, `${site}\nserver: { port: ${port} }\n`);
    const child = spawn(process.execPath, [BIN, 'stream', `config=${path}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const watched = new WatchedSite(child, port);
    watched.#done = watched.#watch(everyMs);
    return watched;
  }

  get latest(): SiteSample | undefined {
    return this.samples.at(-1);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** One that was killed has a signal and no code. */
  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** @throws Error with what the site said, when it takes longer */
  async until(isTrue: (sample: SiteSample) => boolean, seconds: number): Promise<SiteSample> {
    const end = Date.now() + 1000 * seconds;
    while (Date.now() < end && !this.hasEnded) {
      const sample = this.latest;
      if (sample !== undefined && isTrue(sample)) return sample;
      await sleep(20);
    }
    throw new Error(`not within ${seconds} s; the site said: ${this.said.join('').slice(-2000)}`);
  }

  /** Ctrl-C. @returns the exit code */
  async stop(): Promise<number | null> {
    this.#watching = false;
    await this.#done;
    if (this.hasEnded) return this.#child.exitCode;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGINT');
    const [code] = await ended;
    return code as number | null;
  }

  async #watch(everyMs: number): Promise<void> {
    while (this.#watching && !this.hasEnded) {
      const next = sleep(everyMs);
      const text = await fetch(this.#url)
        .then((response) => response.text())
        .catch(() => undefined);
      if (text !== undefined) this.#take(text);
      await next;
    }
  }

  #take(text: string): void {
    try {
      this.samples.push({ ...readMetrics(text), ...readProcess(this.pid) });
    } catch {
      // the process has just ended
    }
  }
}

type Said = Pick<SiteSample, 'atMs' | 'frames' | 'dropped' | 'states' | 'ages' | 'events' | 'lagP99Ms'>;

function readMetrics(text: string): Said {
  const frames = new Map<string, number>();
  const dropped = new Map<string, number>();
  const states = new Map<string, string>();
  const counts = new Map<string, number>();
  const sums = new Map<string, number>();
  let events = 0;
  let lagP99Ms = 0;
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', number = ''] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    const label = (key: string) => new RegExp(`${key}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const value = Number(number);
    if (name === 'edge_detect_frames_total') frames.set(label('camera'), value);
    else if (name === 'edge_detect_dropped_total') dropped.set(label('camera'), value);
    else if (name === 'edge_detect_camera_state' && value === 1) states.set(label('camera'), label('state'));
    else if (name === 'edge_detect_frame_age_seconds_count') counts.set(label('camera'), value);
    else if (name === 'edge_detect_frame_age_seconds_sum') sums.set(label('camera'), value);
    else if (name === 'edge_detect_events_total') events += value;
    else if (name === 'nodejs_eventloop_lag_p99_seconds') lagP99Ms = 1000 * value;
  }
  const ages = new Map([...counts].map(([camera, count]) => [camera, { count, sum: sums.get(camera) ?? 0 }]));
  return { atMs: Date.now(), frames, dropped, states, ages, events, lagP99Ms };
}

type Seen = Omit<SiteSample, keyof Said>;

function readProcess(pid: number): Seen {
  const children = childrenOf(pid);
  const memory = (of: number, key: string, file: string) => {
    const text = readText(`/proc/${of}/${file}`);
    return Number(new RegExp(`${key}:\\s+(\\d+)`).exec(text)?.[1] ?? 0) / 1024;
  };
  return {
    rssMb: memory(pid, 'VmRSS', 'status'),
    childrenMb: children.reduce((sum, child) => sum + memory(child, 'Pss', 'smaps_rollup'), 0),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    children: children.length,
    cpuSeconds: [pid, ...children].reduce((sum, of) => sum + cpuSecondsOf(of), 0),
  };
}

/** User and system time of a process and of its children that have ended; ticks are hundredths of a second. */
function cpuSecondsOf(pid: number): number {
  const fields = readText(`/proc/${pid}/stat`)
    .replace(/^.*\) /, '')
    .split(' ');
  return [11, 12, 13, 14].reduce((sum, place) => sum + Number(fields[place] ?? 0), 0) / 100;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // gone between two looks
  }
}
