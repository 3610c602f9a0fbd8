// What a training engine differentiates. One list, so that a cut can be refused before an engine is even loaded.
import type { GraphView } from '../graph.ts';
import { viewGraph } from '../graph.ts';
import type { ModelProto, NodeProto } from '../proto/onnx_pb.ts';
import { tensorNumbers } from '../tensor.ts';

/** Operators with a gradient; `Constant` is folded away before. */
export const TRAINABLE_OPS: ReadonlySet<string> = new Set([
  'Conv',
  'BatchNormalization',
  'Sigmoid',
  'Mul',
  'Add',
  'Sub',
  'Div',
  'Relu',
  'LeakyRelu',
  'HardSwish',
  'HardSigmoid',
  'Tanh',
  'Concat',
  'Split',
  'Slice',
  'Reshape',
  'Transpose',
  'Flatten',
  'Resize',
  'MaxPool',
  'AveragePool',
  'GlobalAveragePool',
  'Softmax',
  'Identity',
  'Constant',
]);

export interface UntrainableNode {
  readonly node: NodeProto;
  /** `node /model.10/m.0/attn/MatMul (MatMul) has no gradient here`. */
  readonly reason: string;
}

/** Nodes of a graph that no engine differentiates, in the order of the graph. */
export function untrainableNodes(model: ModelProto): readonly UntrainableNode[] {
  const view = viewGraph(model);
  return view.graph.node.flatMap((node) => {
    const why = objection(view, node);
    return why === undefined ? [] : [{ node, reason: `node ${node.name} (${node.opType}) ${why}` }];
  });
}

function objection(view: GraphView, node: NodeProto): string | undefined {
  if (!TRAINABLE_OPS.has(node.opType)) return 'has no gradient here';
  switch (node.opType) {
    case 'Resize':
      return resizeObjection(view, node);
    case 'Conv':
      return view.constant(node.input[1] ?? '') === undefined ? 'computes its weights' : undefined;
    default:
      return undefined;
  }
}

const decoder = new TextDecoder();

/** Enlarging to twice the size by repetition is what detectors do; everything else would need a gradient of its own. */
function resizeObjection(view: GraphView, node: NodeProto): string | undefined {
  const mode = node.attribute.find(({ name }) => name === 'mode');
  const text = mode ? decoder.decode(mode.s) : 'nearest';
  if (text !== 'nearest') return `enlarges with mode ${text}, only nearest has a gradient here`;
  const scales = view.constant(node.input[2] ?? '');
  const factors = scales ? tensorNumbers(scales) : [];
  const doubles = factors.length === 4 && factors.join() === '1,1,2,2';
  return doubles
    ? undefined
    : `enlarges by ${factors.join(' x ') || 'an unknown factor'}, expected 1 x 1 x 2 x 2`;
}
