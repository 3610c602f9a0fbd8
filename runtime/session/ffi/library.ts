// A libonnxruntime of the user's choice, loaded into this process: found, checked, and kept for good.
import { readdirSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { DeviceError } from '#core';
import { loadFault, ortFolder } from '../missing-library.ts';
import { disableTelemetry } from '../no-telemetry.ts';
import {
  bindApi,
  type KoffiModule,
  LOWEST_LEVEL,
  type OrtApi,
  PLACEMENT_LEVEL,
  type Pointer,
} from './api.ts';
import { libraryKind } from './elf.ts';

export interface OrtLibrary {
  readonly koffi: KoffiModule;
  readonly api: OrtApi;
  readonly path: string;
  readonly folder: string;
  /** `1.30.0` */
  readonly version: string;
  readonly env: Pointer;
  /** Of memory that JavaScript can reach. */
  readonly memoryInfo: Pointer;
  readonly allocator: Pointer;
  /** Waits for what was given before: two engine builds at once would need twice the memory. */
  oneAtATime<T>(task: () => Promise<T>): Promise<T>;
}

const FATAL = 4;
const ARENA_ALLOCATOR = 1;
const DEFAULT_MEMORY = 0;
/** What a thread of the system has. TensorRT's builder recurses deeply, and koffi's own 128 KiB would not do. */
const STACK_BYTES = 8 * 2 ** 20;

/**
 * By path. A library cannot be taken out of a process again: its threads and its functions outlive every session, and
 * the functions would point into nothing once the object that loaded it was collected.
 */
const LOADED = new Map<string, Promise<OrtLibrary>>();

/**
 * @param path of the library. Default: the one that comes with onnxruntime-node
 * @param koffi name of the package that calls C
 * @throws DeviceError naming the file, what it is and what is needed
 */
export async function loadOrtLibrary(path?: string, koffi = 'koffi'): Promise<OrtLibrary> {
  const asked = path ?? bundledLibrary();
  const real = await realpath(asked).catch((cause: unknown) => {
    throw notUsable(asked, 'there is no such file', cause);
  });
  const known = LOADED.get(real);
  if (known !== undefined) return known;
  const loading = load(asked, koffi);
  LOADED.set(real, loading);
  loading.catch(() => LOADED.delete(real));
  return loading;
}

async function load(path: string, koffiName: string): Promise<OrtLibrary> {
  const koffi = await loadKoffi(koffiName);
  await expectFitting(path);
  disableTelemetry();
  const native = open(koffi, path);
  const { table, version, level } = versionOf(koffi, native, path);
  let api: OrtApi;
  try {
    api = bindApi(koffi, table, level);
  } catch (cause) {
    throw notUsable(path, cause instanceof Error ? cause.message : String(cause), cause);
  }
  const slot = new BigUint64Array(1);
  const made = (create: () => void): Pointer => {
    create();
    return slot[0] ?? null;
  };
  let last: Promise<unknown> = Promise.resolve();
  const library = {
    koffi,
    api,
    path,
    version,
    folder: dirname(await realpath(path)),
    env: made(() => api.call('CreateEnv', FATAL, 'edge-detect', slot)),
    memoryInfo: made(() => api.call('CreateCpuMemoryInfo', ARENA_ALLOCATOR, DEFAULT_MEMORY, slot)),
    allocator: made(() => api.call('GetAllocatorWithDefaultOptions', slot)),
    native,
    oneAtATime: <T>(task: () => Promise<T>): Promise<T> => {
      const run = last.then(task, task);
      last = run.catch(() => undefined);
      return run;
    },
  };
  if (isMainThread) endQuietly(koffi, api);
  return library;
}

/** @throws DeviceError where the optional package is not installed or has nothing for this machine */
async function loadKoffi(name: string): Promise<KoffiModule> {
  try {
    const loaded = (await import(name)) as { readonly default: KoffiModule };
    const koffi = loaded.default;
    if (koffi.config().async_stack_size !== STACK_BYTES)
      koffi.config({ async_stack_size: STACK_BYTES, sync_stack_size: STACK_BYTES });
    return koffi;
  } catch (cause) {
    const why = cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : String(cause);
    throw new DeviceError(`the package koffi, which calls ONNX Runtime, is not usable here: ${why}`, {
      hint: 'npm install koffi (version 3), or leave ort_library= away and use device=cpu',
      cause,
    });
  }
}

/** Linux' loader does not say for which machine a file was made, and reads a folder as a broken library. */
async function expectFitting(path: string): Promise<void> {
  if ((await stat(path)).isDirectory()) {
    const [inside] = readdirSync(path).filter((name) => LIBRARY_NAME.test(name));
    throw notUsable(
      path,
      `it is a folder${inside === undefined ? '' : `: name the file, ${join(path, inside)}`}`,
    );
  }
  if (process.platform !== 'linux') return;
  const kind = await libraryKind(path);
  if (kind === undefined) throw notUsable(path, 'it is no library for Linux (no ELF header)');
  if (kind.arch === process.arch && kind.bits === 64) return;
  throw notUsable(
    path,
    `it is for ${kind.arch} (${kind.bits} bits), and this Node is for ${process.arch} (64 bits)`,
  );
}

type NativeLibrary = ReturnType<KoffiModule['load']>;

function open(koffi: KoffiModule, path: string): NativeLibrary {
  try {
    return koffi.load(path);
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause);
    // Node's loader names the library that is lacking, koffi's words have lost it.
    throw notUsable(path, loadFault(path) ?? words, cause);
  }
}

function versionOf(
  koffi: KoffiModule,
  native: NativeLibrary,
  path: string,
): { readonly table: bigint; readonly version: string; readonly level: number } {
  let base: Pointer;
  try {
    base = native.func('OrtGetApiBase', 'void *', [])();
  } catch (cause) {
    throw notUsable(path, 'it is a library, but not ONNX Runtime (no OrtGetApiBase in it)', cause);
  }
  const version = String(koffi.decode(koffi.decode(base, 8, 'void *'), koffi.proto('str', []))());
  const [, major = '0', minor = '0'] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  // Asked for a level that it lacks the runtime writes to standard error, so its version is read first.
  const level = Number(major) > 1 ? PLACEMENT_LEVEL : Math.min(Number(minor), PLACEMENT_LEVEL);
  const getApi = koffi.decode(koffi.decode(base, 0, 'void *'), koffi.proto('void *', ['uint32']));
  const table: Pointer = level >= LOWEST_LEVEL ? getApi(level) : null;
  if (table === null) {
    throw notUsable(path, `it is ONNX Runtime ${version}, and 1.${LOWEST_LEVEL} or newer is needed`);
  }
  return { table, version, level };
}

const LIBRARY_NAME = /^(lib)?onnxruntime(\.so(\.\d+)*|\.\d[\d.]*\.dylib|\.dylib|\.dll)$/;

function bundledLibrary(): string {
  const folder = ortFolder();
  const [name] = readdirSync(folder).filter((file) => LIBRARY_NAME.test(file));
  if (name !== undefined) return join(folder, name);
  throw new DeviceError(`onnxruntime-node has no library in ${folder}`, {
    hint: 'npm install onnxruntime-node again, or name a library with ort_library=',
  });
}

function notUsable(path: string, why: string, cause?: unknown): DeviceError {
  return new DeviceError(`ort_library=${path} cannot be used: ${why}`, {
    hint: `name a libonnxruntime of 1.${LOWEST_LEVEL} or newer for ${process.platform}-${process.arch} with ort_library= or ORT_DYLIB_PATH; \`edge-detect devices\` says where a board gets one`,
    cause,
  });
}

/**
 * A program that exits while another thread is inside the runtime would tear down what that thread works with, and
 * often ends with a crash report in place of its exit code. Then the process ends at once, after the other listeners.
 */
function endQuietly(koffi: KoffiModule, api: OrtApi): void {
  if (process.platform === 'win32') return;
  const exitAtOnce = koffi.load(null).func('_exit', 'void', ['int']);
  const listener = (code: number): void => {
    if (api.underWay() === 0) return;
    const listeners = process.listeners('exit');
    for (const later of listeners.slice(listeners.indexOf(listener) + 1)) later.call(process, code);
    exitAtOnce(code);
  };
  process.on('exit', listener);
}
