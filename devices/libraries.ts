// Looks for the libraries that a GPU needs: by their names in the folders where they are installed, without loading any.
import { open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export interface FoundLibrary {
  /** `libnvinfer` */
  readonly name: string;
  /** As its file name says it, the longest one: `10.3.0`; '' for a bare `.so`. */
  readonly version: string;
  readonly path: string;
}

export interface OrtFolder {
  readonly folder: string;
  /** Of libonnxruntime, as its symbols say it. */
  readonly version?: string;
  /** Providers whose library lies there: `cuda`, `tensorrt`. */
  readonly providers: readonly string[];
}

/** Relative to the root; `lib64` and version folders of CUDA's own installer included. */
const FOLDERS = [
  'usr/lib/aarch64-linux-gnu',
  'usr/lib/aarch64-linux-gnu/nvidia',
  'usr/lib/aarch64-linux-gnu/tegra',
  'usr/lib/x86_64-linux-gnu',
  'usr/lib64',
  'usr/local/cuda/lib64',
  'usr/local/cuda/targets/aarch64-linux/lib',
  'usr/local/cuda/targets/x86_64-linux/lib',
  'usr/local/lib',
];

const GPU_LIBRARIES = ['libcuda', 'libcudart', 'libcublas', 'libcudnn', 'libnvinfer', 'libnvdla_compiler'];

/** @param root where the system's files lie, with a slash at its end */
export async function findLibraries(
  root: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<readonly FoundLibrary[]> {
  const extra = (environment['LD_LIBRARY_PATH'] ?? '').split(':').filter((folder) => folder !== '');
  const best = new Map<string, FoundLibrary>();
  for (const folder of [...extra, ...FOLDERS.map((relative) => join(root, relative))]) {
    for (const file of await names(folder)) {
      const match = /^(lib\w+)\.so(?:\.([\d.]+))?$/.exec(file);
      const [, name = '', version = ''] = match ?? [];
      if (!GPU_LIBRARIES.includes(name) || version.length < (best.get(name)?.version.length ?? 0)) continue;
      if (best.get(name)?.version !== version || !best.has(name))
        best.set(name, { name, version, path: join(folder, file) });
    }
  }
  return GPU_LIBRARIES.flatMap((name) => best.get(name) ?? []);
}

/** @param library a libonnxruntime.so; nothing is loaded */
export async function inspectOrtLibrary(library: string): Promise<OrtFolder | undefined> {
  const folder = dirname(library);
  const files = await names(folder);
  if (!files.includes(basename(library))) return undefined;
  const providers = files.flatMap((file) => /^libonnxruntime_providers_(\w+)\.so/.exec(file)?.[1] ?? []);
  const version = await symbolVersion(library);
  return {
    folder,
    providers: [...new Set(providers)].filter((name) => name !== 'shared'),
    ...(version !== undefined && { version }),
  };
}

/** All its symbols carry `VERS_1.23.2`. */
async function symbolVersion(path: string): Promise<string | undefined> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const chunk = Buffer.alloc(1 << 20);
    let carried = '';
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) return undefined;
      const text = carried + chunk.toString('latin1', 0, bytesRead);
      const version = /VERS_(\d+\.\d+\.\d+)/.exec(text)?.[1];
      if (version !== undefined) return version;
      carried = text.slice(-32);
    }
  } finally {
    await file.close();
  }
}

async function names(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
