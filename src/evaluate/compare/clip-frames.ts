// Two clips as slices: their frames at equal steps of time, predicted and tracked, few enough to be held at once.
import { statSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { ConfigError, DataError, type Detection, type Size } from '#core';
import { isPicturePath } from '#data/images';
import { createTracker, detections, type FrameSource, type OpenDetector, openSource } from '#runtime';
import type { PicturePrediction } from '../tables.ts';
import { setNames } from './picture-sets.ts';
import type { ComparedPicture, PredictedSlice } from './slices.ts';
import { medianStep } from './time-blocks.ts';

/** Frames of a clip that are taken unless a stride is stated. */
const MOST_FRAMES = 5000;
/** Tracks are followed up to this step: things that move are no longer where the frame before had them. */
const LONGEST_TRACKED_STEP_S = 0.25;

export interface ClipPlan {
  /** Every n-th frame of the first and the second. */
  readonly strides: readonly [first: number, second: number];
  /** Frames to come, where it is known. */
  readonly frames: number | undefined;
}

/** Whether it is a file and no picture: what `source=` and `against=` then name is opened as a clip. */
export function isClip(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true && !isPicturePath(path);
}

/**
 * @param stride every n-th frame of both; default: such that the longer gives 5,000 at most and both have one step
 * @throws what `openSource` does; DataError for what is no clip; ConfigError where the length must be known and is not
 */
export async function planClips(
  paths: readonly [first: string, second: string],
  stride: number | undefined,
): Promise<ClipPlan> {
  const clips: FrameSource[] = [];
  for (const path of paths) clips.push(await openClip(path, 1));
  const counts = clips.map(({ frameCount }) => frameCount);
  const strides = stride === undefined ? equalSteps(clips) : ([stride, stride] as const);
  const frames = counts.map((count, place) => count && Math.ceil(count / (strides[place] ?? 1)));
  return {
    strides,
    frames: frames.reduce((sum, count) => sum && count && sum + count, 0 as number | undefined),
  };
}

function equalSteps(clips: readonly FrameSource[]): readonly [number, number] {
  const lengths = clips.map(({ name, frameCount, framesPerSecond = 1 }) => {
    if (frameCount !== undefined) return { frameCount, framesPerSecond };
    throw new ConfigError(`${name} does not say how many frames it has`, {
      hint: 'say which are taken: vid_stride=10 for every tenth, vid_stride=1 for all (each is held in memory)',
    });
  });
  const steps = lengths.map((one) => Math.ceil(one.frameCount / MOST_FRAMES) / one.framesPerSecond);
  const step = Math.max(...steps);
  const [first = 1, second = 1] = lengths.map(({ framesPerSecond }) =>
    Math.max(1, Math.round(step * framesPerSecond)),
  );
  return [first, second];
}

async function openClip(path: string, stride: number): Promise<FrameSource> {
  const source = await openSource(path, { stride });
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (source.kind === 'video' && !isFolder) return source;
  throw new DataError(
    `${path}: ${isFolder ? 'a folder' : source.kind === 'live' ? 'a live source' : 'pictures'}, not a clip`,
    { hint: 'a clip is compared with a clip, a folder of pictures with a folder' },
  );
}

export interface ReadClip extends PredictedSlice {
  readonly size: Size;
  /** s between frames. */
  readonly step: number;
  readonly tracked: boolean;
  readonly lastTrackId: number;
  /** What was odd about the file, in words. */
  readonly oddities: readonly string[];
}

export interface ReadClipOptions {
  readonly name: string;
  readonly stride: number;
  /** Ids of tracks begin after it: those of two clips must not meet. */
  readonly firstTrackId: number;
  readonly signal?: AbortSignal;
  readonly onFrame?: () => void;
}

/** @throws what `openSource` and `detections` do; DataError where no frame comes or the picture changes its size */
export async function readClip(
  detector: OpenDetector,
  path: string,
  { name, stride, firstTrackId, signal, onFrame }: ReadClipOptions,
): Promise<ReadClip> {
  const source = await openClip(path, stride);
  const oddities: string[] = [];
  const onEvent = (event: { readonly kind: string; readonly reason?: string }) => {
    if (event.kind === 'damaged') oddities.push(`${path}: ${event.reason}`);
  };
  const pictures: (ComparedPicture & { readonly timeSeconds: number })[] = [];
  const predictions: PicturePrediction[] = [];
  for await (const result of detections({ source, detector, onEvent, ...(signal && { signal }) })) {
    const { index, ptsSeconds } = result.frame;
    const { size } = predictions[0] ?? result;
    if (size.width !== result.size.width || size.height !== result.size.height) {
      throw new DataError(`${path}: the picture changes its size at frame ${index}`, {
        hint: 'cut the clip there, and compare the parts',
      });
    }
    const timeSeconds = ptsSeconds ?? index / (source.framesPerSecond ?? 1);
    if (timeSeconds < (pictures.at(-1)?.timeSeconds ?? timeSeconds)) {
      throw new DataError(`${path}: the time steps back at frame ${index}`, {
        hint: 'name one clip, not a list of them; ffmpeg -i in.mp4 -c copy out.mp4 mends some',
      });
    }
    pictures.push({
      // Of equal length, so that the order of names is that of time.
      path: `${path}#${String(index).padStart(9, '0')}`,
      camera: '',
      timeSeconds,
    });
    predictions.push({ detections: result.detections, size });
    onFrame?.();
  }
  const [{ size } = {}] = predictions;
  if (size === undefined) throw new DataError(`${path}: no frame came`, { hint: 'play it, or name another' });
  const times = pictures.map(({ timeSeconds }) => timeSeconds);
  const step = medianStep(times) ?? 0;
  const tracked = step <= LONGEST_TRACKED_STEP_S;
  const found = tracked ? followed(predictions, times, firstTrackId) : predictions;
  const lastTrackId = found.reduce(
    (last, { detections: boxes }) => boxes.reduce((most, { trackId = 0 }) => Math.max(most, trackId), last),
    firstTrackId,
  );
  return { name, pictures, predictions: found, size, step, tracked, lastTrackId, oddities };
}

/** All boxes, those of tracks with their ids. */
function followed(
  predictions: readonly PicturePrediction[],
  times: readonly number[],
  firstTrackId: number,
): PicturePrediction[] {
  const tracker = createTracker();
  return predictions.map(({ detections: boxes, size }, frame) => {
    const ids = new Map<Detection['box'], number>();
    for (const { box, trackId } of tracker.update(boxes, times[frame] ?? 0)) {
      if (trackId !== undefined) ids.set(box, firstTrackId + trackId);
    }
    return {
      size,
      detections: boxes.map((found) => {
        const trackId = ids.get(found.box);
        return trackId === undefined ? found : { ...found, trackId };
      }),
    };
  });
}

/**
 * Frames of the same moment, counted from the first frame of each clip, get one key: each other's nearest, and no further
 * off than half a step of the slower clip.
 * @throws DataError where the pictures differ in size, or no two frames meet
 */
export function pairedByTime(clips: readonly [ReadClip, ReadClip]): readonly [ReadClip, ReadClip] {
  const [first, second] = clips;
  if (first.size.width !== second.size.width || first.size.height !== second.size.height) {
    const [one, two] = clips.map(({ name, size }) => `${name} has ${size.width}x${size.height} px`);
    throw new DataError(`${one}, but ${two}: boxes are not in the same places`, {
      hint: 'scale one of them, or leave pairs=time away',
    });
  }
  const [times, others] = clips.map(timesOf) as [number[], number[]];
  const most = Math.max(first.step, second.step) / 2 + 1e-6;
  const keys: [Map<number, string>, Map<number, string>] = [new Map(), new Map()];
  for (const [place, time] of times.entries()) {
    const other = nearestPlace(others, time);
    const gap = Math.abs((others[other] ?? Number.POSITIVE_INFINITY) - time);
    if (gap > most || nearestPlace(times, others[other] ?? 0) !== place) continue;
    const key = String(keys[0].size);
    keys[0].set(place, key);
    keys[1].set(other, key);
  }
  const withKeys = (clip: ReadClip, own: ReadonlyMap<number, string>): ReadClip => ({
    ...clip,
    pictures: clip.pictures.map((picture, place) => {
      const pairKey = own.get(place);
      return pairKey === undefined ? picture : { ...picture, pairKey };
    }),
  });
  return [withKeys(first, keys[0]), withKeys(second, keys[1])];
}

function timesOf({ pictures }: ReadClip): number[] {
  const start = pictures[0]?.timeSeconds ?? 0;
  return pictures.map(({ timeSeconds = 0 }) => timeSeconds - start);
}

/** Place in rising times; of two that are as near, the earlier. */
function nearestPlace(times: readonly number[], time: number): number {
  let [low, high] = [0, times.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) < time - 1e-9) low = middle + 1;
    else high = middle;
  }
  const [after = 0, before] = [times[low], times[low - 1]];
  // Times of two clips are sums of rounded steps: a hair's breadth decides nothing.
  return before !== undefined && time - before <= Math.abs(after - time) + 1e-9 ? low - 1 : low;
}

/** Of the files, else with the folders above them. */
export function clipNames(first: string, second: string): readonly [first: string, second: string] {
  const [one, two] = [first, second].map((path) => join(dirname(path), basename(path, extname(path))));
  const names = setNames(one ?? first, two ?? second);
  if (names[0] !== names[1]) return names;
  if (first !== second) return [first, second];
  throw new ConfigError(`source=${first} and against= are the same clip`, {
    hint: 'name two clips',
  });
}
