// What the pieces of a decode tail are written with: names of their own, and maps of all levels as rows of anchors.
import { floats, ints, node } from '../builder.ts';
import type { NodeProto, TensorProto } from '../proto/onnx_pb.ts';
import type { HeadSpec } from './types.ts';

/** Collects nodes and constants under names that nothing else in the graph has. */
export class TailBuilder {
  readonly nodes: NodeProto[] = [];
  readonly initializers: TensorProto[] = [];
  readonly #prefix: string;

  constructor(prefix = 'tail.') {
    this.#prefix = prefix;
  }

  add(
    opType: string,
    inputs: readonly string[],
    name: string,
    attributes: Parameters<typeof node>[3] = {},
  ): string {
    const output = this.label(name);
    this.nodes.push(node(opType, inputs, [output], attributes));
    return output;
  }

  /** Makes a tensor known under the name of an output of the graph. */
  output(from: string, name: string): void {
    this.nodes.push(node('Identity', [from], [name]));
  }

  floats(name: string, dims: readonly number[], values: Iterable<number>): string {
    this.initializers.push(floats(this.label(name), dims, values));
    return this.label(name);
  }

  ints(name: string, values: readonly number[]): string {
    this.initializers.push(ints(this.label(name), values));
    return this.label(name);
  }

  label(name: string): string {
    return `${this.#prefix}${name}`;
  }
}

/** Anchors of a spec: levels one after the other; inside a level location by location, row by row. */
export function anchorsOf({ levels, locations }: Pick<HeadSpec, 'levels' | 'locations'>): number {
  return levels.reduce((sum, { columns, rows }) => sum + locations * columns * rows, 0);
}

/**
 * Maps `[T, locations · channels, rows, columns]` of all levels as rows `[T, A, channels]`.
 * @param mapOf name of the map of a level
 */
export function rowsOf(
  tail: TailBuilder,
  spec: HeadSpec,
  part: { readonly name: string; readonly channels: number; readonly passes: number },
  mapOf: (level: HeadSpec['levels'][number]) => string,
): string {
  const { name, channels, passes } = part;
  const parts = spec.levels.map((level, index) => {
    const cells = level.columns * level.rows;
    const split = tail.ints(`${name}.${index}.split`, [passes, spec.locations, channels, cells]);
    const rows = tail.ints(`${name}.${index}.rows`, [passes, spec.locations * cells, channels]);
    const apart = tail.add('Reshape', [mapOf(level), split], `${name}.${index}.apart`); // [T, L, channels, cells]
    const turned = tail.add('Transpose', [apart], `${name}.${index}.turned`, { perm: [0n, 1n, 3n, 2n] });
    return tail.add('Reshape', [turned, rows], `${name}.${index}`); // [T, L · cells, channels]
  });
  return tail.add('Concat', parts, name, { axis: 1n }); // [T, A, channels]
}
