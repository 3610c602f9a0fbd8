// A session in the calling thread, for a worker that keeps tensors of its own between runs.
// A run blocks the thread: never open one on the main thread of a program.
import type { LocalSession, LocalSessionOptions } from './local-types.ts';

export type { LocalSession, LocalSessionOptions, LocalTensor } from './local-types.ts';

/**
 * @param model bytes of an ONNX file with float32 inputs and outputs
 * @throws Error in the runtime's words when the graph cannot be loaded or the provider cannot be used
 */
export async function openLocalSession(
  model: Uint8Array,
  options: LocalSessionOptions,
): Promise<LocalSession> {
  // One of the two alone: a process should not hold two releases of the runtime.
  if (options.ortLibrary === undefined) {
    const { openOrtNodeLocally } = await import('./ort-node-local.ts');
    return openOrtNodeLocally(model, options);
  }
  const { openOrtFfiLocally } = await import('./ort-ffi-local.ts');
  return openOrtFfiLocally(model, options);
}
