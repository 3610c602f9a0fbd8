// Cutting a graph: the pieces compute what the whole computes, and a cut that does not separate is refused.
import { describe, expect, it } from 'vitest';
import { ElementType, floats, graph, model, node, subgraph, tensor, valueInfo } from '#onnx';
import { runGraph } from './heads/run-graph.ts';

/** out = (a + 1) · 2 with the 2 in a Constant node, side = (a + 1) + b. */
function whole() {
  return model(
    graph({
      name: 'whole',
      nodes: [
        node('Add', ['a', 'one'], ['sum']),
        node('Constant', [], ['two'], { value: tensor('', [1], Float32Array.of(2)) }),
        node('Mul', ['sum', 'two'], ['out']),
        node('Add', ['sum', 'b'], ['side']),
      ],
      inputs: [valueInfo('a', ElementType.FLOAT, [1]), valueInfo('b', ElementType.FLOAT, [1])],
      outputs: [valueInfo('out', ElementType.FLOAT, [1]), valueInfo('side', ElementType.FLOAT, [1])],
      initializers: [floats('one', [1], [1]), floats('unused', [1], [5])],
    }),
    { metadata: { license: 'x' } },
  );
}

const one = (value: number) => ({ data: Float32Array.of(value), shape: [1] });

describe('a part of a graph', () => {
  it('holds only what lies between, constants as initializers', async () => {
    const part = subgraph(whole(), { inputs: [{ name: 'sum', shape: ['N'] }], outputs: [{ name: 'out' }] });
    expect(part.graph!.node.map(({ opType }) => opType)).toEqual(['Mul']);
    expect(part.graph!.initializer.map(({ name }) => name)).toEqual(['two']);
    expect(part.graph!.input.map(({ name }) => name)).toEqual(['sum']);
    expect(part.metadataProps).toEqual([]);
    expect((await runGraph(part, { sum: one(4) })).get('out')!.data).toEqual(Float32Array.of(8));
  });

  it('computes with its other half what the whole computes', async () => {
    const before = subgraph(whole(), { inputs: [{ name: 'a', shape: [1] }], outputs: [{ name: 'sum' }] });
    const after = subgraph(whole(), { inputs: [{ name: 'sum', shape: [1] }], outputs: [{ name: 'out' }] });
    const { data } = (await runGraph(before, { a: one(3) })).get('sum')!;
    const [half, all] = await Promise.all([
      runGraph(after, { sum: { data, shape: [1] } }),
      runGraph(whole(), { a: one(3), b: one(0) }),
    ]);
    expect(half.get('out')).toEqual(all.get('out'));
  });

  it('leaves the original as it was', () => {
    const original = whole();
    subgraph(original, { inputs: [{ name: 'sum' }], outputs: [{ name: 'out' }] });
    expect(original.graph!.node).toHaveLength(4);
    expect(original.metadataProps).toHaveLength(1);
  });

  it('is refused where the cut does not separate, or names nothing', () => {
    expect(() => subgraph(whole(), { inputs: [{ name: 'sum' }], outputs: [{ name: 'side' }] })).toThrow(
      /cut at sum does not separate the graph: its input b/,
    );
    expect(() => subgraph(whole(), { inputs: [], outputs: [{ name: 'nowhere' }] })).toThrow(
      /no tensor named nowhere/,
    );
  });
});
