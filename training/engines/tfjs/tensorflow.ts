// Which TensorFlow.js computes: a native binding that the user installed, or WebAssembly with gradient kernels of ours.
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import type * as tensorflow from '@tensorflow/tfjs';
import { DeviceError } from '#core';
import type { EnginePlan } from '../engine.ts';
import { registerWasmKernels } from './kernels/index.ts';

export type Tensorflow = (typeof tensorflow)['default'];
export type Tensor = tensorflow.Tensor;
/** [N, H, W, C], or a kernel [kh, kw, C, K]. */
export type Tensor4 = tensorflow.Tensor4D;

/** `wasm` runs anywhere, `tfjs-node` on the CPU, `tfjs-node-gpu` on an NVIDIA GPU with CUDA 11.2. */
export type TfjsBackend = 'wasm' | 'tfjs-node' | 'tfjs-node-gpu';

export interface LoadedTensorflow {
  readonly tf: Tensorflow;
  /** Name of the backend as TensorFlow.js knows it. */
  readonly backendName: string;
  readonly plan: EnginePlan;
}

/** The release that the engine is written for; the last one there is. */
const VERSION = '4.22.0';
const CUDA_NEEDED = 'it is built for CUDA 11.2 with cuDNN 8.1 and looks for exactly these libraries';

/**
 * @param searchFrom file beside whose `node_modules` the binding is looked for
 * @throws DeviceError naming what is missing: a package, a library, a GPU
 */
export async function loadTensorflow(
  backend: TfjsBackend,
  searchFrom: string = import.meta.url,
): Promise<LoadedTensorflow> {
  return backend === 'wasm' ? loadWasm() : loadBinding(backend, searchFrom);
}

async function loadWasm(): Promise<LoadedTensorflow> {
  let tf: Tensorflow;
  try {
    tf = (await import('@tensorflow/tfjs')).default;
    await import('@tensorflow/tfjs-backend-wasm');
  } catch (cause) {
    throw new DeviceError(`TensorFlow.js cannot be loaded: ${messageOf(cause)}`, {
      hint: `npm install @tensorflow/tfjs@${VERSION} @tensorflow/tfjs-backend-wasm@${VERSION}`,
      cause,
    });
  }
  if (!(await tf.setBackend('wasm'))) {
    throw new DeviceError('the WebAssembly backend of TensorFlow.js does not start here', {
      hint: 'use engine=onnx device=cpu',
    });
  }
  registerWasmKernels(tf);
  return { tf, backendName: 'wasm', plan: { engine: 'tfjs', backend: 'wasm', threads: 1, workers: 1 } };
}

async function loadBinding(
  backend: 'tfjs-node' | 'tfjs-node-gpu',
  searchFrom: string,
): Promise<LoadedTensorflow> {
  const name = `@tensorflow/${backend}`;
  const load = createRequire(searchFrom);
  let tf: Tensorflow;
  try {
    provideOldUtilities(load);
    tf = load(name) as Tensorflow;
  } catch (cause) {
    throw cannotLoad(backend, name, cause);
  }
  await tf.setBackend('tensorflow');
  const gpu = backend === 'tfjs-node-gpu';
  if (gpu && (tf.backend() as { isUsingGpuDevice?: boolean }).isUsingGpuDevice !== true) {
    throw new DeviceError(`${name} is installed, but TensorFlow found no GPU to use; ${CUDA_NEEDED}`, {
      hint: 'install the CUDA 11.2 and cuDNN 8.1 libraries and the NVIDIA driver, or use engine=onnx',
    });
  }
  const plan = { engine: 'tfjs', threads: availableParallelism(), workers: 1 } as const;
  return { tf, backendName: 'tensorflow', plan: { ...plan, backend: gpu ? 'tensorflow-gpu' : 'tensorflow' } };
}

/** Node 23 and later removed two functions of `util` that the binding calls at every operation. */
function provideOldUtilities(load: NodeJS.Require): void {
  const utilities = load('node:util') as Record<string, unknown>;
  utilities['isNullOrUndefined'] ??= (value: unknown) => value === null || value === undefined;
  utilities['isArray'] ??= Array.isArray;
}

function cannotLoad(backend: 'tfjs-node' | 'tfjs-node-gpu', name: string, cause: unknown): DeviceError {
  const missing = messageOf(cause).includes(`Cannot find module '${name}'`);
  const why = missing ? 'is not installed' : `cannot be loaded: ${messageOf(cause)}`;
  const needs = backend === 'tfjs-node-gpu' ? `; ${CUDA_NEEDED}` : '';
  return new DeviceError(`the package ${name} ${why}${needs}`, {
    hint: `npm install ${name}@${VERSION}, or use engine=onnx, which needs no further package`,
    cause,
  });
}

/** Of a loader's error the first line; the rest is a list of files. */
function messageOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.split('\n')[0] ?? message;
}
