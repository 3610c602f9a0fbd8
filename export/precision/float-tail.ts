// What lies behind the last convolutions of a detector: the arithmetic that makes boxes and scores of their results.
// Half floats and bytes are too coarse for it: a half moves a coordinate above 512 by up to a quarter px, and one 8-bit
// scale over boxes and scores sets every score to 0. Found by walking from the outputs, never by name.
import { type GraphView, MOVES, type NodeProto } from '#onnx';

export interface FloatTail {
  /** Nodes from which an output is reached without a convolution between, that of a distribution's mean included. */
  readonly nodes: ReadonlySet<NodeProto>;
  /** The convolutions in front of them: the last one of every branch. */
  readonly lastConvolutions: ReadonlySet<NodeProto>;
}

const CONVOLUTIONS = new Set(['Conv', 'ConvTranspose']);

export function floatTail(view: GraphView): FloatTail {
  const nodes = new Set<NodeProto>();
  const lastConvolutions = new Set<NodeProto>();
  const open = view.graph.output.map(({ name }) => name);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const producer = view.producer(name);
    if (producer === undefined || nodes.has(producer)) continue;
    if (CONVOLUTIONS.has(producer.opType) && !takesMean(view, producer)) {
      lastConvolutions.add(producer);
      continue;
    }
    nodes.add(producer);
    open.push(...producer.input);
  }
  return { nodes, lastConvolutions };
}

/**
 * The fixed convolution that takes the mean of a distribution (Li et al., Generalized Focal Loss, 2020, eq. 6): one
 * channel out, and a softmax in front of it with nothing but moves between.
 */
function takesMean(view: GraphView, convolution: NodeProto): boolean {
  const weight = view.constant(convolution.input[1] ?? '');
  if (weight === undefined || Number(weight.dims[0] ?? 0) !== 1) return false;
  let producer = view.producer(convolution.input[0] ?? '');
  while (producer !== undefined && MOVES.has(producer.opType)) {
    producer = view.producer(producer.input[0] ?? '');
  }
  return producer?.opType === 'Softmax';
}
