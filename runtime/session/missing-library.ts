// Names the library that keeps a provider from loading: ONNX Runtime only says that one could not be loaded.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Provider } from './session.ts';

const SHARED = 'libonnxruntime_providers_shared.so';
const PROVIDERS = {
  cuda: 'libonnxruntime_providers_cuda.so',
  tensorrt: 'libonnxruntime_providers_tensorrt.so',
} as const;

/** TensorRT of a Jetson loads it when it is itself loaded; some containers and JetPack 7.2 lack it. */
const DLA_COMPILER = 'libnvdla_compiler.so';

/**
 * Asked after a session could not be opened, never before: it loads libraries to hear what they lack.
 * @param folder where the libraries of ONNX Runtime lie; that of onnxruntime-node by default
 * @returns undefined where nothing is found missing, or on systems whose libraries have other names
 */
export function missingProviderLibrary({ kind }: Provider, folder = ortFolder()): string | undefined {
  const name = kind === 'dla' ? 'tensorrt' : kind;
  if (process.platform !== 'linux' || (name !== 'cuda' && name !== 'tensorrt')) return undefined;
  const libraries = [SHARED, PROVIDERS[name]];
  const absent = libraries.filter((library) => !existsSync(join(folder, library)));
  if (absent.length > 0)
    return `${absent.join(' and ')} ${absent.length > 1 ? 'are' : 'is'} not in ${folder}`;
  for (const library of libraries) {
    const fault = loadFault(join(folder, library));
    if (fault !== undefined) return fault;
  }
  return kind === 'dla' ? loadFault(DLA_COMPILER) : undefined;
}

/** How an accelerator comes to this machine, if at all. */
export function acceleratorHint({ kind }: Provider): string {
  switch (kind) {
    case 'tensorrt':
    case 'dla':
      return `take a libonnxruntime.so that was built with TensorRT (${kind === 'dla' ? "the Jetson's" : 'on a Jetson the one for its JetPack'}), keep its libonnxruntime_providers_*.so beside it, and name it with ort_library=`;
    case 'webgpu':
      return 'install a Vulkan driver for the GPU (on Linux; Metal and Direct3D 12 elsewhere)';
    default:
      return cudaHint();
  }
}

/** How CUDA comes to this machine, if at all. */
export function cudaHint(): string {
  return process.platform === 'linux' && process.arch === 'x64'
    ? 'install CUDA 12, cuDNN 9 and the GPU files of onnxruntime-node (npm rebuild onnxruntime-node --onnxruntime-node-install=cuda12)'
    : 'onnxruntime-node comes with CUDA for x86-64 Linux only: name a libonnxruntime.so that was built for this board with ort_library=';
}

/** Where the libraries of onnxruntime-node lie. */
export function ortFolder(): string {
  const main = createRequire(import.meta.url).resolve('onnxruntime-node');
  return join(dirname(main), '..', 'bin', 'napi-v6', process.platform, process.arch);
}

/** The loader's words where a library cannot be loaded, `libcudnn.so.9: cannot open shared object file` for example. */
export function loadFault(path: string): string | undefined {
  try {
    process.dlopen({ exports: {} }, path);
    return undefined;
  } catch (fault) {
    const words = fault instanceof Error ? (fault.message.split('\n', 1)[0] ?? '') : String(fault);
    // It was loaded, and is no module of Node.
    return /did not self-register/i.test(words) ? undefined : words;
  }
}
