// Reverse-mode differentiation of ONNX graphs.
export type { GradientProgram, NamedShape } from './differentiate.ts';
export { differentiate, unsupportedNodes } from './differentiate.ts';
