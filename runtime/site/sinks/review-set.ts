// Pictures that a person should look at, with the labels as the model has them: a YOLO set that `train` reads.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ConfigError } from '#core';
import type { DetectionResult } from '../../detections.ts';
import { toYoloRow } from '../../habitual-shapes.ts';
import { outputFault } from '../../sinks/output-fault.ts';
import { writeWholeFile } from '../../sinks/whole-file.ts';
import type { ReviewReason } from '../events.ts';
import type { ObjectEvents } from '../object-events.ts';
import { reviewReasons } from '../object-track.ts';
import type { SiteCamera } from '../site.ts';
import { leastScore } from '../thresholds.ts';
import { PictureWork, type ResultObserver, type SeenObject, seenObjects } from './object-pictures.ts';
import { cutTornLine } from './torn-line.ts';

export interface ReviewSetsOptions {
  /** Of the model: the class numbers of the labels. */
  readonly classNames: readonly string[];
  /** Cameras of the site; their folders are made at once, so that what is wrong is said at the start. */
  readonly cameras: readonly Pick<SiteCamera, 'review'>[];
  /** The rules of a camera as they are now: they may change while the site runs. */
  readonly camera: (name: string) => Pick<SiteCamera, 'review' | 'thresholds'> | undefined;
  /** Told of what an operator should know, once per fault. */
  readonly onNotice: (message: string) => void;
}

const HOUR_MS = 3_600_000;
const CSV_HEADER = 'file,object,class,reasons,score,std\n';

interface MarkedObject extends SeenObject {
  readonly reasons: readonly ReviewReason[];
}

/**
 * For every object that a rule marks, one picture: `images/<camera>-<time>.jpg`, `labels/…txt` with all objects of the
 * frame, and a line in `review.csv` that says why. No more than `perHour` pictures of a camera.
 * @throws ConfigError where a folder holds a set with other classes
 * @throws DataError where a folder cannot be written
 */
export function createReviewSets(options: ReviewSetsOptions): ResultObserver {
  return new ReviewSets(options);
}

class ReviewSets implements ResultObserver {
  readonly #options: ReviewSetsOptions;
  readonly #work: PictureWork;
  readonly #prepared = new Set<string>();
  /** Camera → when it added its pictures of the last hour. */
  readonly #times = new Map<string, number[]>();
  readonly #lastMs = new Map<string, number>();
  /** Camera → objects that have their picture. */
  readonly #done = new Map<string, Set<string>>();

  constructor(options: ReviewSetsOptions) {
    this.#options = options;
    this.#work = new PictureWork({ onNotice: options.onNotice, name: 'pictures for review' });
    for (const { review } of options.cameras) if (review?.folder !== undefined) this.#prepare(review.folder);
  }

  observe(camera: string, result: DetectionResult, objects: ObjectEvents): void {
    const rules = this.#options.camera(camera);
    const folder = rules?.review?.folder;
    if (rules?.review === undefined || folder === undefined) return;
    const { review, thresholds } = rules;
    const done = this.#done.get(camera) ?? new Set<string>();
    this.#done.set(camera, done);
    const ids = new Set(objects.objects.map(({ id }) => id));
    for (const id of done) if (!ids.has(id)) done.delete(id);
    const seen = seenObjects(result, objects);
    // The frame that raised the doubt, not a later one in which the object is plain to see.
    const marked = seen.flatMap(({ object, found }): MarkedObject[] => {
      const reasons = done.has(object.id) ? [] : reviewReasons(found, review);
      return reasons.length === 0 ? [] : [{ object, found, reasons }];
    });
    if (marked.length === 0 || !this.#work.hasRoom) return;
    if (!this.#takeTurn(camera, review.perHour)) return;
    for (const { object } of marked) done.add(object.id);
    const known = new Set(seen.map(({ found }) => found));
    const labels = result.detections
      .filter(
        (found) => known.has(found) || found.score >= leastScore(thresholds, found.className, result.light),
      )
      .flatMap((found) => toYoloRow(found, result.size) ?? []);
    const name = this.#nameOf(camera, result);
    this.#work.start(
      result,
      (jpeg) => this.#write({ folder, name, jpeg, labels, marked }),
      () => {
        for (const { object } of marked) done.delete(object.id);
        this.#times.get(camera)?.pop();
      },
    );
  }

  close(): Promise<void> {
    return this.#work.close();
  }

  /** @returns false where the camera has had its share of this hour */
  #takeTurn(camera: string, perHour: number): boolean {
    const now = Date.now();
    const times = (this.#times.get(camera) ?? []).filter((time) => time > now - HOUR_MS);
    this.#times.set(camera, times);
    if (times.length >= perHour) return false;
    times.push(now);
    return true;
  }

  /** A name that no other picture of the camera has. */
  #nameOf(camera: string, { frame }: DetectionResult): string {
    const atMs = Math.max(frame.capturedAtMs ?? Date.now(), (this.#lastMs.get(camera) ?? 0) + 1);
    this.#lastMs.set(camera, atMs);
    return `${camera}-${timeName(atMs)}`;
  }

  async #write(picture: {
    readonly folder: string;
    readonly name: string;
    readonly jpeg: Uint8Array;
    readonly labels: readonly string[];
    readonly marked: readonly MarkedObject[];
  }): Promise<void> {
    const { folder, name, jpeg, labels, marked } = picture;
    this.#prepare(folder);
    // A picture without its labels would be taken for one with nothing on it.
    const label = join(folder, 'labels', `${name}.txt`);
    await writeWholeFile(label, labels.map((row) => `${row}\n`).join(''));
    try {
      await writeWholeFile(join(folder, 'images', `${name}.jpg`), jpeg);
    } catch (error) {
      await rm(label, { force: true });
      throw error;
    }
    const path = join(folder, 'review.csv');
    try {
      appendFileSync(path, marked.map((each) => csvRow(`images/${name}.jpg`, each)).join(''));
    } catch (cause) {
      throw outputFault(path, cause);
    }
  }

  #prepare(folder: string): void {
    if (this.#prepared.has(folder) && existsSync(join(folder, 'images'))) return;
    prepareSet(folder, this.#options.classNames);
    this.#prepared.add(folder);
  }
}

function prepareSet(folder: string, classNames: readonly string[]): void {
  const data = join(folder, 'data.yaml');
  const table = join(folder, 'review.csv');
  try {
    mkdirSync(join(folder, 'images'), { recursive: true });
    mkdirSync(join(folder, 'labels'), { recursive: true });
    if (existsSync(data)) expectSameClasses(data, classNames);
    else writeFileSync(data, dataFile(classNames));
    cutTornLine(table);
    if (!existsSync(table)) writeFileSync(table, CSV_HEADER);
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw outputFault(folder, cause);
  }
}

function dataFile(classNames: readonly string[]): string {
  return [
    '# Pictures that a person should look at, labelled by the model: correct the labels before you train with them.',
    '# review.csv says what was doubtful.',
    'path: .',
    'train: images',
    'names:',
    ...classNames.map((name, id) => `  ${id}: ${JSON.stringify(name)}`),
    '',
  ].join('\n');
}

function expectSameClasses(file: string, classNames: readonly string[]): void {
  const { names } = (parse(readFileSync(file, 'utf8')) ?? {}) as { readonly names?: object };
  const found = Object.values(names ?? {}).map(String);
  if (found.length === classNames.length && found.every((name, id) => name === classNames[id])) return;
  throw new ConfigError(
    `${file} has the classes ${found.join(', ')}, and the model has ${classNames.join(', ')}: the labels would be mixed up`,
    { hint: 'name another folder for review, or move this one away' },
  );
}

function csvRow(file: string, { object, found, reasons }: MarkedObject): string {
  const { scoreVariance } = found;
  const std = scoreVariance === undefined ? '' : Math.sqrt(scoreVariance).toFixed(4);
  const name = `"${found.className.replaceAll('"', '""')}"`;
  return `${[file, object.id, name, reasons.join(' '), found.score.toFixed(4), std].join(',')}\n`;
}

/** `20261201T223344123Z`. */
function timeName(atMs: number): string {
  return new Date(atMs).toISOString().replace(/[-:.]/g, '');
}
