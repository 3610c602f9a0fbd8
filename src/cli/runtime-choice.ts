// `ort_library=` and `provider_options=`: which ONNX Runtime runs a graph, and what its provider is told.
import { ConfigError } from '#core';
import type { ModelOptions, Provider } from '#runtime';
import type { Config } from './config.ts';
import { say } from './output.ts';

export type RuntimeChoice = Pick<ModelOptions, 'ortLibrary' | 'providerOptions' | 'onNote'>;

/**
 * The environment's library is for sessions of this machine; a server has its own.
 * @throws ConfigError for an option that is not `name:value`, or for a device that takes none
 */
export function readRuntimeChoice(config: Config, ...providers: readonly Provider[]): RuntimeChoice {
  const isServed = providers.length > 0 && providers.every(({ kind }) => kind === 'kserve');
  const options = readProviderOptions(config);
  if (isServed && options !== undefined) {
    throw new ConfigError('provider_options= is for devices of this machine, not for a server', {
      hint: 'leave it away, or name a device of this machine',
    });
  }
  const library = config.text('ort_library') ?? (isServed ? undefined : environmentLibrary());
  return {
    ...(library !== undefined && { ortLibrary: library }),
    ...(options && { providerOptions: options }),
    onNote: say,
  };
}

/** `ORT_DYLIB_PATH`, as other programs that load ONNX Runtime read it; empty counts as not set. */
export function environmentLibrary(): string | undefined {
  return process.env['ORT_DYLIB_PATH'] || undefined;
}

function readProviderOptions(config: Config): ReadonlyMap<string, string> | undefined {
  const words = config.list('provider_options');
  if (words === undefined) return undefined;
  return new Map(
    words.map((word) => {
      const [, name, value] = /^\s*([\w.]+)\s*[:=]\s*(.*?)\s*$/.exec(word) ?? [];
      if (name !== undefined && value !== undefined && value !== '') return [name, value];
      throw new ConfigError(`provider_options: '${word}' is not name:value`, {
        hint: 'write provider_options=trt_fp16_enable:1,trt_builder_optimization_level:5',
      });
    }),
  );
}
