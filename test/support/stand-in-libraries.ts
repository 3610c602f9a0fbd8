// Shared libraries that are compiled for a test: releases of ONNX Runtime that nobody has at hand, and providers that
// lack what they are linked against.
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;

/** @param words of `cc` after the source, `-Wl,-soname,libnvinfer.so.10` for example */
export function compileLibrary(path: string, source: string, words: readonly string[] = []): void {
  const file = `${path}.c`;
  writeFileSync(file, source);
  const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-o', path, file, ...words], {
    encoding: 'utf8',
  });
  rmSync(file);
  if (status !== 0) throw new Error(stderr);
}

/** A library that answers like ONNX Runtime of a release that has no table for us. */
export function compileOldRuntime(path: string, version: string): void {
  compileLibrary(
    path,
    `static const void *table(unsigned level) { (void)level; return 0; }
     static const char *version(void) { return "${version}"; }
     static const struct { const void *(*get)(unsigned); const char *(*version)(void); } base = { table, version };
     const void *OrtGetApiBase(void) { return &base; }`,
  );
}

/** A provider whose library is there and needs another that is not: what `libnvinfer.so.10` is to TensorRT's. */
export function compileLacking(folder: string, name: string, needed: string): void {
  const lacking = join(folder, needed);
  compileLibrary(lacking, 'int needed(void) { return 1; }', [`-Wl,-soname,${needed}`]);
  compileLibrary(join(folder, name), 'int needed(void); int provided(void) { return needed(); }', [lacking]);
  rmSync(lacking);
}
