// Which kind of session runs a graph: one place, so that every command understands the same devices.
import { ConfigError, DeviceError } from '#core';
import { prepareKServeSessions } from './kserve/kserve-session.ts';
import { prepareOrtNodeSession } from './ort-node.ts';
import { type PreparedSession, providerName, type SessionOptions } from './session.ts';

type Choice = Pick<SessionOptions, 'provider' | 'ortLibrary'>;

/**
 * @param count sessions side by side, for one graph: those on a server share their connection
 * @throws as `prepareSession`
 */
export function prepareSessions(choice: Choice, count: number): readonly PreparedSession[] {
  if (choice.provider.kind === 'kserve') return prepareServed(choice, choice.provider.url, count);
  return Array.from({ length: count }, () => prepareSession(choice));
}

/** @throws DeviceError where no kind of session knows the provider, ConfigError for an address that is none */
export function prepareSession(choice: Choice): PreparedSession {
  const { provider, ortLibrary } = choice;
  if (provider.kind === 'kserve') return prepareServed(choice, provider.url, 1)[0] as PreparedSession;
  if (provider.kind === 'tensorrt' || provider.kind === 'dla' || ortLibrary) {
    throw new DeviceError(`device=${providerName(provider)} is not part of this version`, {
      hint: 'use device=cpu, device=0 for CUDA on x86-64 Linux, or device=auto',
    });
  }
  return prepareOrtNodeSession();
}

function prepareServed({ ortLibrary }: Choice, url: string, count: number): readonly PreparedSession[] {
  if (ortLibrary === undefined) return prepareKServeSessions(url, count);
  throw new ConfigError('ort_library= is of this machine, and device=kserve://… runs on a server', {
    hint: 'leave one of them away',
  });
}
