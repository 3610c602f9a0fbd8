// Computes what does not depend on the picture once and for all: engines then see numbers where exporters left arithmetic.
import {
  copyMessage,
  ElementType,
  type GraphView,
  graphOf,
  inferKnownShapes,
  isExternal,
  type ModelProto,
  type NodeProto,
  normalizeInputs,
  prune,
  shapeOf,
  type TensorProto,
  viewGraph,
  withGraph,
} from '#onnx';
import { KERNELS } from './fold-kernels.ts';
import { type FoldValue, foldValueOf, toTensor } from './fold-values.ts';

/**
 * Constant nodes, shapes of tensors that are known (see `withStaticShapes`), and arithmetic on small constants become
 * initializers. Numbers are rounded to their type after every step, as the runtime does. Operators without a rule here,
 * results of more than 131072 elements, and nodes that make an output of the graph stay.
 */
export function foldConstants(model: ModelProto): ModelProto {
  const normal = normalizeInputs(model);
  const work = new Folding(normal);
  const node = graphOf(normal).node.filter((made) => !work.takes(made));
  const initializer = [...graphOf(normal).initializer, ...work.made];
  return prune(withGraph(normal, { node, initializer }));
}

class Folding {
  readonly made: TensorProto[] = [];
  readonly #view: GraphView;
  readonly #outputs: ReadonlySet<string>;
  readonly #values = new Map<string, FoldValue | undefined>();
  readonly #shapes: ReadonlyMap<string, readonly number[]>;

  constructor(model: ModelProto) {
    const { input, output } = graphOf(model);
    this.#view = viewGraph(model);
    this.#outputs = new Set(output.map(({ name }) => name));
    const fixed = input.flatMap((info) => {
      const shape = shapeOf(info);
      return shape?.every((axis) => typeof axis === 'number' && axis > 0)
        ? [[info.name, shape.map(Number)] as const]
        : [];
    });
    this.#shapes = inferKnownShapes(model, new Map(fixed)).shapes;
  }

  /** Whether a node is folded; then its result is among `made`. */
  takes(node: NodeProto): boolean {
    const [name = ''] = node.output;
    if (
      this.#outputs.has(name) ||
      node.output.length !== 1 ||
      (node.domain !== '' && node.domain !== 'ai.onnx')
    ) {
      return false;
    }
    const stored = this.#view.constant(name);
    if (stored) {
      this.made.push(stored.name === name ? stored : copyMessage(stored, { name }));
      return true;
    }
    const value = node.opType === 'Shape' ? this.#shapeOf(node) : this.#compute(node);
    if (value === undefined) return false;
    this.#values.set(name, value);
    this.made.push(toTensor(name, value));
    return true;
  }

  #compute(node: NodeProto): FoldValue | undefined {
    const kernel = KERNELS[node.opType];
    if (kernel === undefined) return undefined;
    const values = node.input.map((name) => (name === '' ? undefined : this.#foldValueOf(name)));
    const known = node.input.every((name, place) => name === '' || values[place] !== undefined);
    return known ? kernel({ node, values }) : undefined;
  }

  #shapeOf(node: NodeProto): FoldValue | undefined {
    const shape = this.#shapes.get(node.input[0] ?? '');
    if (shape === undefined) return undefined;
    const bound = (name: string) => node.attribute.find((attribute) => attribute.name === name);
    const [start, end] = [bound('start'), bound('end')];
    const data = Float64Array.from(
      shape.slice(Number(start?.i ?? 0n), end === undefined ? shape.length : Number(end.i)),
    );
    return { dims: [data.length], type: ElementType.INT64, data };
  }

  #foldValueOf(name: string): FoldValue | undefined {
    if (this.#values.has(name)) return this.#values.get(name);
    const stored = this.#view.constant(name);
    const value = stored && !isExternal(stored) ? foldValueOf(stored) : undefined;
    this.#values.set(name, value);
    return value;
  }
}
