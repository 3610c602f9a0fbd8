// Calibration: the user's pictures through the network as it stands, to learn which values its tensors take.
import { createInputWriter, createLetterbox, type PreprocessContract, type Size } from '#core';
import { type ModelProto, viewGraph } from '#onnx';
import { chosenFrames, type FrameChoice } from './frames.ts';
import type { Draft, Measure } from './plan.ts';
import { isDepthwiseNetwork } from './precision/quantisation-plan.ts';
import { type CalibrationMethod, measureRanges, type TensorRanges } from './precision/ranges.ts';

export interface MeasureRequest {
  readonly frames: FrameChoice;
  /** Size of the network's input in px. */
  readonly input: Size;
  /** Pictures per run. */
  readonly batch: number;
  /** `auto`: percentile where the network is a depthwise one, else min-max. */
  readonly method: CalibrationMethod | 'auto';
  readonly threads?: number;
  readonly signal?: AbortSignal;
  readonly onPicture?: (done: number) => void;
  /** Told of the ranges, with what the user should know of the pictures. */
  readonly onMeasured?: (ranges: TensorRanges) => void;
}

/** @throws DataError without a picture; else as `chosenFrames` and `measureRanges` */
export function measureOn(request: MeasureRequest): Measure {
  return async ({ model, contract }: Draft) => {
    const { method, threads, signal, onPicture, onMeasured } = request;
    const ranges = await measureRanges(model, inputsOf(request, contract), {
      method: method === 'auto' ? methodFor(model) : method,
      ...(threads !== undefined && { threads }),
      ...(signal && { signal }),
      ...(onPicture && { onPicture }),
    });
    onMeasured?.(ranges);
    return ranges;
  };
}

/**
 * AP lost in 8 bit, percentile against min-max (yolov8n on seven road cameras .017 and .001, on 33 pictures of COCO .023
 * and -.001; yolo11n there .018 and -.006; yolox_nano, depthwise, .085 and .264): rare values are what large boxes are made
 * of, but where a channel is filtered alone one of them ruins the scale of all.
 */
function methodFor(model: ModelProto): CalibrationMethod {
  return isDepthwiseNetwork(viewGraph(model)) ? 'percentile' : 'min-max';
}

/** One array, filled over and over: the runtime has read it before the next one is asked for. */
async function* inputsOf(
  { frames, input, batch, signal }: MeasureRequest,
  contract: PreprocessContract,
): AsyncGenerator<Float32Array<ArrayBuffer>, void, void> {
  const writer = createInputWriter(contract, { type: 'float32', layout: 'nchw' });
  const length = 3 * input.width * input.height;
  const filled = new Float32Array(batch * length);
  for await (const { letterbox, content } of chosenFrames(frames, fitInto(input, contract), signal)) {
    for (let place = 0; place < batch; place++) {
      const target = filled.subarray(place * length, (place + 1) * length);
      writer.fillPaddingInto(target, input);
      writer.writeContentInto(target, content, letterbox);
    }
    yield filled;
  }
}

function fitInto(input: Size, { fit }: PreprocessContract) {
  return (frame: Size) => createLetterbox(frame, input, fit);
}
