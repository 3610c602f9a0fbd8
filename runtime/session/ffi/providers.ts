// Where a session runs, as ONNX Runtime's C API is told: CUDA and TensorRT with all their options, WebGPU by name.
import { createHash } from 'node:crypto';
import { freemem } from 'node:os';
import { basename } from 'node:path';
import { ConfigError } from '#core';
import { builderWorkspaceMiB } from '../engine-memory.ts';
import { type Provider, providerName } from '../session.ts';
import { OrtFault, PLACEMENT_LEVEL, type Pointer } from './api.ts';
import { readCudaDevice, readTensorrtVersion } from './cuda-device.ts';
import { type EngineCache, engineCacheFolder, openEngineCache } from './engine-cache.ts';
import { expectLoadableEngine } from './engine-context.ts';
import { describeGraph } from './graph-facts.ts';
import type { OrtLibrary } from './library.ts';

export interface ProviderRequest {
  readonly provider: Provider;
  /** The user's own, which win over ours. */
  readonly options: ReadonlyMap<string, string>;
  readonly model: Uint8Array;
  readonly modelName: string;
  /** Name of the engine file, where the model stands for one. */
  readonly engine?: string;
  readonly onNote: (note: string) => void;
}

/** Name of the provider in the runtime's words, for what it says of its nodes. */
export const NATIVE_NAMES: Readonly<Record<Provider['kind'], string>> = {
  cpu: 'CPUExecutionProvider',
  cuda: 'CUDAExecutionProvider',
  tensorrt: 'TensorrtExecutionProvider',
  dla: 'TensorrtExecutionProvider',
  webgpu: 'WebGpuExecutionProvider',
  kserve: '',
};

type Pairs = ReadonlyMap<string, string>;

const MIB = 2 ** 20;
/** Since when the cache of layer timings has a path of its own. */
const TIMING_PATH_LEVEL = 17;

/**
 * @returns the cache that the session's engine goes to, for TensorRT alone
 * @throws OrtFault in the runtime's words, ConfigError for options where there are none to give, DeviceError where there
 * is too little memory to build, ModelError for an engine that cannot run here
 */
export async function appendProvider(
  library: OrtLibrary,
  session: Pointer,
  request: ProviderRequest,
): Promise<EngineCache | undefined> {
  const { provider, options } = request;
  switch (provider.kind) {
    case 'cpu':
      if (options.size === 0) return undefined;
      throw new ConfigError(
        `device=cpu takes no provider_options, and ${[...options.keys()].join(', ')} is given`,
        {
          hint: 'leave provider_options= away',
        },
      );
    case 'cuda': {
      const own = new Map([['device_id', String(provider.index)], ...options]);
      await withNativeOptions(library, 'CUDA', async (native, update) => {
        await update(own);
        library.api.call('SessionOptionsAppendExecutionProvider_CUDA_V2', session, native);
      });
      return undefined;
    }
    case 'webgpu': {
      const [keys, values] = [[...options.keys()], [...options.values()]];
      library.api.call('SessionOptionsAppendExecutionProvider', session, 'WebGPU', keys, values, keys.length);
      return undefined;
    }
    case 'tensorrt':
    case 'dla':
      return appendTensorrt(library, session, request);
    default:
      throw new Error(`${providerName(provider)} is no provider of ONNX Runtime`);
  }
}

async function appendTensorrt(
  library: OrtLibrary,
  session: Pointer,
  request: ProviderRequest,
): Promise<EngineCache | undefined> {
  const { api } = library;
  const { provider, options } = request;
  // The cores of the accelerator belong to the first GPU: a Jetson has no other.
  const index = provider.kind === 'tensorrt' ? provider.index : 0;
  return withNativeOptions(library, 'TensorRT', async (native, update) => {
    // Loads TensorRT, so that it can be asked which one it is.
    await update(new Map([['device_id', String(index)]]));
    const { pairs, cache } = await tensorrtOptions(library, request, index);
    try {
      await update(new Map([...pairs, ...options]));
      api.call('SessionOptionsAppendExecutionProvider_TensorRT_V2', session, native);
      if (api.level >= PLACEMENT_LEVEL) await appendCudaBehind(library, session, index);
    } catch (error) {
      await cache?.discard();
      throw error;
    }
    return cache;
  });
}

/**
 * What TensorRT cannot take goes to CUDA and not to the CPU, where the runtime says afterwards how much that was. Older
 * releases do not say it: there TensorRT takes the whole graph or none.
 */
async function appendCudaBehind(library: OrtLibrary, session: Pointer, index: number): Promise<void> {
  try {
    await withNativeOptions(library, 'CUDA', async (native, update) => {
      await update(new Map([['device_id', String(index)]]));
      library.api.call('SessionOptionsAppendExecutionProvider_CUDA_V2', session, native);
    });
  } catch (error) {
    if (!(error instanceof OrtFault)) throw error; // without CUDA's provider TensorRT stands alone, as with older releases
  }
}

async function tensorrtOptions(
  library: OrtLibrary,
  request: ProviderRequest,
  index: number,
): Promise<{ readonly pairs: Pairs; readonly cache?: EngineCache }> {
  const { koffi, api, version } = library;
  const { provider, options, model, modelName, engine, onNote } = request;
  const device = readCudaDevice(koffi, index);
  const tensorrt = await readTensorrtVersion(koffi);
  if (engine !== undefined) {
    const host = {
      level: api.level,
      version,
      tensorrt,
      gpu: device?.name,
      computeCapability: device?.computeCapability,
    };
    await expectLoadableEngine({ wrapper: modelName, engine }, { kind: 'tensorrt', index }, host);
    return { pairs: new Map() };
  }
  const { precision, shapes, hasOpenAxes } = describeGraph(model);
  const pairs = new Map<string, string>();
  if (precision !== 'float32' || provider.kind === 'dla') pairs.set('trt_fp16_enable', '1');
  if (precision === 'int8') pairs.set('trt_int8_enable', '1');
  if (provider.kind === 'dla') {
    pairs.set('trt_dla_enable', '1');
    pairs.set('trt_dla_core', String(provider.index));
  }
  const asked = Number(options.get('trt_max_workspace_size') ?? Number.NaN) / MIB;
  const workspaceMiB = builderWorkspaceMiB({
    freeMiB: Math.floor(freemem() / MIB),
    modelBytes: model.length,
    ...(Number.isFinite(asked) && { askedMiB: asked }),
    hint: 'close other programs, add swap, or lower provider_options=trt_max_workspace_size: (in bytes)',
  });
  pairs.set('trt_max_workspace_size', String(workspaceMiB * MIB));
  if (options.has('trt_engine_cache_enable') || options.has('trt_engine_cache_path')) return { pairs };
  if (device === undefined || tensorrt === undefined || hasOpenAxes) {
    const why = hasOpenAxes ? 'the graph has open axes' : 'neither GPU nor release of TensorRT can be told';
    onNote(
      `building a TensorRT engine for ${basename(modelName)}, which takes minutes; it is not kept, since ${why}`,
    );
    return { pairs };
  }
  const cache = await openEngineCache(engineCacheFolder(), {
    modelSha256: createHash('sha256').update(model).digest('hex'),
    tensorrt,
    gpu: device.name,
    computeCapability: device.computeCapability,
    precision,
    shapes,
    onnxRuntime: version,
    options: JSON.stringify([providerName(provider), ...[...options].sort()]),
  });
  if (cache.note !== undefined) onNote(cache.note);
  if (!cache.isFilled)
    onNote(`building a TensorRT engine for ${basename(modelName)}: minutes, once for this device and model`);
  pairs.set('trt_engine_cache_enable', '1');
  pairs.set('trt_engine_cache_path', cache.folder);
  pairs.set('trt_timing_cache_enable', '1');
  if (api.level >= TIMING_PATH_LEVEL) pairs.set('trt_timing_cache_path', engineCacheFolder());
  return { pairs, cache };
}

/** @param use gets options that are freed when it has ended, and a way to set some of them by name */
async function withNativeOptions<T>(
  { api }: OrtLibrary,
  kind: 'CUDA' | 'TensorRT',
  use: (native: Pointer, update: (pairs: Pairs) => Promise<void>) => Promise<T>,
): Promise<T> {
  const slot = new BigUint64Array(1);
  api.call(`Create${kind}ProviderOptions`, slot);
  const native = slot[0] ?? null;
  try {
    // On another thread: the first call loads a gigabyte of libraries.
    return await use(native, (pairs) =>
      api.callAsync(
        `Update${kind}ProviderOptions`,
        native,
        [...pairs.keys()],
        [...pairs.values()],
        pairs.size,
      ),
    );
  } finally {
    api.release(`${kind}ProviderOptions`, native);
  }
}
