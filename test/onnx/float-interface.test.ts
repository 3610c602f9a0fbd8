import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { ElementType, graph, model, node, serialize, tensor, valueInfo } from '#onnx';
import { withFloatInterface } from '../../src/onnx/float-interface.ts';

/** y = x * 3 in half precision, with an output that is also read inside the graph. */
function halfModel() {
  const half = ElementType.FLOAT16;
  return model(
    graph({
      nodes: [node('Mul', ['x', 'three'], ['y']), node('Neg', ['y'], ['z'])],
      inputs: [valueInfo('x', half, [4])],
      outputs: [valueInfo('y', half, [4]), valueInfo('z', half, [4])],
      initializers: [tensor('three', [1], Float32Array.of(3), half)],
    }),
  );
}

describe('the float interface of a half-precision graph', () => {
  it('takes and gives float32 under the old names', async () => {
    const session = await ort.InferenceSession.create(serialize(withFloatInterface(halfModel())));
    const x = Float32Array.of(1, 0.1, 20_000, 6e-8);
    const { y, z } = await session.run({ x: new ort.Tensor('float32', x, [4]) });
    expect(session.outputNames).toEqual(['y', 'z']);
    // The CPU provider computes in float32 and drops the casts between; others round to half. Both are right.
    const [tripled, negated] = [y!.data as Float32Array, z!.data as Float32Array];
    const expected = [3, 0.3, 60_000, 1.8e-7];
    for (const [index, value] of expected.entries()) {
      expect(tripled[index]).toBeCloseTo(value, value < 1e-6 ? 7 : 3);
      expect(negated[index]).toBe(-(tripled[index] ?? Number.NaN));
    }
    await session.release();
  });

  it('leaves a float32 model as it is', () => {
    const plain = model(
      graph({
        nodes: [node('Neg', ['x'], ['y'])],
        inputs: [valueInfo('x', ElementType.FLOAT, [1])],
        outputs: [valueInfo('y', ElementType.FLOAT, [1])],
      }),
    );
    expect(withFloatInterface(plain)).toBe(plain);
  });
});
