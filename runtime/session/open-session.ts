// Which kind of session runs a graph: one place, so that every command understands the same devices.
import { DeviceError } from '#core';
import { prepareOrtFfiSession } from './ort-ffi.ts';
import { prepareOrtNodeSession } from './ort-node.ts';
import { type PreparedSession, providerName, type SessionOptions } from './session.ts';

/**
 * onnxruntime-node where it does all that is asked for; it has no TensorRT for a board and hands no options on.
 * @throws DeviceError where no kind of session knows the provider
 */
export function prepareSession({
  provider,
  ortLibrary,
  providerOptions,
}: Pick<SessionOptions, 'provider' | 'ortLibrary' | 'providerOptions'>): PreparedSession {
  if (provider.kind === 'kserve') {
    throw new DeviceError(`device=${providerName(provider)} is not part of this version`, {
      hint: 'use device=cpu, device=0 for CUDA on x86-64 Linux, or device=auto',
    });
  }
  const needsOptions = providerOptions !== undefined && providerOptions.size > 0;
  if (provider.kind === 'tensorrt' || provider.kind === 'dla' || ortLibrary !== undefined || needsOptions) {
    return prepareOrtFfiSession(ortLibrary);
  }
  return prepareOrtNodeSession();
}
