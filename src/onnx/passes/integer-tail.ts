// What dynamic quantisation writes behind an integer convolution: Cast, Mul with the scales, Add of the bias.
import { ModelError } from '#core';
import type { GraphView } from '../graph.ts';
import { attributeInt } from '../graph.ts';
import type { NodeProto } from '../proto/onnx_pb.ts';
import { ElementType } from '../tensor.ts';
import { type ConstantValue, constantValue } from './constant-value.ts';
import { nodeLabel } from './prune.ts';

export interface IntegerTail {
  /** Cast and Mul nodes between the integer operator and `last`, `last` included. */
  readonly nodes: readonly NodeProto[];
  /** The node in whose place the float operator stands; its output keeps its name. */
  readonly last: NodeProto;
  /** Constant factors: the scale of the weights. */
  readonly factors: readonly ConstantValue[];
  /** What the Add behind the scales adds, where it is constant. */
  readonly bias?: { readonly add: NodeProto; readonly value: ConstantValue };
}

export interface IntegerScales {
  /** Tensors that hold the scales of the operands that are quantised while the graph runs. */
  readonly dynamic: readonly string[];
  /** Whether the other operand is constant, so that a constant factor is its scale and not the network's own. */
  readonly constant: boolean;
}

/**
 * @throws ModelError when the tail does not multiply with each of these scales once, and else with constants only
 */
export function integerTail(view: GraphView, node: NodeProto, scales: IntegerScales): IntegerTail {
  const outputs = new Set(view.graph.output.map(({ name }) => name));
  const follower = (made: NodeProto): NodeProto | undefined => {
    const name = made.output[0] ?? '';
    const readers = view.consumers(name);
    return readers.length === 1 && !outputs.has(name) ? readers[0] : undefined;
  };
  const cast = follower(node);
  if (cast?.opType !== 'Cast' || attributeInt(cast, 'to') !== ElementType.FLOAT) throw unknownTail(node);
  const nodes = [cast];
  const factors: ConstantValue[] = [];
  const open = [...scales.dynamic];
  let last = cast;
  for (let next = follower(last); next?.opType === 'Mul'; next = follower(last)) {
    const other = otherInput(next, last);
    const wanted = open.length > 0 || (scales.constant && factors.length === 0);
    if (!wanted || other === undefined || !takeFactors(view, other, open, factors)) break;
    nodes.push(next);
    last = next;
  }
  if (open.length > 0) throw unknownTail(node);
  const bias = constantBias(view, last, follower(last));
  return { nodes, last, factors, ...(bias && { bias }) };
}

function otherInput(node: NodeProto, from: NodeProto): string | undefined {
  const made = from.output[0] ?? '';
  return node.input[0] === made ? node.input[1] : node.input[0];
}

/** Splits a product into its factors; false, with nothing taken, where one is neither an open scale nor constant. */
function takeFactors(view: GraphView, name: string, open: string[], factors: ConstantValue[]): boolean {
  const leaves = leavesOf(view, name);
  const unused = [...open];
  const constants: ConstantValue[] = [];
  for (const leaf of leaves) {
    const place = unused.indexOf(leaf);
    const value = place < 0 ? constantValue(view, leaf) : undefined;
    if (place >= 0) unused.splice(place, 1);
    else if (value) constants.push(value);
    else return false;
  }
  open.splice(0, open.length, ...unused);
  factors.push(...constants);
  return true;
}

function leavesOf(view: GraphView, name: string): readonly string[] {
  const node = view.producer(name);
  if (node?.opType !== 'Mul') return [name];
  return node.input.flatMap((input) => leavesOf(view, input));
}

function constantBias(view: GraphView, last: NodeProto, add: NodeProto | undefined) {
  if (add?.opType !== 'Add') return undefined;
  const value = constantValue(view, otherInput(add, last) ?? '');
  return value && { add, value };
}

function unknownTail(node: NodeProto): ModelError {
  return new ModelError(
    `node ${nodeLabel(node)} is not followed by a Cast to float32 and the product of its scales`,
    { hint: 'export the model again in float32, without quantisation' },
  );
}
