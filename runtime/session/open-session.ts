// Which kind of session runs a graph: one place, so that every command understands the same devices.
import { DeviceError } from '#core';
import { prepareOrtNodeSession } from './ort-node.ts';
import { type PreparedSession, providerName, type SessionOptions } from './session.ts';

/** @throws DeviceError where no kind of session knows the provider */
export function prepareSession({
  provider,
  ortLibrary,
}: Pick<SessionOptions, 'provider' | 'ortLibrary'>): PreparedSession {
  if (provider.kind === 'kserve' || provider.kind === 'tensorrt' || provider.kind === 'dla' || ortLibrary) {
    throw new DeviceError(`device=${providerName(provider)} is not part of this version`, {
      hint: 'use device=cpu, device=0 for CUDA on x86-64 Linux, or device=auto',
    });
  }
  return prepareOrtNodeSession();
}
