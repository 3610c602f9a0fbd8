// The `onnx` engine: gradient graphs of ordinary operators, run by ONNX Runtime in worker threads.
import type { TrainablePart } from '#onnx';
import { ElementType, graph, model, node, serialize, valueInfo } from '#onnx';
import { type Provider, providerName } from '#runtime';
import { differentiate } from '../../autodiff/index.ts';
import type {
  BackwardResult,
  Engine,
  EnginePlan,
  ForwardOptions,
  ForwardResult,
  ForwardState,
  ParameterValues,
  Tensors,
} from '../engine.ts';
import type { ShardState } from './shard.ts';
import { createShard } from './shard.ts';
import { joinOutputs, joinResults, shardRanges } from './split.ts';

export interface OnnxEngineOptions {
  /** Where it runs; asked for is used, or opening fails. */
  readonly provider: Provider;
  /** The ONNX Runtime library to use in place of the one of onnxruntime-node. */
  readonly ortLibrary?: string;
  /** Threads inside one operator. */
  readonly threads: number;
  /** Data-parallel workers. */
  readonly workers: number;
}

export const ONNX_ENGINE_DEFAULTS: OnnxEngineOptions = { provider: { kind: 'cpu' }, threads: 1, workers: 1 };

/**
 * @throws ModelError naming node and operator where the part cannot be differentiated, DeviceError when the provider
 * cannot be used
 */
export async function openOnnxEngine(
  part: TrainablePart,
  options: Partial<OnnxEngineOptions> = {},
): Promise<Engine> {
  const { provider, ortLibrary, threads, workers } = { ...ONNX_ENGINE_DEFAULTS, ...options };
  const composedNormalization = provider.kind !== 'cpu';
  differentiate(part, { batch: 1, mode: 'train', composedNormalization }); // throws before a thread is started
  const shards = Array.from({ length: workers }, () =>
    createShard(part, {
      provider,
      ...(ortLibrary !== undefined && { ortLibrary }),
      threads,
      composedNormalization,
    }),
  );
  const close = async () => {
    await Promise.all(shards.map((shard) => shard.close()));
  };
  if (provider.kind !== 'cpu' || ortLibrary !== undefined) {
    const probed = await Promise.allSettled(shards.map((shard) => shard.probe(probeModel())));
    const failed = probed.find((result) => result.status === 'rejected');
    if (failed !== undefined) {
      await close();
      throw failed.reason;
    }
  }
  const backend = providerName(provider);
  return createEngine(part, shards, { engine: 'onnx', backend, threads, workers }, close);
}

function createEngine(
  part: TrainablePart,
  shards: readonly ReturnType<typeof createShard>[],
  plan: EnginePlan,
  close: () => Promise<void>,
): Engine {
  const states = new Map<number, readonly ShardState[]>();
  let nextState = 0;
  const take = ({ id }: ForwardState): readonly ShardState[] => {
    const found = states.get(id);
    if (found === undefined) throw new Error(`forward pass ${id} was used already`);
    states.delete(id);
    return found;
  };
  return {
    plan,
    close,
    async forward(
      inputs: Tensors,
      parameters: ParameterValues,
      options: ForwardOptions,
    ): Promise<ForwardResult> {
      const ranges = shardRanges(batchOf(inputs, part), shards.length);
      const parts = await Promise.all(
        ranges.map((range, index) =>
          expectShard(shards, index).forward(inputs, parameters, range, options.mode),
        ),
      );
      const outputs = joinOutputs(parts.map((result) => result.outputs));
      if (options.mode === 'evaluate') return { outputs };
      const id = nextState++;
      states.set(
        id,
        parts.flatMap(({ state }) => (state === undefined ? [] : [state])),
      );
      return { outputs, state: { id } };
    },
    async backward(state: ForwardState, outputGradients: Tensors): Promise<BackwardResult> {
      const results = await Promise.all(
        take(state).map(async (held, index) => ({
          ...(await expectShard(shards, index).backward(held, outputGradients)),
          count: held.range.count,
        })),
      );
      return joinResults(results, part.normalizations);
    },
    discard(state) {
      take(state).forEach((held, index) => {
        expectShard(shards, index).discard(held);
      });
    },
  };
}

function expectShard<T>(shards: readonly T[], index: number): T {
  const found = shards[index];
  if (found === undefined) throw new Error(`there is no worker ${index}`);
  return found;
}

function batchOf(inputs: Tensors, part: TrainablePart): number {
  for (const { name, shape } of part.inputs) {
    const given = inputs.get(name)?.shape;
    if (
      given === undefined ||
      given.length !== shape.length + 1 ||
      shape.some((size, axis) => size !== given[axis + 1])
    ) {
      throw new Error(
        `input ${name} of the trainable part is [N, ${shape.join(', ')}], found [${given?.join(', ') ?? 'nothing'}]`,
      );
    }
  }
  return inputs.get(part.inputs[0]?.name ?? '')?.shape[0] ?? 0;
}

function probeModel(): Uint8Array<ArrayBuffer> {
  const info = (name: string) => valueInfo(name, ElementType.FLOAT, [1]);
  const parts = { nodes: [node('Relu', ['x'], ['y'])], inputs: [info('x')], outputs: [info('y')] };
  return new Uint8Array(serialize(model(graph(parts))));
}
