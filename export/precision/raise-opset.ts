// Networks of old opsets in the form of a newer one: a scale per channel exists from opset 13 on.
import { ModelError } from '#core';
import type { ModelProto, NodeProto, TensorProto } from '#onnx';
import {
  attributeInt,
  attributeInts,
  copyMessage,
  FreeNames,
  floats,
  graphOf,
  ints,
  node as makeNode,
  nodeLabel,
  opsetVersion,
  upgradeOpset,
  withGraph,
} from '#onnx';

/** Per-axis QuantizeLinear and DequantizeLinear. */
const NEEDED = 13;
const OLDEST = 9;

/**
 * @returns the model where its opset is 13 or more, else the same at opset 17
 * @throws ModelError for opsets below 9, and naming the node that cannot be lifted
 */
export function raiseOpset(model: ModelProto): ModelProto {
  const version = opsetVersion(model);
  if (version >= NEEDED) return model;
  if (version < OLDEST) {
    throw new ModelError(
      `the model is written in opset ${version}; int8 needs at least ${OLDEST} to start from`,
      {
        hint: 'export it again with opset=17',
      },
    );
  }
  return upgradeOpset(version < 11 ? toOpset11(model, version) : model);
}

function toOpset11(model: ModelProto, version: number): ModelProto {
  const graph = graphOf(model);
  const added: TensorProto[] = [];
  const names = new FreeNames(graph);
  const lift = new Lift(names, added, version);
  const node = graph.node.map((original) => lift.node(original));
  return copyMessage(withGraph(model, { node, initializer: [...graph.initializer, ...added] }), {
    opsetImport: model.opsetImport.map((entry) =>
      entry.domain === '' || entry.domain === 'ai.onnx' ? copyMessage(entry, { version: 11n }) : entry,
    ),
  });
}

class Lift {
  readonly #names: FreeNames;
  readonly #added: TensorProto[];
  readonly #version: number;

  constructor(names: FreeNames, added: TensorProto[], version: number) {
    this.#names = names;
    this.#added = added;
    this.#version = version;
  }

  node(original: NodeProto): NodeProto {
    switch (original.domain === '' ? original.opType : '') {
      case 'Slice':
        return this.#version < 10 ? this.#slice(original) : original;
      case 'Clip':
        return this.#clip(original);
      case 'Pad':
        return this.#pad(original);
      case 'Upsample':
      case 'Resize':
        return this.#resize(original);
      case 'TopK':
      case 'Dropout':
      case 'NonMaxSuppression':
        throw new ModelError(
          `node ${nodeLabel(original)} cannot be lifted from opset ${this.#version} to ${NEEDED}`,
          { hint: 'export the model again with opset=17' },
        );
      default:
        return original;
    }
  }

  #slice(original: NodeProto): NodeProto {
    const starts = attributeInts(original, 'starts') ?? [];
    const axes = attributeInts(original, 'axes') ?? starts.map((_, axis) => axis);
    const lists = [starts, attributeInts(original, 'ends') ?? [], axes];
    const inputs = ['starts', 'ends', 'axes'].map((what, place) =>
      this.#ints(original, what, lists[place] ?? []),
    );
    return this.#with(original, 'Slice', [original.input[0] ?? '', ...inputs], []);
  }

  #clip(original: NodeProto): NodeProto {
    const bound = (what: string) => {
      const found = original.attribute.find(({ name }) => name === what);
      return found === undefined ? '' : this.#floats(original, what, [], [found.f]);
    };
    return this.#with(original, 'Clip', [original.input[0] ?? '', bound('min'), bound('max')], []);
  }

  #pad(original: NodeProto): NodeProto {
    const value = original.attribute.find(({ name }) => name === 'value')?.f ?? 0;
    const pads = this.#ints(original, 'pads', attributeInts(original, 'pads') ?? []);
    const inputs = [original.input[0] ?? '', pads, this.#floats(original, 'value', [], [value])];
    return this.#with(original, 'Pad', inputs, ['mode']);
  }

  /** Until opset 11 both meant: the source of a px is its place divided by the scale, rounded down. */
  #resize(original: NodeProto): NodeProto {
    const made = this.#with(
      original,
      'Resize',
      [original.input[0] ?? '', '', original.input[1] ?? ''],
      ['mode'],
    );
    const { attribute } = makeNode('Resize', [], [], {
      coordinate_transformation_mode: 'asymmetric',
      nearest_mode: 'floor',
    });
    return copyMessage(made, { attribute: [...made.attribute, ...attribute] });
  }

  #with(original: NodeProto, opType: string, input: string[], kept: readonly string[]): NodeProto {
    const attribute = original.attribute.filter(({ name }) => kept.includes(name));
    return copyMessage(original, { opType, input, attribute });
  }

  #ints(original: NodeProto, what: string, values: readonly number[]): string {
    const name = this.#names.take(`${original.output[0] ?? ''}_${what}`);
    this.#added.push(ints(name, values));
    return name;
  }

  #floats(original: NodeProto, what: string, dims: readonly number[], values: readonly number[]): string {
    const name = this.#names.take(`${original.output[0] ?? ''}_${what}`);
    this.#added.push(floats(name, dims, values));
    return name;
  }
}

/** Whether a MaxPool gives places too, which bytes have no form of. */
export function givesPlaces(node: NodeProto): boolean {
  return node.opType === 'MaxPool' && (node.output[1] ?? '') !== '';
}

/** Whether a convolution works on every channel by itself. */
export function isDepthwise(node: NodeProto, weightDims: readonly number[]): boolean {
  return (attributeInt(node, 'group') ?? 1) > 1 && weightDims[1] === 1;
}
