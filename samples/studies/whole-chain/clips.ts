// False alarms an hour of a stream: the sample host, and the int8 file that the same chain makes of it, over the three
// clips of the sample world, which are real time and whose truth is exact.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { matchDetections, TRUTH_KIND } from 'edge-detect/core';
import type { LabelledPicture } from 'edge-detect/data';
import { evaluationTables, type PicturePrediction } from 'edge-detect/evaluate';
import { detections, locateFfmpeg, openDetector, openSource, TRACKER_DEFAULTS } from 'edge-detect/runtime';
import { projectRoot, type StudyData } from '../common/study-data.ts';
import { placedPictures } from '../logit-range/lights.ts';
import type { LightName, PlacedPicture } from '../logit-range/pictures.ts';
import { finishChain } from './chain.ts';
import { chooseThresholds, type Rule } from './judge.ts';
import { writeParts } from './parts.ts';
import { type StreamedFile, streamOver } from './stream.ts';

export interface ClipFigures {
  readonly file: string;
  readonly rule: Rule;
  readonly light: LightName;
  readonly threshold: number | null;
  /** Tracks of which less than half of the reported boxes meet an object. */
  readonly alarms: number;
  readonly seconds: number;
  /** Share of the labelled objects of all frames that a reported box meets. */
  readonly recall: number;
}

interface ClipSetting {
  readonly precision: number;
  readonly folder: string;
  readonly signal: AbortSignal;
}

const CLIPS: readonly LightName[] = ['day', 'dusk', 'night'];
/** Cameras of the sample world that the gate judges by; the others distil, calibrate and choose. */
const GATE_CAMERAS = 2;

/** @param world of the sample world, with the sample host */
export async function clipFigures(
  world: StudyData,
  { precision, folder, signal }: ClipSetting,
): Promise<readonly ClipFigures[]> {
  const { classNames, placed } = await placedPictures(world);
  const cameras = [...new Set(placed.map(({ camera }) => camera))].sort();
  const isGate = ({ camera }: PlacedPicture) => cameras.indexOf(camera) < GATE_CAMERAS;
  const fit = placed.filter((one) => !isGate(one));
  const parts = { train: placed.filter(isGate), fit, judge: fit, judging: ['', ''] } as const;
  const files = await writeParts(parts, classNames, join(folder, 'data'));
  const chain = await finishChain(
    world.model,
    { parts, files, seed: 0, folder },
    { precisions: ['int8'], signal },
  );
  const compared: readonly (readonly [string, StreamedFile])[] = [
    ['sample host', { path: world.model, classes: classNames, calibrator: 'off' }],
    ['its int8 file', { path: chain.exported.get('int8')!.path, classes: classNames }],
  ];
  const truth = await clipTruth();
  const found: ClipFigures[] = [];
  for (const [file, streamed] of compared) {
    const predictions = await streamOver(streamed, files.fit, signal);
    const thresholds = chooseThresholds({ classNames, placed: fit, predictions }, precision);
    for (const light of CLIPS) {
      for (const [rule, threshold] of [
        ['one threshold', thresholds.all],
        ['per light', thresholds[light] ?? thresholds.all],
      ] as const) {
        const counted = await watchClip(streamed, { light, threshold: threshold ?? 1, truth, signal });
        found.push({ file, rule, light, threshold: threshold ?? null, ...counted });
      }
    }
  }
  return found;
}

interface ClipTruth {
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  readonly classes: readonly string[];
  readonly frames: readonly LabelledPicture[];
}

function clipPath(name: string): string {
  return join(projectRoot(), 'samples', 'clips', name);
}

/** One truth for the three: light has no part in the traffic. */
async function clipTruth(): Promise<ClipTruth> {
  const [head = '', ...lines] = (await readFile(clipPath('street.truth.jsonl'), 'utf8')).trim().split('\n');
  const { width, height, fps, classes } = JSON.parse(head) as Omit<ClipTruth, 'frames'>;
  const frames = lines.map((line, index): LabelledPicture => {
    const { objects } = JSON.parse(line) as {
      readonly objects: readonly Readonly<Record<'x1' | 'y1' | 'x2' | 'y2', number> & { class: string }>[];
    };
    return {
      path: `frame ${index}`,
      id: `${index}`,
      objects: objects.map((object) => ({
        classId: classes.indexOf(object.class),
        ...{ x1: object.x1 / width, x2: object.x2 / width },
        ...{ y1: object.y1 / height, y2: object.y2 / height },
        ...{ crowd: false, difficult: false },
      })),
    };
  });
  return { width, height, fps, classes, frames };
}

/**
 * As `stream track=True conf=… track_high_thresh=… new_track_thresh=…` runs it, all three the threshold: doubtful boxes
 * hold tracks together, those above it begin them and are told.
 */
async function watchClip(
  { path, calibrator }: StreamedFile,
  {
    light,
    threshold,
    truth,
    signal,
  }: {
    readonly light: LightName;
    readonly threshold: number;
    readonly truth: ClipTruth;
    readonly signal: AbortSignal;
  },
): Promise<Pick<ClipFigures, 'alarms' | 'seconds' | 'recall'>> {
  const low = Math.min(TRACKER_DEFAULTS.lowThreshold, threshold);
  const detector = await openDetector(path, {
    threshold: { kind: 'fixed', base: low },
    ...{ agnostic: true, threads: 1, sessions: 1 },
    ...(calibrator && { calibrator }),
  });
  const pictures: PicturePrediction[] = [];
  const { classNames } = detector;
  try {
    const source = await openSource(clipPath(`${light}.mp4`), { ffmpeg: await locateFfmpeg() });
    const track = {
      lowThreshold: low,
      ...{ highThreshold: threshold, newThreshold: threshold },
      shown: { kind: 'fixed', base: threshold },
    } as const;
    for await (const { size, detections: found } of detections({ source, detector, signal, track }))
      pictures.push({ size, detections: found });
  } finally {
    await detector.close();
  }
  const seconds = pictures.length / truth.fps;
  return { seconds, ...countAlarms(pictures, { classNames, truth }) };
}

function countAlarms(
  pictures: readonly PicturePrediction[],
  { classNames, truth }: { readonly classNames: readonly string[]; readonly truth: ClipTruth },
): Pick<ClipFigures, 'alarms' | 'recall'> {
  const tables = evaluationTables(
    { classNames: truth.classes, pictures: truth.frames.slice(0, pictures.length) },
    { classNames, pictures },
    { singleClass: true },
  );
  const options = { classCount: 1, iou: 0.5, maxDets: 300 };
  const { objects } = matchDetections(tables.truth, tables.detections, options);
  const tracks = new Map<number, { boxes: number; hits: number }>();
  const ids = pictures.flatMap(({ detections: found }) => found.map(({ trackId = -1 }) => trackId));
  let hits = 0;
  for (const [row, id] of ids.entries()) {
    const own = tracks.get(id) ?? { boxes: 0, hits: 0 };
    tracks.set(id, own);
    own.boxes++;
    if (objects[row]! < 0) continue;
    own.hits++;
    hits++;
  }
  const all = tables.truth.kinds.reduce((sum, kind) => sum + (kind === TRUTH_KIND.object ? 1 : 0), 0);
  const alarms = [...tracks.values()].filter((own) => 2 * own.hits < own.boxes).length;
  return { alarms, recall: all === 0 ? 0 : hits / all };
}

/** Exact 95 % interval of the mean of a Poisson count (Garwood, 1936). */
export function poissonInterval(count: number): readonly [low: number, high: number] {
  // P(X <= count | mean) falls with the mean.
  const atMost = (most: number, mean: number) => {
    let [term, sum] = [Math.exp(-mean), 0];
    for (let k = 0; k <= most; k++) {
      sum += term;
      term *= mean / (k + 1);
    }
    return sum;
  };
  const solve = (most: number, probability: number) => {
    let [low, high] = [0, count + 10 * Math.sqrt(count + 1) + 10];
    for (let step = 0; step < 100; step++) {
      const middle = (low + high) / 2;
      if (atMost(most, middle) > probability) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  };
  return [count === 0 ? 0 : solve(count - 1, 0.975), solve(count, 0.025)];
}
