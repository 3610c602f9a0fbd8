// The lowest real number that a quantised tensor can hold: quantisers rely on it where they leave a Relu out.
import type { TensorProto } from '../proto/onnx_pb.ts';
import { ElementType, tensorNumbers } from '../tensor.ts';

const LOWEST = new Map<number, number>([
  [ElementType.UINT8, 0],
  [ElementType.UINT16, 0],
  [ElementType.INT8, -128],
  [ElementType.INT16, -32768],
]);

/**
 * (lowest integer − zero point) · scale, over one scale; undefined where scale or type are not known.
 * @param zeroPoint absent is 0 of uint8, as the operator has it
 */
export function lowestValue(
  scale: TensorProto | undefined,
  zeroPoint: TensorProto | undefined,
): number | undefined {
  const lowest = LOWEST.get(zeroPoint?.dataType ?? ElementType.UINT8);
  const step = scale && tensorNumbers(scale)[0];
  if (lowest === undefined || step === undefined) return undefined;
  const zero = zeroPoint ? (tensorNumbers(zeroPoint)[0] ?? 0) : 0;
  return (lowest - zero) * step;
}
