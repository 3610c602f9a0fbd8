// The options of one session, made and freed: threads, configuration entries and the provider.

import { configurationEntries } from '../ort-options.ts';
import type { Provider } from '../session.ts';
import type { Pointer } from './api.ts';
import type { OrtLibrary } from './library.ts';
import { placementEntries } from './placement.ts';

export interface NativeOptions {
  readonly provider: Provider;
  readonly threads: number;
  /** Beside those that every session has. */
  readonly entries?: Readonly<Record<string, string>>;
  readonly profilePrefix?: string;
}

const SEQUENTIAL = 0;
const ALL_OPTIMIZATIONS = 99;
const FATAL = 4;

/** @param use gets options that are freed when it has ended */
export async function withSessionOptions<T>(
  { api }: OrtLibrary,
  { provider, threads, entries, profilePrefix }: NativeOptions,
  use: (options: Pointer) => Promise<T>,
): Promise<T> {
  const slot = new BigUint64Array(1);
  api.call('CreateSessionOptions', slot);
  const options = slot[0] ?? null;
  try {
    api.call('SetSessionExecutionMode', options, SEQUENTIAL);
    api.call('SetSessionGraphOptimizationLevel', options, ALL_OPTIMIZATIONS);
    api.call('SetSessionLogSeverityLevel', options, FATAL);
    api.call('SetIntraOpNumThreads', options, threads);
    api.call('SetInterOpNumThreads', options, 1);
    const all = { ...configurationEntries(provider), ...placementEntries(api), ...entries };
    for (const [key, value] of Object.entries(all)) api.call('AddSessionConfigEntry', options, key, value);
    if (profilePrefix !== undefined) api.call('EnableProfiling', options, profilePrefix);
    return await use(options);
  } finally {
    api.release('SessionOptions', options);
  }
}
