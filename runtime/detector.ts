// A model that is ready to answer: frames go in, detections with their uncertainty come out.
import type {
  Capabilities,
  Decoder,
  Detection,
  HeadOutputs,
  HeadTensor,
  InputWriter,
  Letterbox,
  Postprocessor,
  PreprocessContract,
  Size,
  ThresholdPolicy,
} from '#core';
import { createLetterbox, formatShape, ModelError } from '#core';
import type { Frame } from './frame.ts';
import { createInputPool, type InputPool } from './input-pool.ts';
import { createMemoryReturn, type ReturnMemory } from './session/memory-return.ts';
import type { Placement, Session, SessionInput } from './session/session.ts';

/** Time spent on one frame. */
export interface StageTiming {
  /** Filling the network's input, in ms of this frame. */
  readonly preMs: number;
  /** Inside the runtime; a batch's time is shared by its frames. */
  readonly inferMs: number;
  /** Decoding, threshold, suppression, mapping back. */
  readonly postMs: number;
}

/** The answer for one frame. */
export interface Detected {
  /** By score, highest first. */
  readonly detections: readonly Detection[];
  /** `maxDet` was reached: there may be more objects. */
  readonly limitReached: boolean;
  /** Locations that were dropped because a score or a box was NaN or infinite: a sign of a broken export. */
  readonly nonFinite: number;
  readonly timing: StageTiming;
}

/** A model that is ready to answer. Made by `openDetector`. */
export interface Detector {
  readonly classNames: readonly string[];
  readonly capabilities: Capabilities;
  /** Size of the network's input in px. */
  readonly input: Size;
  /** Pictures per run: 1 unless the file fixes another number. */
  readonly batchSize: number;
  /** Inferences that can go on side by side. */
  readonly sessions: number;
  /** Provider in effect, as the runtime accepted it. */
  readonly provider: string;
  /** What runs the graph, where it is not onnxruntime-node. */
  readonly runtime?: string;
  /** How it is known to run there, where anything else could. */
  readonly placement?: Placement;
  /** How a frame of this size lies in the input. */
  readonly fit: (frame: Size) => Letterbox;
  /**
   * @param frames 1 to `batchSize`; their `content` is read before the call returns
   * @param thresholds one rule per frame, for frames under way side by side; the last one stays in effect
   * @returns one answer per frame, in order
   * @throws ModelError when the graph fails or its outputs are not what the head promises
   */
  detect(
    frames: readonly Frame[],
    thresholds?: readonly (ThresholdPolicy | undefined)[],
  ): Promise<readonly Detected[]>;
  /** Changes the threshold rule from the next answer on. */
  useThreshold(threshold: ThresholdPolicy): void;
  /** Waits for what is under way, then frees the model. Safe to call twice. */
  close(): Promise<void>;
}

export interface DetectorParts {
  readonly sessions: readonly Session[];
  readonly inputSpec: SessionInput;
  readonly input: Size;
  readonly batchSize: number;
  readonly contract: PreprocessContract;
  readonly writer: InputWriter;
  readonly decoder: Decoder;
  readonly postprocessor: Postprocessor;
  readonly classNames: readonly string[];
  readonly capabilities: Capabilities;
}

export function createDetector(parts: DetectorParts): Detector {
  const { input, batchSize, sessions, contract } = parts;
  const { runtime, placement } = sessions[0] ?? {};
  const resources: Resources = {
    pool: createInputPool(parts.writer, input, batchSize),
    load: new Array<number>(sessions.length).fill(0),
    returnMemory: createMemoryReturn(),
  };
  return {
    classNames: parts.classNames,
    capabilities: parts.capabilities,
    input,
    batchSize,
    sessions: sessions.length,
    provider: sessions[0]?.provider ?? 'none',
    ...(runtime !== undefined && { runtime }),
    ...(placement && { placement }),
    fit: (frame) => createLetterbox(frame, input, contract.fit),
    detect: (frames, thresholds = []) => detectBatch(parts, resources, frames, thresholds),
    useThreshold: (threshold) => parts.postprocessor.useThreshold(threshold),
    async close() {
      await Promise.all(sessions.map((session) => session.close()));
    },
  };
}

interface Resources {
  readonly pool: InputPool;
  /** Calls under way per session. */
  readonly load: number[];
  readonly returnMemory: ReturnMemory;
}

async function detectBatch(
  parts: DetectorParts,
  { pool, load, returnMemory }: Resources,
  frames: readonly Frame[],
  thresholds: readonly (ThresholdPolicy | undefined)[],
): Promise<readonly Detected[]> {
  const started = performance.now();
  const pooled = pool.fill(frames);
  const preMs = (performance.now() - started) / frames.length;
  const chosen = load.indexOf(Math.min(...load));
  const session = parts.sessions[chosen];
  if (session === undefined) throw new Error('a detector needs a session');
  load[chosen] = (load[chosen] ?? 0) + 1;
  try {
    const { outputs, input, inferenceMs } = await session.run(pooled.array, parts.inputSpec);
    pool.restore(pooled, input);
    const inferMs = inferenceMs / frames.length;
    const answers = frames.map((frame, place) => {
      const threshold = thresholds[place];
      if (threshold !== undefined) parts.postprocessor.useThreshold(threshold);
      return answer(parts, outputs, place, frame.letterbox, { preMs, inferMs });
    });
    returnMemory(outputs);
    return answers;
  } finally {
    load[chosen] = (load[chosen] ?? 1) - 1;
  }
}

function answer(
  { decoder, postprocessor, batchSize }: DetectorParts,
  outputs: HeadOutputs,
  place: number,
  letterbox: Letterbox,
  timing: Omit<StageTiming, 'postMs'>,
): Detected {
  const started = performance.now();
  const candidates = decoder.decode(outputsOfPlace(outputs, place, batchSize), postprocessor.floor);
  const { detections, detectionLimitReached, candidateLimitReached, nonFinite } = postprocessor.process(
    candidates,
    letterbox,
    decoder,
  );
  return {
    detections,
    limitReached: detectionLimitReached || candidateLimitReached,
    nonFinite,
    timing: { ...timing, postMs: performance.now() - started },
  };
}

/** The outputs of one picture of a batch, as if it had been alone. */
export function outputsOfPlace(outputs: HeadOutputs, place: number, batchSize: number): HeadOutputs {
  if (batchSize === 1) return outputs;
  return new Map(
    [...outputs].map(([name, { shape, data }]): [string, HeadTensor] => {
      if (shape[0] !== batchSize) {
        throw new ModelError(
          `output ${name} has shape ${formatShape(shape)}, its first axis is not the batch of ${batchSize}`,
          { hint: 'export the model with batch 1' },
        );
      }
      const length = data.length / batchSize;
      const slice = data.subarray(place * length, (place + 1) * length);
      return [name, { shape: [1, ...shape.slice(1)], data: slice }];
    }),
  );
}
