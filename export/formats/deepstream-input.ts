// The input that DeepStream's nvinfer can fill: float32 planes, one factor for all channels, one offset for each.
import { ModelError, type PreprocessContract } from '#core';
import { type ModelProto, pictureInput } from '#onnx';
import { withPicturePreamble } from '../passes/picture-preamble.ts';

export interface DeepstreamInput {
  readonly model: ModelProto;
  /** What nvinfer is left to do to a picture: mean per channel, one std for all of them. */
  readonly contract: PreprocessContract;
  /** What was moved into the graph, in sentences. */
  readonly notes: readonly string[];
}

/**
 * nvinfer computes `net-scale-factor · (x − offsets[c])` and hands over float32 [B, 3, H, W]. What that cannot express
 * (a std for each channel, interleaved or half-precision inputs) goes into the graph.
 * @throws ModelError where the graph takes bytes already, or has one channel
 */
export function withDeepstreamInput(model: ModelProto, contract: PreprocessContract): DeepstreamInput {
  const input = pictureInput(model);
  if (input.channels !== 3) {
    throw new ModelError(`the picture input ${input.name} has one channel`, {
      hint: 'rows for DeepStream are exported from models that take colour pictures',
    });
  }
  const [first] = contract.std;
  const isOneFactor = contract.std.every((value) => value === first);
  if (isOneFactor && input.dtype === 'float32' && input.order === 'nchw')
    return { model, contract, notes: [] };
  const moved = withPicturePreamble(model, { input, contract, dtype: 'float32', order: 'nchw' });
  const why = isOneFactor ? `the ${input.dtype} ${input.order} input` : 'a deviation for each channel';
  return { ...moved, notes: [`nvinfer cannot express ${why}: the arithmetic on pixels is in the graph`] };
}
