// One model over frames that lie in memory: what each stage, the processor and the memory had to give.
import type { HeadKind, Size } from '#core';
import { DataError } from '#core';
import {
  type DetectorOptions,
  type Frame,
  locateFfmpeg,
  type OpenDetector,
  openDetector,
  openSource,
  type Placement,
  type Provider,
} from '#runtime';

/** What one process is asked to measure. Plain data: it crosses to that process. */
export interface RunRequest {
  readonly model: string;
  readonly provider: Provider;
  readonly ortLibrary?: string;
  readonly providerOptions?: ReadonlyMap<string, string>;
  readonly threads: number;
  readonly frames: BenchFrames;
  /** Least score of a box. Default 0.25. */
  readonly conf?: number;
  readonly imageSize?: Size;
  readonly layout?: HeadKind;
  readonly preprocess?: string;
}

/** The same for every model. */
export interface BenchFrames {
  /** What `openSource` takes; live sources never give the same frames twice and are refused. */
  readonly sources: readonly string[];
  /** Most frames in all; each source gives its share, its first ones. */
  readonly most: number;
  readonly ffmpeg?: string;
}

/** Times in ms of one frame. Stages are medians over frames, the rest means over the pass. */
export interface BenchRun {
  readonly preMs: number;
  readonly inferMs: number;
  readonly postMs: number;
  /** From a frame to its detections, without decoding. */
  readonly frameMs: number;
  /** Of all threads of the process together. */
  readonly cpuMs: number;
  /** Most memory that was resident, without the frames that are held, MiB. */
  readonly peakMib: number;
  /** From the file to a model that is ready. */
  readonly openMs: number;
  readonly frames: number;
  /** Boxes in all frames: models that say nothing are fast. */
  readonly detections: number;
  /** In effect. */
  readonly provider: string;
  readonly runtime?: string;
  readonly placement?: Placement;
  readonly input: Size;
}

/** Batches before the clock starts: first runs allocate. */
const WARM_UP = 3;
const MIB = 2 ** 20;

/** @throws ModelError, DeviceError as `openDetector`; SourceError, DataError as `openSource` and without a frame */
export async function measureRun(request: RunRequest): Promise<BenchRun> {
  const started = performance.now();
  const detector = await openDetector(request.model, detectorOptions(request));
  const openMs = performance.now() - started;
  try {
    const frames = await heldFrames(request.frames, detector);
    const batches = batchesOf(frames, detector.batchSize);
    for (const batch of Array.from({ length: WARM_UP }, (_, at) => batches[at % batches.length])) {
      await detector.detect(batch ?? []);
    }
    return { openMs, ...(await measurePass(detector, batches)), ...memoryOf(frames) };
  } finally {
    await detector.close();
  }
}

function detectorOptions(request: RunRequest) {
  const { provider, ortLibrary, providerOptions, threads, conf, imageSize, layout, preprocess } = request;
  return {
    provider,
    ...(ortLibrary !== undefined && { ortLibrary }),
    ...(providerOptions && { providerOptions }),
    threads,
    threshold: { kind: 'fixed', base: conf ?? 0.25 },
    ...(imageSize && { imageSize }),
    ...(layout && { layout }),
    ...(preprocess !== undefined && { preprocess }),
  } satisfies DetectorOptions;
}

async function measurePass(detector: OpenDetector, batches: readonly (readonly Frame[])[]) {
  const stages: Record<'preMs' | 'inferMs' | 'postMs', number[]> = { preMs: [], inferMs: [], postMs: [] };
  let detections = 0;
  const before = process.cpuUsage();
  const started = performance.now();
  for (const batch of batches) {
    for (const { timing, detections: found } of await detector.detect(batch)) {
      stages.preMs.push(timing.preMs);
      stages.inferMs.push(timing.inferMs);
      stages.postMs.push(timing.postMs);
      detections += found.length;
    }
  }
  const wallMs = performance.now() - started;
  const { user, system } = process.cpuUsage(before);
  const frames = stages.preMs.length;
  return {
    preMs: median(stages.preMs),
    inferMs: median(stages.inferMs),
    postMs: median(stages.postMs),
    frameMs: wallMs / frames,
    cpuMs: (user + system) / 1000 / frames,
    frames,
    detections,
    provider: detector.provider,
    ...(detector.runtime !== undefined && { runtime: detector.runtime }),
    ...(detector.placement && { placement: detector.placement }),
    input: detector.input,
  };
}

function memoryOf(frames: readonly Frame[]): Pick<BenchRun, 'peakMib'> {
  const held = frames.reduce((sum, { content }) => sum + content.length, 0);
  return { peakMib: process.resourceUsage().maxRSS / 1024 - held / MIB };
}

/** Frames as this network takes them, decoded before anything is timed. */
async function heldFrames(
  { sources, most, ffmpeg: program }: BenchFrames,
  { fit }: OpenDetector,
): Promise<readonly Frame[]> {
  const ffmpeg = program === undefined ? {} : { ffmpeg: await locateFfmpeg({ ffmpeg: program }) };
  const { signal } = new AbortController();
  const held: Frame[] = [];
  for (const [place, spec] of sources.entries()) {
    const enough = held.length + Math.ceil((most - held.length) / (sources.length - place));
    if (held.length >= enough) break;
    const source = await openSource(spec, ffmpeg);
    for await (const frame of source.frames({ fit, full: false, signal })) {
      held.push({ ...frame, content: frame.content.slice(), release: () => undefined });
      frame.release();
      if (held.length >= enough) break;
    }
  }
  if (held.length > 0) return held;
  throw new DataError(`${sources.join(', ')}: there is no frame to measure on`, {
    hint: 'name a clip, a picture or a folder of pictures with source=',
  });
}

function batchesOf(frames: readonly Frame[], size: number): readonly (readonly Frame[])[] {
  return Array.from({ length: Math.ceil(frames.length / size) }, (_, at) =>
    frames.slice(at * size, (at + 1) * size),
  );
}

/** NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = [sorted[middle - 1], sorted[middle]];
  return sorted.length % 2 === 1 ? high : (low + high) / 2;
}
