// The options that every session of ONNX Runtime is opened with, for inference and for training.
import type { InferenceSession } from 'onnxruntime-node';
import type { Provider } from './session.ts';

/** @param extra configuration entries of one kind of session */
export function ortSessionOptions(
  { provider, threads }: { readonly provider: Provider; readonly threads: number },
  extra: Readonly<Record<string, string>>,
): InferenceSession.SessionOptions {
  return {
    executionProviders: [
      'index' in provider ? { name: provider.kind, deviceId: provider.index } : provider.kind,
    ],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    logSeverityLevel: 4,
    extra: { ...configurationEntries(provider), ...extra },
  };
}

/** Entries that do not depend on who calls the runtime. */
export function configurationEntries(provider: Provider): Readonly<Record<string, string>> {
  return {
    // Spinning threads would burn the cores that decode the video and draw the next batch.
    'session.intra_op.allow_spinning': '0',
    'session.inter_op.allow_spinning': '0',
    // Asked for is used or fails: no node may fall to the CPU in silence.
    ...(provider.kind === 'cpu' ? {} : { 'session.disable_cpu_ep_fallback': '1' }),
  };
}
