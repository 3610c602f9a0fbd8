// The folder of clips: what is written there is whole or not there, and old clips make room for new ones.
import { mkdirSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  buildArguments,
  type CommandInput,
  type Ffmpeg,
  locateFfmpeg,
  spawnChild,
} from '../../ffmpeg/index.ts';
import { outputFault } from '../../sinks/output-fault.ts';
import { temporaryBeside } from '../../sinks/whole-file.ts';
import type { SiteClips } from '../site.ts';

export interface ClipFolderOptions extends SiteClips {
  readonly ffmpeg?: Ffmpeg;
  /** Told of what an operator should know, once per fault. */
  readonly onNotice: (message: string) => void;
}

const HOUR_MS = 3_600_000;
/** Copying a clip takes a moment; an ffmpeg that hangs would keep all others waiting. */
const LONGEST_WORK_MS = 120_000;
/** After a fault of the disk: trying with every object would cost as much as it is in vain. */
const PAUSE_MS = 5000;
const PARTIAL = '.partial-';

/** `<folder>/<camera>/<id>.mp4`. One at a time: what the site sees has precedence. */
export class ClipFolder {
  readonly options: ClipFolderOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #cleaned: Promise<void>;
  /** Clips that are not in the queue yet. */
  readonly #coming = new Set<Promise<void>>();
  #ffmpeg: Promise<Ffmpeg> | undefined;
  #work: Promise<void>;
  #byteCount = 0;
  #isFaulty = false;
  #pausedUntilMs = 0;

  /** @throws DataError where the folder cannot be made */
  constructor(options: ClipFolderOptions) {
    this.options = options;
    try {
      mkdirSync(options.folder, { recursive: true });
    } catch (cause) {
      throw outputFault(options.folder, cause);
    }
    // A killed process may have left clips half written, and nobody else writes here.
    this.#cleaned = this.#removeOld({ partial: true });
    this.#work = this.#cleaned;
    this.#timer = setInterval(() => this.#queue(() => this.#removeOld()), HOUR_MS).unref();
  }

  get hasRoom(): boolean {
    return Date.now() >= this.#pausedUntilMs;
  }

  /** A hidden file in the folder of that camera, for what becomes a clip. */
  async temporary(camera: string): Promise<string> {
    await this.#cleaned;
    return temporaryBeside(await this.#place(`${camera}/clip`));
  }

  /**
   * Copies an input into a clip, after those before it.
   * @param file relative to the folder
   * @param onDone called when it is there
   */
  copy(
    file: string,
    input: CommandInput,
    {
      output = [],
      onDone,
      onEnd,
    }: {
      readonly output?: readonly string[];
      readonly onDone: () => void;
      readonly onEnd?: () => Promise<void>;
    },
  ): void {
    this.#queue(async () => {
      try {
        await this.#copy(file, input, output);
        onDone();
        this.#sayRecovered();
      } catch (error) {
        this.sayFault(error);
      } finally {
        await onEnd?.().catch(() => undefined);
      }
    });
  }

  /** Makes `close` wait for a clip that is being written. */
  waitFor(clip: Promise<void>): void {
    const coming = clip.catch((error: unknown) => this.sayFault(error));
    this.#coming.add(coming);
    void coming.finally(() => this.#coming.delete(coming));
  }

  sayFault(error: unknown): void {
    this.#pausedUntilMs = Date.now() + PAUSE_MS;
    if (!this.#isFaulty)
      this.options.onNotice(
        `clips cannot be written: ${error instanceof Error ? error.message : String(error)}`,
      );
    this.#isFaulty = true;
  }

  /** Waits for what is under way. Safe to call twice. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#coming);
    await this.#work;
  }

  #queue(work: () => Promise<void>): void {
    this.#work = this.#work.then(work);
  }

  #sayRecovered(): void {
    if (this.#isFaulty) this.options.onNotice('clips are written again');
    this.#isFaulty = false;
  }

  async #place(file: string): Promise<string> {
    const path = join(this.options.folder, file);
    await mkdir(dirname(path), { recursive: true }).catch((cause: unknown) => {
      throw outputFault(path, cause);
    });
    return path;
  }

  async #copy(file: string, input: CommandInput, output: readonly string[]): Promise<void> {
    const path = await this.#place(file);
    const temporary = temporaryBeside(path);
    try {
      await this.#run(input, [...output, ...COPY, '-f', 'mp4', `file:${temporary}`]);
      const { size } = await stat(temporary);
      await rename(temporary, path);
      this.#byteCount += size;
    } catch (cause) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw outputFault(path, cause);
    }
    if (this.#byteCount > this.options.maxBytes) await this.#removeOld();
  }

  async #run(input: CommandInput, output: readonly string[]): Promise<void> {
    this.#ffmpeg ??= this.options.ffmpeg ? Promise.resolve(this.options.ffmpeg) : locateFfmpeg();
    const { path } = await this.#ffmpeg;
    const target = output.at(-1) ?? '';
    const args = buildArguments({
      inputs: [input],
      outputs: [{ target, options: output.slice(0, -1) }],
    });
    const child = spawnChild(path, args);
    child.stdout.resume();
    const timer = setTimeout(() => void child.stop(), LONGEST_WORK_MS);
    const { code, reason } = await child.exited.finally(() => clearTimeout(timer));
    if (code !== 0) throw new Error(reason === '' ? 'ffmpeg was ended' : reason);
  }

  /** Files that are no clips are not ours. */
  async #removeOld({ partial = false } = {}): Promise<void> {
    const { folder, days, maxBytes } = this.options;
    const oldestMs = Date.now() - days * 24 * HOUR_MS;
    try {
      const clips = await this.#clips(partial);
      let total = clips.reduce((sum, { size }) => sum + size, 0);
      for (const { path, size, mtimeMs } of clips) {
        if (mtimeMs >= oldestMs && total <= maxBytes) break;
        await rm(path, { force: true });
        total -= size;
      }
      this.#byteCount = total;
    } catch (error) {
      this.options.onNotice(
        `old clips in ${folder} cannot be removed: ${error instanceof Error ? error.message : error}`,
      );
    }
  }

  /** Oldest first. */
  async #clips(removePartial: boolean): Promise<readonly StoredClip[]> {
    const clips: StoredClip[] = [];
    for (const entry of await readdir(this.options.folder, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      for (const name of await readdir(join(this.options.folder, entry.name))) {
        const path = join(this.options.folder, entry.name, name);
        if (removePartial && name.startsWith(PARTIAL)) await rm(path, { force: true });
        if (name.startsWith('.') || !name.endsWith('.mp4')) continue;
        const { size, mtimeMs } = await stat(path);
        clips.push({ path, size, mtimeMs });
      }
    }
    return clips.sort((a, b) => a.mtimeMs - b.mtimeMs);
  }
}

interface StoredClip {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/** The index in front: a browser shows the clip while it comes. */
const COPY = ['-map', '0:V:0', '-c', 'copy', '-movflags', '+faststart'];
