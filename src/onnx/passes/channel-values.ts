// Constants that scale or shift: one number, or one for every channel.
import { ModelError } from '#core';
import type { NodeProto } from '../proto/onnx_pb.ts';
import type { ConstantValue } from './constant-value.ts';
import { nodeLabel } from './prune.ts';

export function numbers({ values }: ConstantValue): readonly number[] {
  return Array.from(values as ArrayLike<number>, Number);
}

/** The values along one axis, counted from the right; undefined where they differ along another one. */
export function alongAxis(value: ConstantValue, fromRight: number): readonly number[] | undefined {
  const { dims, values } = value;
  const axis = dims.length - 1 - fromRight;
  return values.length === 1 || values.length === dims[axis] ? numbers(value) : undefined;
}

/**
 * Product of the factors behind an integer operator.
 * @param fromRight axis of the channels in the result, counted from the right
 */
export function weightScale(
  node: NodeProto,
  factors: readonly ConstantValue[],
  fromRight: number,
): readonly number[] {
  return factors.reduce<readonly number[]>(
    (scale, factor) => {
      const along = alongAxis(factor, fromRight);
      if (along === undefined)
        throw cannot(node, `is scaled by ${factor.root}, which is not one scale a channel`);
      const [longer, shorter] = along.length >= scale.length ? [along, scale] : [scale, along];
      return longer.map((value, channel) => value * shorter[shorter.length === 1 ? 0 : channel]!);
    },
    [1],
  );
}

/** The error of a node that cannot be taken back to float32. */
export function cannot(node: NodeProto, why: string): ModelError {
  return new ModelError(`node ${nodeLabel(node)} ${why}`, {
    hint: 'export the model again in float32, without quantisation',
  });
}
