// Names the library that keeps the CUDA provider from loading: ONNX Runtime only says that one could not be loaded.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const LIBRARIES = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'];

/**
 * Asked after a session could not be opened, never before: it loads libraries to hear what they lack.
 * @param folder where the libraries of ONNX Runtime lie; that of onnxruntime-node by default
 * @returns undefined where nothing is found missing, or on systems whose libraries have other names
 */
export function missingCudaLibrary(folder = ortFolder()): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const absent = LIBRARIES.filter((library) => !existsSync(join(folder, library)));
  if (absent.length > 0)
    return `${absent.join(' and ')} ${absent.length > 1 ? 'are' : 'is'} not in ${folder}`;
  for (const library of LIBRARIES) {
    const fault = loadFault(join(folder, library));
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** How CUDA comes to this machine, if at all. */
export function cudaHint(): string {
  return process.platform === 'linux' && process.arch === 'x64'
    ? 'install CUDA 12, cuDNN 9 and the GPU files of onnxruntime-node (npm rebuild onnxruntime-node --onnxruntime-node-install=cuda12)'
    : 'onnxruntime-node comes with CUDA for x86-64 Linux only; use device=cpu';
}

function ortFolder(): string {
  const main = createRequire(import.meta.url).resolve('onnxruntime-node');
  return join(dirname(main), '..', 'bin', 'napi-v6', process.platform, process.arch);
}

/** The loader's words, `libcudnn.so.9: cannot open shared object file` for example. */
function loadFault(path: string): string | undefined {
  try {
    process.dlopen({ exports: {} }, path);
    return undefined;
  } catch (fault) {
    const words = fault instanceof Error ? (fault.message.split('\n', 1)[0] ?? '') : String(fault);
    // It was loaded, and is no module of Node.
    return /did not self-register/i.test(words) ? undefined : words;
  }
}
