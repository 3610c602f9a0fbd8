// Weights that lie in files beside the model, taken into it, so that passes can read them and one file goes out.
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelError } from '#core';
import { copyMessage, graphOf, withGraph } from './graph.ts';
import type { OnnxModelFile } from './load.ts';
import type { ModelProto, TensorProto } from './proto/onnx_pb.ts';
import { TensorProto_DataLocation as DataLocation } from './proto/onnx_pb.ts';
import { isExternal } from './tensor.ts';

/** What fits into one protobuf file, with room for the graph. */
const MOST_BYTES = 2 ** 31 - 2 ** 24;

/**
 * @returns the same model where nothing lies outside
 * @throws ModelError where the weights are too large for one file, or lie in a sub-graph or an attribute
 */
export async function embedExternalData(file: OnnxModelFile): Promise<ModelProto> {
  const { model, externalDataFolder, path } = file;
  if (externalDataFolder === undefined) return model;
  const graph = graphOf(model);
  const outside = graph.initializer.filter(isExternal);
  const bytes = outside.reduce((sum, tensor) => sum + placeOf(tensor).length, 0);
  if (bytes > MOST_BYTES) {
    throw new ModelError(`${path}: its weights are ${bytes} bytes, more than one ONNX file holds (2 GiB)`, {
      hint: 'export a smaller model',
    });
  }
  const initializer: TensorProto[] = [];
  for (const tensor of graph.initializer) {
    initializer.push(isExternal(tensor) ? await embedded(tensor, externalDataFolder) : tensor);
  }
  return withGraph(model, { initializer });
}

function placeOf({ name, externalData }: TensorProto) {
  const fields = new Map(externalData.map(({ key, value }) => [key, value]));
  const length = Number(fields.get('length') ?? Number.NaN);
  if (!Number.isSafeInteger(length)) {
    throw new ModelError(`tensor ${name} lies in another file and does not say how long it is`, {
      hint: 'save the model again as one file (save_as_external_data=False)',
    });
  }
  return { location: fields.get('location') ?? '', offset: Number(fields.get('offset') ?? 0), length };
}

async function embedded(tensor: TensorProto, folder: string): Promise<TensorProto> {
  const { location, offset, length } = placeOf(tensor);
  const rawData = new Uint8Array(length);
  const handle = await open(join(folder, location));
  try {
    const { bytesRead } = await handle.read(rawData, 0, length, offset);
    if (bytesRead !== length) {
      throw new ModelError(`${location} ends inside tensor ${tensor.name}`, { hint: 'copy the file again' });
    }
  } finally {
    await handle.close();
  }
  return copyMessage(tensor, { rawData, externalData: [], dataLocation: DataLocation.DEFAULT });
}
