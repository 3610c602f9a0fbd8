// The clips of one camera: of a live one from the stream that comes beside its pictures, of a file from the file itself.
import { createWriteStream, type WriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type CommandInput, fileUrl } from '../../ffmpeg/index.ts';
import { outputFault } from '../../sinks/output-fault.ts';
import type { StreamCopy } from '../../sources/stream-copy.ts';
import type { SiteEvent } from '../events.ts';
import type { ClipFolder } from './clip-folder.ts';
import { ClipPlan, type PlannedClip } from './clip-plan.ts';
import { ClipRing, type TimedFragment } from './clip-ring.ts';
import { type Fragment, FragmentReader } from './fragments.ts';

/** An object is an event some frames after it has come: the ring reaches back as far beyond the time before. */
const LATE_MS = 5000;
/** What a slow disk may leave waiting. */
const MOST_WAITING = 32 << 20;

export interface CameraClipsOptions {
  readonly camera: string;
  readonly folder: ClipFolder;
  readonly onEvent: (event: SiteEvent) => void;
}

/** A file as a camera: its clips are cut from it. */
export interface ClipFile {
  readonly input: CommandInput;
  /** ms of the events at second 0 of the file. */
  readonly zeroMs: number;
}

export class CameraClips {
  readonly copy: StreamCopy;
  readonly #options: CameraClipsOptions;
  readonly #plan: ClipPlan;
  readonly #ring: ClipRing;
  #head: Buffer | undefined;
  /** Told apart from those before it, whose last bytes may come late. */
  #connection = 0;
  #lastEndMs: number | undefined;
  #live: LiveClip | undefined;
  #file: ClipFile | undefined;
  #firstMs: number | undefined;
  #lastMs = 0;
  #refused: string | undefined;
  #toldOfNone = false;

  constructor(options: CameraClipsOptions) {
    this.#options = options;
    const { pre, post, longest } = options.folder.options;
    this.#plan = new ClipPlan({ preMs: 1000 * pre, postMs: 1000 * post, longestMs: 1000 * longest });
    this.#ring = new ClipRing(1000 * pre + LATE_MS);
    this.copy = {
      begin: () => this.#begin(),
      refuse: (reason) => {
        this.#refused = reason;
      },
    };
  }

  /** The camera is a file from now on, or (undefined) a live one. */
  useFile(file: ClipFile | undefined): void {
    this.#file = file;
    this.#firstMs = undefined;
  }

  /** A frame has come, and these events from it. */
  see(atMs: number, events: readonly SiteEvent[]): void {
    this.#firstMs ??= atMs;
    this.#lastMs = atMs;
    for (const event of events) {
      if (!this.#plan.take(event) || this.#file !== undefined) continue;
      if (this.#refused === undefined) this.#startLive();
      else this.#finish();
    }
    const { open } = this.#plan;
    if (open !== undefined && this.#file !== undefined && atMs >= open.untilMs) this.#finish();
  }

  /** The connection is over, or the file: so is the clip. */
  end(): void {
    this.#finish();
    this.#ring.clear();
    this.#head = undefined;
  }

  #begin(): (chunk: Buffer) => void {
    this.end();
    const connection = ++this.#connection;
    this.#lastEndMs = undefined;
    const reader = new FragmentReader({
      onHead: (bytes) => {
        this.#head = bytes;
      },
      onFragment: (fragment) => this.#take(fragment),
    });
    let isBroken = false;
    return (chunk) => {
      if (isBroken || connection !== this.#connection) return;
      try {
        reader.push(chunk);
      } catch (error) {
        isBroken = true;
        this.#refused = `its stream cannot be cut (${error instanceof Error ? error.message : error})`;
        this.end();
      }
    };
  }

  /** A fragment comes when it is whole: it ends now, and began when the one before it ended. */
  #take(fragment: Fragment): void {
    const endMs = Date.now();
    const startMs = Math.round(this.#lastEndMs ?? endMs - fragment.durationMs);
    const timed = { ...fragment, startMs, endMs };
    this.#lastEndMs = endMs;
    this.#ring.push(timed);
    const { open } = this.#plan;
    if (open === undefined) return;
    if (timed.startMs >= open.untilMs) this.#finish();
    else if (this.#live === undefined) this.#startLive();
    else this.#live.write(timed);
  }

  #startLive(): void {
    const { folder, camera } = this.#options;
    const { open } = this.#plan;
    if (open === undefined) return;
    const fragments = this.#ring.from(open.fromMs);
    // An object that is there before the first second of the stream is whole: the clip begins with that.
    if (this.#head === undefined || fragments.length === 0) return;
    if (!folder.hasRoom) {
      this.#plan.close(); // the fault was said
      return;
    }
    this.#live = new LiveClip(folder, camera, this.#head);
    for (const fragment of fragments) this.#live.write(fragment);
  }

  #finish(): void {
    const { open } = this.#plan;
    const live = this.#live;
    this.#plan.close();
    this.#live = undefined;
    if (open === undefined) return;
    if (this.#file !== undefined) this.#cut(open, this.#file);
    else if (live !== undefined) this.#keep(open, live);
    else this.#sayNone();
  }

  #sayNone(): void {
    const { camera, onEvent } = this.#options;
    const message = `no clips of this camera: ${this.#refused ?? 'no stream came to copy'}`;
    if (!this.#toldOfNone) onEvent({ kind: 'notice', atMs: Date.now(), camera, message });
    this.#toldOfNone = true;
  }

  #cut(open: PlannedClip, { input, zeroMs }: ClipFile): void {
    const startMs = Math.max(open.fromMs, this.#firstMs ?? zeroMs);
    const endMs = Math.min(open.untilMs, Math.max(this.#lastMs, startMs + 1));
    // Times of the file as they stand in it, also where it does not begin at 0.
    const seek = ['-seek_timestamp', '1', '-ss', seconds(startMs - zeroMs), '-t', seconds(endMs - startMs)];
    const file = this.#fileOf(open);
    this.#options.folder.copy(
      file,
      { ...input, options: [...(input.options ?? []), ...seek] },
      { onDone: () => this.#tell(open, file, startMs, endMs) },
    );
  }

  #keep(open: PlannedClip, live: LiveClip): void {
    const { folder } = this.#options;
    const file = this.#fileOf(open);
    live.end((path) =>
      folder.copy(
        file,
        { url: fileUrl(path), options: ['-f', 'mp4'] },
        {
          onDone: () => this.#tell(open, file, live.startMs, live.endMs),
          onEnd: () => rm(path, { force: true }),
        },
      ),
    );
  }

  #fileOf({ id }: PlannedClip): string {
    return `${this.#options.camera}/${id}.mp4`;
  }

  #tell({ objects }: PlannedClip, file: string, startMs: number, endMs: number): void {
    const { camera, onEvent } = this.#options;
    onEvent({ kind: 'clip', atMs: Date.now(), camera, file, startMs, endMs, objects });
  }
}

/** A clip that grows, as the stream gives it. */
class LiveClip {
  startMs = 0;
  endMs = 0;
  readonly #folder: ClipFolder;
  readonly #stream: Promise<{ readonly path: string; readonly out: WriteStream } | undefined>;
  #waiting: Buffer[] = [];
  #out: WriteStream | undefined;
  #byteCount = 0;
  #failed = false;

  constructor(folder: ClipFolder, camera: string, head: Buffer) {
    this.#folder = folder;
    this.#waiting.push(head);
    this.#stream = this.#open(camera);
  }

  write({ bytes, startMs, endMs }: TimedFragment): void {
    if (this.startMs === 0) this.startMs = startMs;
    this.endMs = endMs;
    if (this.#failed) return;
    if (this.#out === undefined) {
      this.#waiting.push(bytes);
      this.#byteCount += bytes.length;
    } else this.#out.write(bytes);
    if ((this.#out?.writableLength ?? this.#byteCount) > MOST_WAITING)
      this.#fail(new Error('the disk is too slow for the stream'));
  }

  /** @param use called with the file when it is whole; not at all where it could not be written */
  end(use: (path: string) => void): void {
    this.#folder.waitFor(
      (async () => {
        const stream = await this.#stream;
        if (stream === undefined) return;
        if (!stream.out.closed)
          await new Promise<void>((resolve) => {
            stream.out.once('close', resolve);
            stream.out.end();
          });
        if (this.#failed) await rm(stream.path, { force: true }).catch(() => undefined);
        else use(stream.path);
      })(),
    );
  }

  async #open(camera: string): Promise<{ readonly path: string; readonly out: WriteStream } | undefined> {
    try {
      const path = await this.#folder.temporary(camera);
      const out = createWriteStream(path);
      out.on('error', (cause) => this.#fail(outputFault(path, cause)));
      this.#out = out;
      for (const bytes of this.#waiting) out.write(bytes);
      this.#waiting = [];
      return { path, out };
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#waiting = [];
    this.#out?.destroy();
    this.#folder.sayFault(error);
  }
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}
