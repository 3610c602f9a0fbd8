// Which engine computes the gradients: what was asked for, or the first of the usual order that works here.
import { DeviceError } from '#core';
import type { TrainablePart } from '#onnx';
import type { Provider } from '#runtime';
import type { Engine, EnginePlan } from './engine.ts';
import { openOnnxEngine } from './onnx/engine.ts';

export interface EngineRequest {
  readonly engine: 'auto' | 'onnx' | 'tfjs' | 'tfjs-wasm' | 'tfjs-node' | 'tfjs-node-gpu';
  readonly device: Provider | 'auto';
  /** Plan of a run that is resumed: it is used again, or the run is refused. */
  readonly plan?: EnginePlan;
  readonly threads?: number;
  readonly workers?: number;
}

export interface ChosenEngine {
  readonly engine: Engine;
  /** One line for the user: what was chosen, and why. */
  readonly reason: string;
}

/** @throws DeviceError where what was asked for cannot be used */
export async function chooseEngine(
  request: EngineRequest,
  part: TrainablePart,
  batch: number,
): Promise<ChosenEngine> {
  if (request.engine !== 'auto' && request.engine !== 'onnx') {
    throw new DeviceError(`engine=${request.engine} is not usable here`, { hint: 'write engine=onnx' });
  }
  const { threads = request.plan?.threads ?? 1, workers = request.plan?.workers ?? 1 } = request;
  const provider = request.device === 'auto' ? { kind: 'cpu' as const } : request.device;
  const engine = await openOnnxEngine(part, { provider, threads, workers });
  return {
    engine,
    reason: `onnx on ${engine.plan.backend}, ${threads} threads, ${workers} workers, batch ${batch}`,
  };
}
