// An ONNX file of one node that stands for a built engine: the door through which ONNX Runtime loads it.
import { basename, parse } from 'node:path';
import { copyMessage, graph, graphOf, type ModelProto, model, node } from '#onnx';
import type { EngineKey } from '#runtime';

/**
 * Inputs, outputs and metadata are those of the model, so that the preprocessing contract stays with it. ONNX Runtime
 * wants the engine beside the wrapper, by a relative path, and only warns of another architecture; it has known such
 * files since 1.17.
 */
export function engineWrapper(
  source: ModelProto,
  {
    engine,
    onnx,
    key,
  }: {
    readonly engine: string;
    readonly onnx: string;
    readonly key: Pick<EngineKey, 'tensorrt' | 'computeCapability'>;
  },
): ModelProto {
  const { input, output, name } = graphOf(source);
  const attributes = {
    main_context: 1n,
    embed_mode: 0n,
    ep_cache_context: basename(engine),
    source: 'TensorrtExecutionProvider',
    partition_name: parse(engine).name,
    // 8.7 is written 87, as the provider compares it.
    hardware_architecture: key.computeCapability.replace('.', ''),
    ep_sdk_version: key.tensorrt,
    onnx_model_filename: basename(onnx),
  };
  const names = (infos: typeof input) => infos.map((info) => info.name);
  const context = copyMessage(node('EPContext', names(input), names(output), attributes), {
    domain: 'com.microsoft',
    name: 'engine',
  });
  const made = model(graph({ name, nodes: [context], inputs: input, outputs: output }));
  const [standard] = made.opsetImport;
  return copyMessage(made, {
    opsetImport: [
      ...made.opsetImport,
      ...(standard ? [copyMessage(standard, { domain: 'com.microsoft', version: 1n })] : []),
    ],
    metadataProps: source.metadataProps,
  });
}
