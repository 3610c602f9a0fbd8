// Every event as one line of JSON, in files that turn over by size.
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { outputFault } from '../../sinks/output-fault.ts';
import type { SiteEvent } from '../events.ts';
import type { SiteSink } from '../run-site.ts';
import type { SiteEventsFile } from '../site.ts';
import { removeOlder, rotate } from './rotation.ts';
import { cutTornLine } from './torn-line.ts';

export interface EventsFileOptions extends SiteEventsFile {
  /** Told of what an operator should know: a torn line, a full disk, lost events. Once per fault. */
  readonly onNotice: (message: string) => void;
  /** Most bytes of lines that wait for a disk that takes none. Default 4 MiB, some 10,000 events. */
  readonly maxWaitingBytes?: number;
  /** Between two tries on a disk that took nothing. Default 5. */
  readonly retrySeconds?: number;
}

/**
 * A line is with the system when `accept` returns, so that a killed process loses none but the one under way; and half
 * of that is cut off at the next start. That is a write to memory of some µs, and events are few.
 *
 * A file that another program moved away (logrotate) or removed is begun anew. Where the disk takes nothing, lines wait;
 * when too many wait, the oldest are dropped, and their number is said.
 * @throws DataError where the file cannot be opened at the start
 */
export function createEventsFile(options: EventsFileOptions): SiteSink {
  return new EventsFile(options);
}

class EventsFile implements SiteSink {
  readonly #options: EventsFileOptions;
  readonly #retryMs: number;
  #file: number | undefined;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #lost = 0;
  #fault: string | undefined;
  #rotationFault: string | undefined;
  #nextTryMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: EventsFileOptions) {
    this.#options = options;
    this.#retryMs = 1000 * (options.retrySeconds ?? 5);
    const { path, keep, onNotice } = options;
    try {
      mkdirSync(dirname(path), { recursive: true });
      const cut = cutTornLine(path);
      if (cut > 0) onNotice(`${path}: an unfinished last line of ${cut} bytes was cut off`);
      removeOlder(path, keep);
      this.#open();
    } catch (cause) {
      throw outputFault(path, cause);
    }
  }

  accept(event: SiteEvent): void {
    if (this.#isClosed) return;
    this.#wait(Buffer.from(`${JSON.stringify(event)}\n`));
    if (this.#fault === undefined || Date.now() >= this.#nextTryMs) this.#writeWaiting();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#writeWaiting();
    this.#lost += this.#waiting.length;
    if (this.#lost > 0) this.#sayLost();
    this.#closeFile();
  }

  #wait(line: Buffer): void {
    const { maxWaitingBytes = 4 * 2 ** 20 } = this.#options;
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    while (this.#waitingBytes > maxWaitingBytes && this.#waiting.length > 1) {
      this.#waitingBytes -= this.#waiting.shift()?.length ?? 0;
      this.#lost++;
    }
  }

  #writeWaiting(): void {
    const { path, onNotice } = this.#options;
    try {
      for (let line = this.#waiting[0]; line !== undefined; line = this.#waiting[0]) {
        this.#writeLine(line);
        this.#waiting.shift();
        this.#waitingBytes -= line.length;
      }
    } catch (cause) {
      const { message } = outputFault(path, cause);
      if (message !== this.#fault) onNotice(`${message}; events wait until it can be written again`);
      this.#fault = message;
      this.#tryLater();
      return;
    }
    if (this.#fault === undefined) return;
    this.#fault = undefined;
    onNotice(`${path} is written again`);
    if (this.#lost > 0) this.#sayLost();
  }

  #tryLater(): void {
    this.#nextTryMs = Date.now() + this.#retryMs;
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => this.#writeWaiting(), this.#retryMs).unref();
  }

  #sayLost(): void {
    this.#options.onNotice(`${this.#options.path}: ${this.#lost} events could not be written and are lost`);
    this.#lost = 0;
  }

  #writeLine(line: Buffer): void {
    const { maxBytes } = this.#options;
    let before = this.#follow();
    if (before > 0 && before + line.length > maxBytes) before = this.#turnOver(before);
    const file = this.#file as number;
    try {
      for (let done = 0; done < line.length; ) done += writeSync(file, line, done);
    } catch (error) {
      // Half a line would be taken for damage by whoever reads the file. A device cannot be cut, and keeps nothing.
      if (fstatSync(file).isFile()) ftruncateSync(file, before);
      throw error;
    }
  }

  /** Opens the file anew where the path leads to another one by now. @returns its size in bytes */
  #follow(): number {
    const there = statSync(this.#options.path, { throwIfNoEntry: false });
    const open = this.#file === undefined ? undefined : fstatSync(this.#file);
    if (there !== undefined && open !== undefined && there.ino === open.ino && there.dev === open.dev)
      return there.size;
    return this.#open();
  }

  #open(): number {
    const { path } = this.#options;
    this.#closeFile();
    mkdirSync(dirname(path), { recursive: true });
    this.#file = openSync(path, 'a');
    return fstatSync(this.#file).size;
  }

  #turnOver(bytes: number): number {
    const { path, keep, onNotice } = this.#options;
    try {
      rotate(path, keep);
      this.#rotationFault = undefined;
    } catch (cause) {
      // A file that grows beyond its size is better than a lost event.
      const { message } = outputFault(path, cause);
      if (message !== this.#rotationFault)
        onNotice(`${message}; it grows beyond ${this.#options.maxBytes} bytes`);
      this.#rotationFault = message;
      return bytes;
    }
    return this.#open();
  }

  #closeFile(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}
