// Shapes of the feature maps between the picture and the ends of a detector: files often leave them out.
import type { Size } from '#core';
import { inferShapes } from '../infer-shapes.ts';
import type { ModelProto } from '../proto/onnx_pb.ts';
import { subgraph } from '../subgraph.ts';

/**
 * Only what leads to `ends` is looked at, so that the decoding behind them may hold any operator.
 * @returns static shapes by tensor name
 * @throws ModelError naming node and operator where a shape cannot be told
 */
export function featureShapes(
  model: ModelProto,
  picture: Size & { readonly name: string },
  ends: readonly string[],
): ReadonlyMap<string, readonly number[]> {
  const entry = { name: picture.name, shape: [1, 3, picture.height, picture.width] };
  const trunk = subgraph(model, { inputs: [entry], outputs: ends.map((name) => ({ name })) });
  return inferShapes(trunk, new Map([[picture.name, entry.shape]]));
}
