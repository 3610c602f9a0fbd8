// The libonnxruntime that comes with npm's package, and those of older releases where they are installed.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { olderRuntime, PINNED_RUNTIME } from './older-runtimes.ts';

/** The library that onnxruntime-node itself loads. */
export const BUNDLED = 'bundled';

/** @returns path of the library of a release, undefined where it is not installed */
export function ortLibrary(version: string): string | undefined {
  const folder = version === BUNDLED ? PINNED_RUNTIME : olderRuntime(version);
  if (folder === undefined) return undefined;
  const bin = join(folder, 'bin');
  for (const api of readdirSync(bin)) {
    const place = join(bin, api, process.platform, process.arch);
    const name = readdirSync(place).find((file) => /^libonnxruntime\.(so\.1|.*dylib)/.test(file));
    if (name !== undefined) return join(place, name);
  }
  return undefined;
}
