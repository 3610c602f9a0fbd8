// Which kind of session runs a graph: one place, so that every command understands the same devices.
import { ConfigError } from '#core';
import { prepareKServeSessions } from './kserve/kserve-session.ts';
import { prepareOrtFfiSession } from './ort-ffi.ts';
import { prepareOrtNodeSession } from './ort-node.ts';
import type { PreparedSession, SessionOptions } from './session.ts';

type Choice = Pick<SessionOptions, 'provider' | 'ortLibrary' | 'providerOptions'>;

/**
 * @param count sessions side by side, for one graph: those on a server share their connection
 * @throws as `prepareSession`
 */
export function prepareSessions(choice: Choice, count: number): readonly PreparedSession[] {
  if (choice.provider.kind === 'kserve') return prepareServed(choice, choice.provider.url, count);
  return Array.from({ length: count }, () => prepareSession(choice));
}

/**
 * onnxruntime-node where it does all that is asked for; it has no TensorRT for a board and hands no options on.
 * @throws ConfigError for an address that is none
 */
export function prepareSession(choice: Choice): PreparedSession {
  const { provider, ortLibrary, providerOptions } = choice;
  if (provider.kind === 'kserve') return prepareServed(choice, provider.url, 1)[0] as PreparedSession;
  const needsOptions = providerOptions !== undefined && providerOptions.size > 0;
  if (provider.kind === 'tensorrt' || provider.kind === 'dla' || ortLibrary !== undefined || needsOptions) {
    return prepareOrtFfiSession(ortLibrary);
  }
  return prepareOrtNodeSession();
}

function prepareServed({ ortLibrary }: Choice, url: string, count: number): readonly PreparedSession[] {
  if (ortLibrary === undefined) return prepareKServeSessions(url, count);
  throw new ConfigError('ort_library= is of this machine, and device=kserve://… runs on a server', {
    hint: 'leave one of them away',
  });
}
