// Sessions of any libonnxruntime through its C API: a Jetson's own with CUDA and TensorRT, or the one that npm brings.
// Runs go to libuv's threads, so that none blocks the event loop and two sessions really run side by side.
import { basename } from 'node:path';
import { DeviceError } from '#core';
import { embedExternalData, parseModel, serialize } from '#onnx';
import { OrtFault, type Pointer } from './ffi/api.ts';
import type { EngineCache } from './ffi/engine-cache.ts';
import { engineOfWrapper, expectLoadableEngine } from './ffi/engine-context.ts';
import { loadOrtLibrary, type OrtLibrary } from './ffi/library.ts';
import { createNativeSession, type NativeSession, type NativeSessionOptions } from './ffi/native-session.ts';
import { readPlacement } from './ffi/placement.ts';
import { appendProvider, NATIVE_NAMES } from './ffi/providers.ts';
import { withSessionOptions } from './ffi/session-options.ts';
import { openError, providerError, runError } from './ort-errors.ts';
import type {
  InputArray,
  Placement,
  PreparedSession,
  Provider,
  RunResult,
  Session,
  SessionInput,
  SessionOptions,
} from './session.ts';
import { providerName } from './session.ts';

/** Since when weights outside of a file that is given as bytes are found by their folder; before, they are taken in. */
const WEIGHTS_FOLDER_LEVEL = 23;

class OrtFfiSession implements Session {
  readonly provider: string;
  readonly runtime: string;
  readonly placement?: Placement;
  readonly outputNames: readonly string[];
  readonly #native: NativeSession;
  #last: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(native: NativeSession, library: OrtLibrary, provider: Provider, placement?: Placement) {
    this.#native = native;
    this.provider = providerName(provider);
    this.runtime = `ONNX Runtime ${library.version} (${basename(library.path)})`;
    if (placement !== undefined) this.placement = placement;
    this.outputNames = native.outputs.map(({ name }) => name);
  }

  run(input: InputArray, spec: SessionInput): Promise<RunResult> {
    if (this.#closing !== undefined) return Promise.reject(new Error('the session is closed'));
    // Takes the memory away from the caller: what he wrote into it during the run would be seen by the network.
    const held = structuredClone(input, { transfer: [input.buffer] });
    const running = this.#last.then(() => this.#runOnce(held, spec));
    this.#last = running.catch(() => undefined);
    return running;
  }

  async #runOnce(input: InputArray, { name, shape }: SessionInput): Promise<RunResult> {
    const started = performance.now();
    try {
      const outputs = await this.#native.run(new Map([[name, { shape, data: input }]]));
      return { outputs, input, inferenceMs: performance.now() - started };
    } catch (error) {
      throw runError(error instanceof Error ? error.message : String(error));
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#last.then(() => this.#native.release());
    return this.#closing;
  }
}

/** The library is loaded at once. @param ortLibrary path; by default the one of onnxruntime-node */
export function prepareOrtFfiSession(ortLibrary?: string): PreparedSession {
  const loading = loadOrtLibrary(ortLibrary);
  loading.catch(() => undefined); // it reaches whoever opens
  return {
    open: async (model, modelName, options) => {
      const engine = engineOfWrapper(model);
      if (engine !== undefined && options.provider.kind !== 'tensorrt')
        await expectLoadableEngine({ wrapper: modelName, engine }, options.provider);
      const library = await loading;
      const { provider } = options;
      const native = await openNative(library, model, modelName, options);
      try {
        return new OrtFfiSession(native, library, provider, provePlacement(library, native, provider));
      } catch (error) {
        native.release();
        throw error;
      }
    },
    discard: () => undefined,
  };
}

/** Opens a session of a library: see `PreparedSession.open`. */
export function openOrtFfiSession(
  model: Uint8Array,
  modelName: string,
  options: SessionOptions,
): Promise<Session> {
  return prepareOrtFfiSession(options.ortLibrary).open(model, modelName, options);
}

interface NativeOpenOptions extends SessionOptions, NativeSessionOptions {
  /** Configuration entries beside those that every session has. */
  readonly entries?: Readonly<Record<string, string>>;
  readonly profilePrefix?: string;
}

/**
 * @param model bytes of an ONNX file; they are copied
 * @throws ModelError when the runtime cannot load the graph, DeviceError when the provider is not usable here
 */
export async function openNative(
  library: OrtLibrary,
  model: Uint8Array,
  modelName: string,
  options: NativeOpenOptions,
): Promise<NativeSession> {
  const { provider } = options;
  const isTensorrt = provider.kind === 'tensorrt' || provider.kind === 'dla';
  const create = () => createSession(library, model, modelName, options);
  try {
    return createNativeSession(library, await (isTensorrt ? library.oneAtATime(create) : create()), options);
  } catch (error) {
    if (!(error instanceof OrtFault)) throw error;
    throw openError(error.message, modelName, provider, library.folder);
  }
}

async function createSession(
  library: OrtLibrary,
  model: Uint8Array,
  modelName: string,
  options: NativeOpenOptions,
): Promise<Pointer> {
  const { provider, threads, providerOptions, externalDataFolder, entries, profilePrefix } = options;
  const { api } = library;
  const isHere = externalDataFolder !== undefined && api.level >= WEIGHTS_FOLDER_LEVEL;
  const bytes =
    externalDataFolder === undefined || isHere
      ? model.slice()
      : await withWeights(model, modelName, externalDataFolder);
  const engine = engineOfWrapper(model);
  const native = {
    provider,
    threads,
    entries: {
      ...(isHere && { 'session.model_external_initializers_file_folder_path': externalDataFolder }),
      ...entries,
    },
    ...(profilePrefix !== undefined && { profilePrefix }),
  };
  return withSessionOptions(library, native, async (settings) => {
    const cache = await appendProvider(library, settings, {
      provider,
      options: providerOptions ?? new Map(),
      model,
      modelName,
      onNote: options.onNote ?? (() => undefined),
      ...(engine !== undefined && { engine }),
    });
    const slot = new BigUint64Array(1);
    // An engine is found beside its wrapper, so that one is loaded by its path.
    const creating =
      engine === undefined
        ? api.callAsync('CreateSessionFromArray', library.env, bytes, bytes.length, settings, slot)
        : api.callAsync('CreateSession', library.env, modelName, settings, slot);
    await settle(creating, cache);
    // Read after the call, and so alive during it.
    if (bytes.length === 0) throw new OrtFault('the model is empty');
    return slot[0] ?? null;
  });
}

async function settle(creating: Promise<void>, cache: EngineCache | undefined): Promise<void> {
  try {
    await creating;
  } catch (error) {
    await cache?.discard();
    throw error;
  }
  await cache?.keep();
}

async function withWeights(model: Uint8Array, path: string, externalDataFolder: string): Promise<Uint8Array> {
  const parsed = parseModel(path, model);
  return serialize(
    await embedExternalData({ path, bytes: model, sha256: '', model: parsed, externalDataFolder }),
  );
}

/** @throws DeviceError where the runtime put nothing on the provider that was asked for */
function provePlacement(
  library: OrtLibrary,
  { pointer }: NativeSession,
  provider: Provider,
): Placement | undefined {
  const counts = readPlacement(library, pointer);
  if (counts === undefined) return provider.kind === 'cpu' ? undefined : { proof: 'fallback-disabled' };
  const wanted = NATIVE_NAMES[provider.kind];
  // A graph without nodes, or with constants alone, runs nowhere.
  if (counts.size > 0 && !counts.has(wanted)) {
    const where = [...counts].map(([name, count]) => `${count} on ${name}`).join(', ');
    throw new DeviceError(`${providerName(provider)} takes no node of this graph (${where})`, {
      hint: providerError('', provider, library.folder).hint,
    });
  }
  return { proof: 'node-counts', nodes: Object.fromEntries(counts) };
}
