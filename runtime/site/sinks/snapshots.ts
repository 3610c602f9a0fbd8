// The best picture of every object, where an event and a page can show it.
import { mkdirSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DetectionResult } from '../../detections.ts';
import { outputFault } from '../../sinks/output-fault.ts';
import { writeWholeFile } from '../../sinks/whole-file.ts';
import type { ObjectEvents } from '../object-events.ts';
import type { SiteSnapshots } from '../site.ts';
import { PictureWork, type ResultObserver, seenObjects } from './object-pictures.ts';

export interface SnapshotsOptions extends SiteSnapshots {
  /** Told of what an operator should know, once per fault. */
  readonly onNotice: (message: string) => void;
}

/** A picture is worth a new file where the score is this much higher than that of the last one. */
const RISE = 0.05;
const HOUR_MS = 3_600_000;

/**
 * JPEG of the scaled frame in `<folder>/<camera>/<id>.jpg`, whole or not there; the object says it once it is there.
 * Files older than `days` are removed at the start and every hour.
 * @throws DataError where the folder cannot be made
 */
export function createSnapshots(options: SnapshotsOptions): ResultObserver {
  try {
    mkdirSync(options.folder, { recursive: true });
  } catch (cause) {
    throw outputFault(options.folder, cause);
  }
  return new Snapshots(options);
}

class Snapshots implements ResultObserver {
  readonly #options: SnapshotsOptions;
  readonly #work: PictureWork;
  /** Camera → object → score of its picture. */
  readonly #best = new Map<string, Map<string, number>>();
  readonly #timer: NodeJS.Timeout;
  #removing: Promise<void>;

  constructor(options: SnapshotsOptions) {
    this.#options = options;
    this.#work = new PictureWork({ onNotice: options.onNotice, name: 'snapshots' });
    this.#removing = this.#removeOld();
    this.#timer = setInterval(() => {
      this.#removing = this.#removeOld();
    }, HOUR_MS).unref();
  }

  observe(camera: string, result: DetectionResult, objects: ObjectEvents): void {
    const best = this.#best.get(camera) ?? new Map<string, number>();
    this.#best.set(camera, best);
    const ids = new Set(objects.objects.map(({ id }) => id));
    for (const id of best.keys()) if (!ids.has(id)) best.delete(id);
    const better = seenObjects(result, objects).flatMap(({ object: { id }, found: { score } }) => {
      const before = best.get(id);
      return before === undefined || score - before >= RISE ? [{ id, score, before }] : [];
    });
    if (better.length === 0 || !this.#work.hasRoom) return;
    for (const { id, score } of better) best.set(id, score);
    this.#work.start(
      result,
      async (jpeg) => {
        for (const { id } of better) {
          const file = `${camera}/${id}.jpg`;
          await this.#write(file, jpeg);
          objects.setSnapshot(id, file);
        }
      },
      () => {
        for (const { id, before } of better) {
          if (before === undefined) best.delete(id);
          else best.set(id, before);
        }
      },
    );
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([this.#work.close(), this.#removing]);
  }

  async #write(file: string, jpeg: Uint8Array): Promise<void> {
    const path = join(this.#options.folder, file);
    await mkdir(dirname(path), { recursive: true }).catch((cause: unknown) => {
      throw outputFault(path, cause);
    });
    await writeWholeFile(path, jpeg);
  }

  async #removeOld(): Promise<void> {
    const { folder, days, onNotice } = this.#options;
    const oldestMs = Date.now() - days * 24 * HOUR_MS;
    try {
      for (const entry of await readdir(folder, { withFileTypes: true })) {
        if (entry.isDirectory()) await removeOldPictures(join(folder, entry.name), oldestMs);
      }
    } catch (error) {
      onNotice(
        `old snapshots in ${folder} cannot be removed: ${error instanceof Error ? error.message : error}`,
      );
    }
  }
}

/** Removes pictures, and what a killed process left half written. Other files are not ours. */
async function removeOldPictures(folder: string, oldestMs: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const isPartial = name.startsWith('.partial-');
    if (!isPartial && !name.endsWith('.jpg')) continue;
    const path = join(folder, name);
    const { mtimeMs } = await stat(path);
    if (mtimeMs < (isPartial ? Date.now() - HOUR_MS : oldestMs)) await rm(path, { force: true });
  }
}
