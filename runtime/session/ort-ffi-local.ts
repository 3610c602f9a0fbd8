// The session of any libonnxruntime that `openLocalSession` opens.
import { loadOrtLibrary } from './ffi/library.ts';
import type { LocalSession, LocalSessionOptions, LocalTensor } from './local-types.ts';
import { LOCAL_ENTRIES } from './local-types.ts';
import { openNative } from './ort-ffi.ts';

export async function openOrtFfiLocally(
  model: Uint8Array,
  options: LocalSessionOptions,
): Promise<LocalSession> {
  const library = await loadOrtLibrary(options.ortLibrary);
  const native = await openNative(library, model, 'the graph', {
    ...options,
    entries: LOCAL_ENTRIES,
    inThisThread: true,
  });
  return {
    outputNames: native.outputs.map(({ name }) => name),
    async run(feeds) {
      const results = await native.run(feeds);
      return new Map(
        [...results].map(([name, { shape, data }]): [string, LocalTensor] => {
          if (!(data instanceof Float32Array)) throw new Error(`the runtime gave no float32 output ${name}`);
          return [name, { shape, data: data as Float32Array<ArrayBuffer> }];
        }),
      );
    },
    async release() {
      if (options.profilePrefix !== undefined) native.endProfiling();
      native.release();
    },
  };
}
