// Whole trainings inside a test: small enough for seconds, on the engine that runs everywhere.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { assembleDetector, buildDetector, serialize, type TrainablePart, tensorNumbers } from '#onnx';
import { type Checkpoint, loadCheckpoint } from '../../training/checkpoint.ts';
import type { Engine } from '../../training/engines/engine.ts';
import { openOnnxEngine } from '../../training/engines/onnx/engine.ts';
import type { TrainRequest } from '../../training/options.ts';
import { type RunEvent, trainDetector } from '../../training/train.ts';

/** Nothing is drawn by chance but the order of the pictures. */
export const STILL = {
  hsv_h: 0,
  hsv_s: 0,
  hsv_v: 0,
  translate: 0,
  scale: 0,
  fliplr: 0,
  mosaic: 0,
  dusk: 0,
} as const;

/** Any picture may meet anything. */
export const LIVELY = { mosaic: 0.5, dusk: 0.5, cutout: 0.5 } as const;

export interface TrainingPlace {
  readonly folder: string;
  readonly resumeFrom?: string;
  /** Called with every event; a returned `true` stops the run as Ctrl-C does. */
  readonly onEvent?: (event: RunEvent) => boolean | undefined;
  /** Stands between the loop and the engine. */
  readonly wrapEngine?: (engine: Engine) => Engine;
}

export interface TrainingOutcome {
  readonly events: readonly RunEvent[];
  readonly notes: readonly string[];
  /** Rows of results.csv. */
  readonly rows: readonly Readonly<Record<string, number>>[];
  readonly statePath: string;
  state(): Promise<Checkpoint>;
}

export const STOPPED = new Error('stopped by the test');

/** Trains on one thread. @throws whatever the run throws; `STOPPED` where the test stopped it */
export async function trainToEnd(request: TrainRequest, place: TrainingPlace): Promise<TrainingOutcome> {
  const { folder, resumeFrom, onEvent, wrapEngine = (engine: Engine) => engine } = place;
  await mkdir(folder, { recursive: true });
  const stop = new AbortController();
  const events: RunEvent[] = [];
  const openEngine = async (part: TrainablePart) =>
    wrapEngine(await openOnnxEngine(part, { threads: 1, workers: 1 }));
  const context = { folder, signal: stop.signal, openEngine, ...(resumeFrom && { resumeFrom }) };
  for await (const event of trainDetector(request, context)) {
    events.push(event);
    if (onEvent?.(event)) stop.abort(STOPPED);
  }
  const statePath = join(folder, 'weights', 'last.state');
  return {
    events,
    notes: events.flatMap((event) => (event.type === 'note' ? [event.text] : [])),
    rows: events.flatMap((event) => (event.type === 'saved' ? [event.row] : [])),
    statePath,
    state: () => loadCheckpoint(statePath),
  };
}

/** Bytes of an untrained detector of our own: a host whose every part can be trained further. */
export function ownModelBytes(
  classNames: readonly string[],
  { side = 64, seed = 5 }: { readonly side?: number; readonly seed?: number } = {},
): Uint8Array {
  const input = { width: side, height: side };
  const headed = buildDetector({
    size: 'n',
    input,
    classNames,
    bins: 10,
    dropout: 0,
    classLaw: 'softmax',
    seed,
  });
  const { model, parameters, normalizations } = headed.trainable;
  const wanted = new Set([
    ...parameters.map(({ name }) => name),
    ...normalizations.flatMap(({ mean, variance }) => [mean, variance]),
  ]);
  const values = (model.graph?.initializer ?? []).filter(({ name }) => wanted.has(name));
  return serialize(
    assembleDetector(
      headed,
      new Map(values.map((constant) => [constant.name, Float32Array.from(tensorNumbers(constant))])),
    ),
  );
}

/** Rows without the columns of the clock. */
export function withoutTime(rows: readonly Readonly<Record<string, number>>[]): readonly object[] {
  return rows.map(({ time, ...row }) => row);
}
