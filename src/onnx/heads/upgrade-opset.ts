// Hosts of older opsets are lifted to the one that our own nodes are written in, so that both stand in one graph.
import { ModelError } from '#core';
import { ints, node as makeNode, OWN_IR_VERSION, OWN_OPSET } from '../builder.ts';
import { attributeInts, copyMessage, graphOf, withGraph } from '../graph.ts';
import type { ModelProto, NodeProto, TensorProto } from '../proto/onnx_pb.ts';

/** Operators whose attributes became inputs between opset 11 and 17, and the attribute. */
const MOVED: Readonly<Record<string, string>> = {
  Split: 'split',
  Squeeze: 'axes',
  Unsqueeze: 'axes',
  ReduceSum: 'axes',
};

const OLDEST = 11;

/**
 * @returns the model at opset 17, or at its own where that is higher; IR version 8
 * @throws ModelError for opsets below 11
 */
export function upgradeOpset(model: ModelProto): ModelProto {
  const standard = model.opsetImport.find(({ domain }) => domain === '' || domain === 'ai.onnx');
  const version = Number(standard?.version ?? 0n);
  if (version < OLDEST) {
    throw new ModelError(
      `the model is written in opset ${version}; at least ${OLDEST} is needed for training`,
      {
        hint: `export it again with opset=${OWN_OPSET}`,
      },
    );
  }
  const own = { irVersion: BigInt(OWN_IR_VERSION) };
  if (version >= OWN_OPSET) return copyMessage(model, own);
  const graph = graphOf(model);
  const added: TensorProto[] = [];
  const nodes = graph.node.map((original) => (version < 13 ? upgraded(original, added) : original));
  return copyMessage(withGraph(model, { node: nodes, initializer: [...graph.initializer, ...added] }), {
    ...own,
    opsetImport: model.opsetImport.map((entry) =>
      entry === standard ? copyMessage(entry, { version: BigInt(OWN_OPSET) }) : entry,
    ),
  });
}

function upgraded(original: NodeProto, added: TensorProto[]): NodeProto {
  if (original.opType === 'Softmax') return explicitAxis(original);
  const moved = MOVED[original.opType];
  const values = moved === undefined ? undefined : attributeInts(original, moved);
  if (values === undefined) return original;
  const name = `${original.output[0] ?? ''}_${moved}`;
  added.push(ints(name, values));
  return copyMessage(original, {
    input: [...original.input, name],
    attribute: original.attribute.filter((attribute) => attribute.name !== moved),
  });
}

/** Softmax's axis was 1 unless told otherwise. (It also flattened what follows; last axes, as heads use them, are the same.) */
function explicitAxis(original: NodeProto): NodeProto {
  if (original.attribute.some(({ name }) => name === 'axis')) return original;
  const [axis] = makeNode('Softmax', [], [], { axis: 1n }).attribute;
  return copyMessage(original, { attribute: [...original.attribute, ...(axis ? [axis] : [])] });
}
