// Graphs for fault tests: the half-precision twin of another graph, and one for which there is no kernel.
import type { ModelProto } from '#onnx';
import { ElementType, graph, model, node, tensor, valueInfo } from '#onnx';

/** The same graph behind a float16 input and output, as a half-precision export has them. */
export function halfTwin(whole: ModelProto): ModelProto {
  const inside = whole.graph;
  const [input, output] = [inside?.input[0], inside?.output[0]];
  if (!inside || !input || !output) throw new Error('a twin needs a graph with an input and an output');
  const rename = (name: string) => (name === input.name || name === output.name ? `${name}_float` : name);
  const shapeOf = (value: typeof input) =>
    value.type?.value.case === 'tensorType'
      ? (value.type.value.value.shape?.dim ?? []).map(({ value: axis }) => Number(axis.value))
      : [];
  const metadata = Object.fromEntries(whole.metadataProps.map(({ key, value }) => [key, value]));
  return model(
    graph({
      name: 'half',
      nodes: [
        node('Cast', [input.name], [rename(input.name)], { to: BigInt(ElementType.FLOAT) }),
        ...inside.node.map((one) => ({
          ...one,
          input: one.input.map(rename),
          output: one.output.map(rename),
        })),
        node('Cast', [rename(output.name)], [output.name], { to: BigInt(ElementType.FLOAT16) }),
      ],
      inputs: [valueInfo(input.name, ElementType.FLOAT16, shapeOf(input))],
      outputs: [valueInfo(output.name, ElementType.FLOAT16, shapeOf(output))],
      initializers: inside.initializer,
    }),
    { metadata },
  );
}

/** A convolution of doubles, for which ONNX Runtime has no kernel on the CPU. */
export function missingKernel(): ModelProto {
  return model(
    graph({
      name: 'doubles',
      nodes: [
        node('Cast', ['images'], ['pixels'], { to: BigInt(ElementType.DOUBLE) }),
        { ...node('Conv', ['pixels', 'kernel'], ['sums']), name: 'first_conv' },
        node('Cast', ['sums'], ['output0'], { to: BigInt(ElementType.FLOAT) }),
      ],
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, 32, 32])],
      outputs: [valueInfo('output0', ElementType.FLOAT, [1, 1, 32, 32])],
      initializers: [tensor('kernel', [1, 3, 1, 1], new Float64Array([1, 1, 1]))],
    }),
  );
}
