// One training from its request to the file of its last epoch, for studies that judge files.
import { DataError } from 'edge-detect/core';
import { chooseEngine, type TrainRequest, trainDetector } from 'edge-detect/training';

export interface TrainLastContext {
  /** For this run alone; it exists. */
  readonly folder: string;
  readonly cacheFolder: string;
  readonly signal: AbortSignal;
  readonly onNote: (text: string) => void;
}

export interface LastModel {
  readonly path: string;
  /** Of the training, features included. */
  readonly seconds: number;
  /** CPU time of the whole program meanwhile. */
  readonly cpuSeconds: number;
}

/** @throws DataError where it ends without a model; what the training throws; the reason of the signal */
export async function trainLast(
  request: TrainRequest,
  { onNote, ...context }: TrainLastContext,
): Promise<LastModel> {
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  let path: string | undefined;
  const events = trainDetector(request, {
    ...context,
    // One plan for all machines: weights are equal bit by bit within a plan, and none is timed.
    openEngine: async (part, size) =>
      (await chooseEngine({ engine: 'onnx', device: { kind: 'cpu' }, threads: 2 }, part, size)).engine,
  });
  for await (const event of events) {
    if (event.type === 'note') onNote(event.text);
    if (event.type === 'finished') path = event.files.lastPath;
  }
  if (path === undefined) {
    throw new DataError(`${request.data}: the training ended without a model`, {
      hint: 'look at its notes above',
    });
  }
  const { user, system } = process.cpuUsage(cpu);
  return { path, seconds: (performance.now() - started) / 1000, cpuSeconds: (user + system) / 1e6 };
}
