// Kernels that the WebAssembly backend lacks for training, has as plain loops, or has wrong.
import type { Tensor, Tensorflow } from '../tensorflow.ts';
import { filterGradient, inputGradient } from './convolution.ts';
import { depthwiseFilterGradient, depthwiseInputGradient } from './depthwise.ts';
import { maxPoolGradient } from './max-pool.ts';

/** What a kernel is called with. Inside a kernel nothing is recorded for differentiation. */
export interface KernelCall {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly attrs?: Readonly<Record<string, unknown>> | undefined;
}

type Kernel = (tf: Tensorflow, call: KernelCall) => Tensor;

const KERNELS: Readonly<Record<string, Kernel>> = {
  Conv2DBackpropFilter: filterGradient,
  Conv2DBackpropInput: inputGradient,
  DepthwiseConv2dNativeBackpropFilter: depthwiseFilterGradient,
  DepthwiseConv2dNativeBackpropInput: depthwiseInputGradient,
  MaxPoolGrad: maxPoolGradient,
  UnsortedSegmentSum: segmentSum,
};

/** Registers them once per process; a backend that can train already is left as it is. */
export function registerWasmKernels(tf: Tensorflow): void {
  const backendName = 'wasm';
  if (tf.getKernel('Conv2DBackpropFilter', backendName) !== undefined) return;
  for (const [kernelName, compute] of Object.entries(KERNELS)) {
    if (tf.getKernel(kernelName, backendName) !== undefined) tf.unregisterKernel(kernelName, backendName);
    tf.registerKernel({
      kernelName,
      backendName,
      kernelFunc: (call) => tf.tidy(() => compute(tf, call)),
    });
  }
}

/** Rows with the same id added up: the gradient of a gather. */
function segmentSum(tf: Tensorflow, { inputs, attrs }: KernelCall): Tensor {
  const rows = inputs['x'] as Tensor;
  const ids = tf.reshape(inputs['segmentIds'] as Tensor, [-1, 1]);
  return tf.scatterND(ids, rows, [attrs?.['numSegments'] as number, ...rows.shape.slice(1)]);
}
