// Graphs of one to a few nodes whose answer is known by hand, for the tests of sessions.

import { ElementType, floats, graph, model, node, serialize, valueInfo } from '#onnx';
import type { SessionInput } from '#runtime';

const { FLOAT, FLOAT16, UINT8, INT32, INT64 } = ElementType;

/** `y = 2 x` for x float32[2, 3]. */
export function doubledModel(): Uint8Array {
  return serialize(
    model(
      graph({
        nodes: [node('Mul', ['x', 'two'], ['y'])],
        inputs: [valueInfo('x', FLOAT, [2, 3])],
        outputs: [valueInfo('y', FLOAT, [2, 3])],
        initializers: [floats('two', [1], [2])],
      }),
    ),
  );
}

/** x float32[1, 3] as it is, and cast to every type that an output can have. */
export function typesModel(): Uint8Array {
  const types = { half: FLOAT16, bytes: UINT8, ints: INT32, longs: INT64 };
  return serialize(
    model(
      graph({
        nodes: [
          node('Identity', ['x'], ['single']),
          ...Object.entries(types).map(([name, to]) => node('Cast', ['x'], [name], { to: BigInt(to) })),
        ],
        inputs: [valueInfo('x', FLOAT, [1, 3])],
        outputs: [
          valueInfo('single', FLOAT, [1, 3]),
          ...Object.entries(types).map(([name, type]) => valueInfo(name, type, [1, 3])),
        ],
      }),
    ),
  );
}

/** pixels uint8[1, 1, 2, 3] to y float32[1, 3, 1, 2] in 0..1. */
export function pixelModel(): Uint8Array {
  return serialize(
    model(
      graph({
        nodes: [
          node('Cast', ['pixels'], ['wide'], { to: BigInt(FLOAT) }),
          node('Mul', ['wide', 'scale'], ['scaled']),
          node('Transpose', ['scaled'], ['y'], { perm: [0n, 3n, 1n, 2n] }),
        ],
        inputs: [valueInfo('pixels', UINT8, [1, 1, 2, 3])],
        outputs: [valueInfo('y', FLOAT, [1, 3, 1, 2])],
        initializers: [floats('scale', [1], [1 / 255])],
      }),
    ),
  );
}

/** x float32[N, 2]: y = relu(x), and the places where x is not zero, int64[2, K]. */
export function dynamicModel(): Uint8Array {
  return serialize(
    model(
      graph({
        nodes: [node('Relu', ['x'], ['y']), node('NonZero', ['x'], ['places'])],
        inputs: [valueInfo('x', FLOAT, ['N', 2])],
        outputs: [valueInfo('y', FLOAT, ['N', 2]), valueInfo('places', INT64, [2, 'K'])],
      }),
    ),
  );
}

/** `y = x` by eight products with a unit matrix: some 10 ms of work in one thread. */
export function slowModel(side = 512): {
  readonly bytes: Uint8Array;
  readonly spec: SessionInput;
  readonly length: number;
} {
  const shape = [side, side];
  const identity = new Float32Array(side * side);
  for (let index = 0; index < side; index++) identity[index * side + index] = 1;
  const names = Array.from({ length: 9 }, (_, step) => (step === 0 ? 'x' : step === 8 ? 'y' : `x${step}`));
  const nodes = names.slice(1).map((name, step) => node('MatMul', [names[step] ?? 'x', 'identity'], [name]));
  const bytes = serialize(
    model(
      graph({
        nodes,
        inputs: [valueInfo('x', FLOAT, shape)],
        outputs: [valueInfo('y', FLOAT, shape)],
        initializers: [floats('identity', shape, identity)],
      }),
    ),
  );
  return { bytes, spec: { name: 'x', shape }, length: side * side };
}
