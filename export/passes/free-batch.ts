// A graph for one picture, written for any number of them: every constant that says 1 where it means the batch is freed.
import { ModelError } from '#core';
import {
  type Axis,
  ElementType,
  elementTypeOf,
  graphOf,
  inferElementTypes,
  inferKnownShapes,
  ints,
  type ModelProto,
  type NodeProto,
  nodeLabel,
  normalizeInputs,
  opsetVersion,
  type PictureInput,
  prune,
  type Shape,
  type TensorProto,
  type ValueInfoProto,
  valueInfo,
  viewGraph,
  withGraph,
  withStaticInput,
} from '#onnx';
import { type BatchFacts, BatchNode, type BatchRule, type Place } from './batch/batch-node.ts';
import { elementwiseRules } from './batch/elementwise-rules.ts';
import { rearrangingRules } from './batch/rearranging-rules.ts';
import { reducingRules } from './batch/reducing-rules.ts';
import { GraphWriter } from './graph-writer.ts';

/** What the free axis is called. */
const BATCH_AXIS = 'batch';

const RULES: Readonly<Record<string, BatchRule>> = {
  ...elementwiseRules,
  ...rearrangingRules,
  ...reducingRules,
};

/**
 * The batch of the picture input and of all outputs becomes the symbolic axis `batch`. Each picture of a batch gets the
 * rows that it gets alone: what a rule cannot promise that of is refused. Shapes that the graph computes from the shape
 * of the picture become constants.
 * @param picture as `pictureInput` finds it; height and width must be fixed
 * @throws ModelError naming the node that ties the batch to a number, or mixes pictures
 */
export function withFreeBatch(
  model: ModelProto,
  { picture }: { readonly picture: PictureInput },
): ModelProto {
  const { batch = 1, height, width } = picture;
  if (height === undefined || width === undefined) {
    throw new ModelError(`height and width of the picture input ${picture.name} are open`, {
      hint: 'fix the size of the input (imgsz=) before its batch is freed',
    });
  }
  const fixed = withStaticInput(normalizeInputs(model), { batch, height, width });
  const walk = new BatchWalk(fixed, picture.name, batch);
  const graph = graphOf(fixed);
  for (const made of graph.node) walk.take(made);
  const typeOf = inferElementTypes(fixed);
  const described = (info: ValueInfoProto) => {
    const axes = walk.axes(info.name);
    const type = elementTypeOf(info) || typeOf(info.name) || ElementType.UNDEFINED;
    return axes === undefined ? info : valueInfo(info.name, type, axes);
  };
  const outputs = new Set(graph.output.map(({ name }) => name));
  const between = walk.dependent().flatMap((name) => {
    const [axes, type] = [walk.axes(name), typeOf(name)];
    return outputs.has(name) || !axes || !type ? [] : [valueInfo(name, type, axes)];
  });
  const kept = graph.valueInfo.filter(({ name }) => walk.place(name) === undefined);
  return prune(
    withGraph(fixed, {
      node: walk.writer.nodes,
      initializer: [...graph.initializer, ...walk.writer.initializers, ...walk.frozen],
      input: graph.input.map(described),
      output: graph.output.map((info) => described(walk.expectBatch(info))),
      valueInfo: [...kept, ...between],
    }),
  );
}

/** Goes through the nodes in their order and knows where the batch lies in each tensor. */
class BatchWalk implements BatchFacts {
  readonly batch: number;
  readonly opset: number;
  readonly writer: GraphWriter;
  /** Shapes of tensors, once computed from the shape of the picture. */
  readonly frozen: TensorProto[] = [];
  readonly #places = new Map<string, Place>();
  readonly #inferred: ReturnType<typeof inferKnownShapes>;
  readonly #view: ReturnType<typeof viewGraph>;

  constructor(model: ModelProto, pictureName: string, batch: number) {
    this.batch = batch;
    this.opset = opsetVersion(model);
    this.writer = new GraphWriter(model, 'batch.');
    this.#view = viewGraph(model);
    const inputs = graphOf(model).input.map(({ name }) => {
      const axes = this.#view.shape(name) ?? [];
      return [name, axes.map(Number)] as const;
    });
    this.#inferred = inferKnownShapes(model, new Map(inputs));
    this.#places.set(pictureName, 0);
  }

  place(name: string): Place | undefined {
    return this.#places.get(name);
  }

  /** Names of everything that depends on the picture. */
  dependent(): readonly string[] {
    return [...this.#places.keys()];
  }

  shape(name: string): Shape | undefined {
    const declared = this.#view.shape(name);
    const isNumbers = declared?.every((axis) => typeof axis === 'number' && axis > 0);
    return this.#inferred.shapes.get(name) ?? (isNumbers ? declared?.map(Number) : undefined);
  }

  integers(name: string): readonly number[] | undefined {
    return this.#inferred.integers(name);
  }

  /** Shape with the free axis; undefined for what does not depend on the picture, or is not known. */
  axes(name: string): readonly Axis[] | undefined {
    const [place, shape] = [this.place(name), this.shape(name)];
    if (place === undefined || shape === undefined) return undefined;
    return place === 'front'
      ? [BATCH_AXIS, ...shape]
      : shape.map((size, axis) => (axis === place ? BATCH_AXIS : size));
  }

  take(made: NodeProto): void {
    // Graphs inside a node read outer names too, and no rule knows what they do with them.
    const hasGraph = made.attribute.some(({ g }) => g !== undefined);
    if (!hasGraph && made.input.every((name) => this.place(name) === undefined)) {
      this.writer.nodes.push(made);
      return;
    }
    const node = new BatchNode(made, this, this.writer);
    if (made.opType === 'Shape') {
      const values = this.integers(made.output[0] ?? '');
      if (values === undefined) throw node.refuse('the shape that it reads is not known');
      this.frozen.push(ints(made.output[0] ?? '', values));
      return;
    }
    const rule = made.domain === '' || made.domain === 'ai.onnx' ? RULES[made.opType] : undefined;
    if (rule === undefined) throw node.refuse('no rule says what this operator does to a batch');
    const places = rule(node);
    made.output.forEach((name, index) => {
      const place = places[index];
      if (name !== '' && place !== undefined) this.#places.set(name, place);
    });
  }

  /** @throws ModelError where the pictures do not lie on an axis that this output has */
  expectBatch(info: ValueInfoProto): ValueInfoProto {
    const place = this.place(info.name);
    if (place !== 'front') return info;
    const producer = this.#view.producer(info.name);
    throw new ModelError(
      `output ${info.name}${producer ? ` of node ${nodeLabel(producer)}` : ''} has no axis for the batch: its shape for one picture is [${this.shape(info.name)?.join(', ')}]`,
      { hint: 'decode in the graph (decode) before the batch is freed' },
    );
  }
}
