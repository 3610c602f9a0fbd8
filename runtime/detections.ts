// Joins a source and a detector: frames go in, results come out in order, and the stages overlap.
import type { ThresholdPolicy } from '#core';
import type { Detected, Detector } from './detector.ts';
import type { Frame } from './frame.ts';
import { followLight, type LightOptions, type ObservedLight } from './light.ts';
import type { FrameResult } from './sinks/sink.ts';
import type { FrameSource, SourceEvent } from './sources/source.ts';
import { type Channel, createChannel } from './streams/channel.ts';
import { createSlots, type Slots } from './streams/slots.ts';
import { type ResultTracker, type TrackResultsOptions, trackResults } from './tracker/index.ts';

/** What runs over what, and until when. */
export interface DetectionsOptions {
  readonly source: FrameSource;
  readonly detector: Detector;
  readonly signal?: AbortSignal;
  /** Deliver whole frames too, for painting. */
  readonly full?: boolean;
  /** Measures the light of the frames and lets the thresholds follow it; each result says the state. */
  readonly light?: LightOptions;
  /**
   * Follow objects from frame to frame: only boxes of tracks are reported, with `trackId`. Doubtful boxes hold tracks
   * together, so open the detector with a threshold of `lowThreshold` (0.1), and choose what to report by `shown`.
   * With `light`, its thresholds choose in place of `shown`.
   */
  readonly track?: TrackResultsOptions;
  /** Told of what an operator should know: damaged pictures, lost and resumed streams. */
  readonly onEvent?: (event: SourceEvent) => void;
}

/** What was found in one frame, and how long it took. */
export interface DetectionResult extends FrameResult {
  /** Time spent in each stage, in ms. */
  readonly timing: Detected['timing'];
  /** `max_det` was reached: there may be more objects. */
  readonly limitReached: boolean;
  /** Locations dropped because the model gave NaN or infinite values. */
  readonly nonFinite: number;
}

interface Batch {
  readonly frames: readonly Frame[];
  readonly detected: Promise<readonly (Detected & Pick<FrameResult, 'light'>)[]>;
  /** What the light makes of each frame, where that chooses among boxes of tracks instead of before. */
  readonly shown?: readonly (ThresholdPolicy | undefined)[];
}

/**
 * Runs a detector over a source: one result per frame, in order. A frame's bytes are valid until the next result is
 * asked for; detections and sizes stay. Leaving the loop, by `break`, an error or the signal, ends ffmpeg and waits
 * for the inference under way; the detector stays open.
 *
 * A slow consumer: files are read at its pace and no frame is left out. They are read ahead by one frame per session,
 * so that decoding, inference and the consumer overlap, and no more is held. A live source is not read ahead: when the
 * consumer is done with a result, the newest frame is taken, and those that it missed are counted in
 * `source.stats().dropped` and left out of `frame.index`; so a result is as old as its inference took, however slow
 * the loop is (with several sessions, up to as many turns of the loop). `openSource(…, { buffer: 'all' })` gives
 * every frame of a live source instead, and the delay may grow.
 *
 * @throws what the source throws, the model's error, or the signal's reason
 * @example
 * const source = await openSource('rtsp://camera/stream');
 * const detector = await openDetector('yolov8n.onnx');
 * for await (const { frame, detections: found } of detections({ source, detector, signal })) {
 *   console.log(frame.ptsSeconds, found.map(({ className, score }) => `${className} ${score}`));
 * }
 */
export async function* detections(options: DetectionsOptions): AsyncGenerator<DetectionResult, void, void> {
  const { source, detector, signal } = options;
  const stop = new AbortController();
  const ended = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const slots = createSlots(source.kind === 'live' ? detector.sessions : detector.sessions + 1);
  const channel = createChannel<Batch>();
  const producer = produce(options, ended, slots, channel);
  const follow = options.track && trackResults(options.track);
  try {
    for (let batch = await channel.next(); batch !== undefined; batch = await channel.next()) {
      yield* resultsOf(batch, follow);
      slots.release();
    }
  } finally {
    stop.abort(new Error('the consumer stopped'));
    await producer;
    await drain(channel);
  }
}

async function produce(
  { source, detector, full = false, light, track, onEvent }: DetectionsOptions,
  signal: AbortSignal,
  slots: Slots,
  channel: Channel<Batch>,
): Promise<void> {
  const follower = light && followLight(light, onEvent);
  let frames: Frame[] = [];
  const submit = () => {
    // The light is measured before, in the order of the frames: the answers of several sessions may cross.
    const lights = follower && frames.map((frame) => follower.observe(frame));
    const thresholds = lights?.map(({ threshold }) => threshold);
    const answers = detector.detect(frames, track ? undefined : thresholds);
    const detected = lights ? sayLight(answers, lights) : answers;
    detected.catch(() => undefined); // met by whoever reads the channel
    channel.send({ frames, detected, ...(track && thresholds && { shown: thresholds }) });
    frames = [];
  };
  // A live frame is not kept waiting for others: the detector fills the batch up.
  const batchSize = source.kind === 'live' ? 1 : detector.batchSize;
  try {
    await slots.acquire(signal);
    const request = { fit: detector.fit, full, signal, ...(onEvent && { onEvent }) };
    for await (const frame of source.frames(request)) {
      frames.push(frame);
      if (frames.length < batchSize) continue;
      submit();
      await slots.acquire(signal);
    }
    if (frames.length > 0) submit();
    channel.end();
  } catch (error) {
    for (const frame of frames) frame.release();
    channel.end(error);
  }
}

async function sayLight(
  answers: Promise<readonly Detected[]>,
  lights: readonly ObservedLight[],
): Promise<readonly (Detected & Pick<FrameResult, 'light'>)[]> {
  return (await answers).map((answer, index) => {
    const light = lights[index]?.state;
    return light === undefined ? answer : { ...answer, light };
  });
}

async function* resultsOf(
  { frames, detected, shown }: Batch,
  follow: ResultTracker | undefined,
): AsyncGenerator<DetectionResult, void, void> {
  let given = 0;
  try {
    for (const [index, answer] of (await detected).entries()) {
      const frame = frames[index];
      if (frame === undefined) break;
      const result = { frame, size: frame.letterbox.frame, ...answer };
      yield follow ? follow(result, shown?.[index]) : result;
      frame.release();
      given++;
    }
  } finally {
    for (const frame of frames.slice(given)) frame.release();
  }
}

/** Waits for what is under way, so that no thread writes into memory that is given back. */
async function drain(channel: Channel<Batch>): Promise<void> {
  for (;;) {
    const batch = await channel.next().catch(() => undefined);
    if (batch === undefined) return;
    await batch.detected.catch(() => undefined);
    for (const frame of batch.frames) frame.release();
  }
}
