// Constants as typed arrays: every way a file can hold them.
import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  deserialize,
  ElementType,
  floats,
  graph,
  model,
  serialize,
  tensor,
  tensorNumbers,
  tensorValues,
  viewGraph,
} from '#onnx';
import { TensorProtoSchema } from '../../src/onnx/proto/onnx_pb.ts';

describe('values', () => {
  it.each([
    [tensor('t', [2], Float32Array.of(1.5, -2)), Float32Array.of(1.5, -2)],
    [tensor('t', [2], Float32Array.of(1.5, -2), ElementType.FLOAT16), Float32Array.of(1.5, -2)],
    [tensor('t', [1], Uint16Array.of(0x3fc0), ElementType.BFLOAT16), Float32Array.of(1.5)],
    [tensor('t', [2], BigInt64Array.of(7n, -1n)), BigInt64Array.of(7n, -1n)],
    [tensor('t', [2], Int8Array.of(-128, 127)), Int8Array.of(-128, 127)],
    [tensor('t', [2], Float64Array.of(0.1, 3)), Float64Array.of(0.1, 3)],
    [tensor('t', [2], Uint8Array.of(0, 1), ElementType.BOOL), Uint8Array.of(0, 1)],
    [
      create(TensorProtoSchema, { dims: [2n], dataType: ElementType.FLOAT, floatData: [1, 2] }),
      Float32Array.of(1, 2),
    ],
    [
      create(TensorProtoSchema, { dims: [1n], dataType: ElementType.INT64, int64Data: [5n] }),
      BigInt64Array.of(5n),
    ],
    [
      create(TensorProtoSchema, { dims: [1n], dataType: ElementType.INT8, int32Data: [-5] }),
      Int8Array.of(-5),
    ],
    [
      create(TensorProtoSchema, { dims: [1n], dataType: ElementType.FLOAT16, int32Data: [0x3e00] }),
      Float32Array.of(1.5),
    ],
  ])('%#', (made, values) => {
    expect(tensorValues(made)).toEqual(values);
  });

  it('at any byte of a file that was read into a Buffer', () => {
    for (const name of ['a', 'ab', 'abc', 'abcd']) {
      const made = model(
        graph({ nodes: [], inputs: [], outputs: [], initializers: [floats(name, [2], [3, 4])] }),
      );
      const read = deserialize(Buffer.from(serialize(made)));
      const [constant] = read.graph?.initializer ?? [];
      expect(constant && tensorNumbers(constant)).toEqual([3, 4]);
    }
  });

  it('of types without a typed array are refused by name', () => {
    const text = create(TensorProtoSchema, { name: 'words', dataType: ElementType.STRING });
    expect(() => tensorValues(text)).toThrow(/words holds string/);
  });

  it('that do not fill their dims are refused', () => {
    expect(() => floats('short', [3], [1, 2])).toThrow(/needs 3 values, found 2/);
  });
});

it('a view tells who makes and who reads a tensor', () => {
  const view = viewGraph(
    model(graph({ nodes: [], inputs: [], outputs: [], initializers: [floats('w', [1, 2], [1, 2])] })),
  );
  expect(view.shape('w')).toEqual([1, 2]);
  expect(view.elementType('w')).toBe(ElementType.FLOAT);
  expect(view.producer('w')).toBeUndefined();
  expect(view.consumers('w')).toEqual([]);
});
