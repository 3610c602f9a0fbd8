// ONNX Runtime's complaints as errors that say what to do, the same for every door to it.
import { DeviceError, ModelError } from '#core';
import { acceleratorHint, missingProviderLibrary } from './missing-library.ts';
import { type Provider, providerName } from './session.ts';

export function runError(message: string): ModelError {
  return new ModelError(`the model failed while running: ${firstLine(message)}`, {
    hint: 'check the input size (imgsz=) and that the file is a whole export; `edge-detect inspect model=…` shows what it expects',
  });
}

/** @param folder of the libraries that were asked; that of onnxruntime-node by default */
export function openError(message: string, modelName: string, provider: Provider, folder?: string): Error {
  if (provider.kind !== 'cpu') return providerError(message, provider, folder);
  const missing = /Could not find an implementation for (\S+) node with name:? ?'?([^' ]*)/.exec(message);
  if (missing !== null) {
    return new ModelError(`${modelName}: this runtime has no kernel for ${missing[1]} (node ${missing[2]})`, {
      hint: 'export the model in float32, or quantised statically (QDQ), and try again',
    });
  }
  return new ModelError(`${modelName}: ONNX Runtime cannot load the graph: ${firstLine(message)}`, {
    hint: 'export the model again (opset 17 is understood everywhere) and check that the file is whole',
  });
}

/** A provider that cannot be used, with the library that is lacking where one is. */
export function providerError(message: string, provider: Provider, folder?: string): DeviceError {
  const missing = missingProviderLibrary(provider, folder);
  const name = providerName(provider);
  const onCpu = /assigned to the default CPU EP/i.test(message);
  const why = onCpu
    ? 'parts of the graph would run on the CPU there, and that is not what was asked for'
    : (missing ?? firstLine(message));
  const recipe = missing === undefined && provider.kind !== 'webgpu' ? '' : `${acceleratorHint(provider)}; `;
  return new DeviceError(`${name} is not usable here: ${why}`, {
    hint: `${recipe}\`edge-detect devices\` shows what is usable; device=cpu always works`,
  });
}

/** Faults of the runtime come with places in its source before, and stack traces after what they say. */
function firstLine(text: string): string {
  const line = text.split('\n', 1)[0]?.trim() ?? '';
  return line.replace(/^\/\S*:\d+ .* was false\. /, '');
}
