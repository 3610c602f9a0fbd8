// What the rules that free a batch are written against: one node, the shapes for one picture, and where the batch lies.
import { ModelError } from '#core';
import {
  type AttributeValue,
  attributeInt,
  attributeInts,
  copyMessage,
  type NodeProto,
  node,
  nodeLabel,
  type Shape,
} from '#onnx';
import type { GraphWriter } from '../graph-writer.ts';

/**
 * Where the pictures of a batch lie in a tensor: on that axis, or on one in front that the graph for one picture did
 * not have (it merged the 1 into another axis, or dropped it).
 */
export type Place = number | 'front';

export interface BatchFacts {
  /** Pictures that the graph was written for. */
  readonly batch: number;
  readonly opset: number;
  /** Undefined for what does not depend on the picture. */
  place(name: string): Place | undefined;
  /** For the batch that the graph was written for. */
  shape(name: string): Shape | undefined;
  integers(name: string): readonly number[] | undefined;
}

/** One node that reads the picture, about to be written for any batch. */
export class BatchNode {
  readonly node: NodeProto;
  readonly opset: number;
  readonly batch: number;
  readonly writer: GraphWriter;
  readonly #facts: BatchFacts;

  constructor(made: NodeProto, facts: BatchFacts, writer: GraphWriter) {
    this.node = made;
    this.opset = facts.opset;
    this.batch = facts.batch;
    this.writer = writer;
    this.#facts = facts;
  }

  name(index: number): string {
    return this.node.input[index] ?? '';
  }

  place(index: number): Place | undefined {
    return this.#facts.place(this.name(index));
  }

  /** Of an input, or of an output by name. */
  shape(index: number | string): Shape {
    const name = typeof index === 'string' ? index : this.name(index);
    const shape = this.#facts.shape(name);
    if (shape === undefined) throw this.refuse(`the shape of ${name} is not known`);
    return shape;
  }

  outputShape(): Shape {
    return this.shape(this.node.output[0] ?? '');
  }

  integers(index: number): readonly number[] | undefined {
    return this.#facts.integers(this.name(index));
  }

  int(name: string, fallback: number): number {
    return attributeInt(this.node, name) ?? fallback;
  }

  /** A list that old opsets have as an attribute and newer ones as an input. */
  list(attribute: string, index: number): readonly number[] | undefined {
    const given = attributeInts(this.node, attribute);
    if (given !== undefined || this.name(index) === '') return given;
    const known = this.integers(index);
    if (known === undefined) throw this.refuse(`the values of ${this.name(index)} are not constant`);
    return known;
  }

  /** Writes the node, with these changes. */
  keep(changes: Partial<NodeProto> = {}): void {
    this.writer.nodes.push(copyMessage(this.node, changes));
  }

  /** @throws ModelError where one of these inputs depends on the picture, as weights and indices must not */
  expectFixed(indices: readonly number[], what: string): void {
    const reader = indices.find((index) => this.place(index) !== undefined);
    if (reader !== undefined) throw this.refuse(`its ${what} (${this.name(reader)}) depend on the picture`);
  }

  /**
   * An input in the form `[N, ...shape]`, its shape for one picture filled up with ones to this rank.
   * @returns the name under which it can be read
   */
  inFront(index: number, rank = this.shape(index).length): string {
    const [place, shape] = [this.place(index), this.shape(index)];
    if (place === 'front' && shape.length === rank) return this.name(index);
    if (place !== 'front' && place !== 0)
      throw this.refuse(`the batch of ${this.name(index)} cannot be led out of axis ${place ?? '?'}`);
    const filled = [...new Array<number>(rank - shape.length).fill(1), ...shape];
    return this.writer.reshape(this.name(index), `${this.name(index)}.apart`, [-1, ...filled]);
  }

  /**
   * An input whose first axis must be the batch.
   * @returns the name under which it can be read
   */
  onFirstAxis(index: number): string {
    const [place, shape] = [this.place(index), this.shape(index)];
    if (place === 0) return this.name(index);
    if (place !== 'front' || shape[0] !== 1) throw this.refuse('its first axis is not the batch');
    return this.writer.reshape(this.name(index), `${this.name(index)}.first`, [-1, ...shape.slice(1)]);
  }

  refuse(why: string): ModelError {
    return new ModelError(`node ${nodeLabel(this.node)} cannot be written for any batch: ${why}`, {
      hint: 'export with a fixed batch (format=onnx or format=engine), or export the model again with a free batch',
    });
  }
}

/** The attributes of a node with one of them set. */
export function withAttribute(made: NodeProto, name: string, value: AttributeValue): NodeProto['attribute'] {
  const [set] = node('', [], [], { [name]: value }).attribute;
  const others = made.attribute.filter((attribute) => attribute.name !== name);
  return set === undefined ? others : [...others, set];
}

/** Axis of a tensor once it has another axis in front; those counted from the end stay. */
export function behindFront(axis: number): number {
  return axis < 0 ? axis : axis + 1;
}

export function wrapAxis(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

/** @returns where the batch of each output lies */
export type BatchRule = (node: BatchNode) => readonly Place[];
