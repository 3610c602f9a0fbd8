// One worker of the engine: its programs by batch size and mode, and the arrays that go to and fro.
import type { TrainablePart } from '#onnx';
import { serialize } from '#onnx';
import type { Provider } from '#runtime';
import type { GradientProgram, NamedShape } from '../../autodiff/index.ts';
import { differentiate } from '../../autodiff/index.ts';
import type { BackwardResult, ForwardOptions, ParameterValues, Tensors } from '../engine.ts';
import type { FlatArray } from './messages.ts';
import type { Range } from './split.ts';
import { startWorker } from './worker-client.ts';

export interface ShardOptions {
  readonly provider: Provider;
  readonly ortLibrary?: string;
  readonly threads: number;
  readonly composedNormalization: boolean;
}

/** A forward pass that a worker holds. */
export interface ShardState {
  readonly id: number;
  readonly range: Range;
  readonly open: OpenProgram;
}

interface OpenProgram {
  readonly key: string;
  readonly program: GradientProgram;
  readonly opened: Promise<unknown>;
  /** Arrays that came back and can be filled again. */
  readonly feeds: FlatArray[];
  readonly seeds: FlatArray[];
  /** Forward passes that wait for their backward pass. */
  held: number;
}

/** Batch sizes and modes whose sessions are kept: the usual batch and the last one, each in both modes. */
const OPEN_PROGRAMS = 4;

export function createShard(part: TrainablePart, options: ShardOptions) {
  const client = startWorker();
  const programs = new Map<string, OpenProgram>(); // least recently used first

  function openProgram(batch: number, mode: ForwardOptions['mode']): OpenProgram {
    const key = `${mode} ${batch}`;
    const known = programs.get(key);
    if (known !== undefined) {
      programs.delete(key);
      programs.set(key, known);
      return known;
    }
    const { composedNormalization, ...where } = options;
    const program = differentiate(part, { batch, mode, composedNormalization });
    const message = toMessage(program, { key, ...where });
    const opened = client.ask(message).answer;
    opened.catch(() => programs.delete(key)); // the error itself reaches whoever waits for `opened`
    const open: OpenProgram = { key, program, opened, feeds: [], seeds: [], held: 0 };
    programs.set(key, open);
    dropOldest();
    return open;
  }

  function dropOldest(): void {
    for (const [key, { held }] of [...programs].slice(0, -1)) {
      if (programs.size <= OPEN_PROGRAMS) return;
      if (held > 0) continue;
      programs.delete(key);
      client.tell({ type: 'drop', key });
    }
  }

  return {
    probe: (model: Uint8Array<ArrayBuffer>) =>
      client.ask({
        type: 'probe',
        provider: options.provider,
        ...(options.ortLibrary !== undefined && { ortLibrary: options.ortLibrary }),
        model,
      }).answer,
    close: () => client.close(),

    async forward(inputs: Tensors, values: ParameterValues, range: Range, mode: ForwardOptions['mode']) {
      const open = openProgram(range.count, mode);
      open.held++;
      try {
        await open.opened;
        const feed = filled(open.feeds, open.program.inputs, open.program.values, (name) => {
          const tensor = inputs.get(name);
          return tensor === undefined ? values.get(name) : picturesOf(tensor.data, tensor.shape, range);
        });
        const { id, answer } = client.ask({ type: 'forward', key: open.key, feed }, [feed.buffer]);
        const { tensors, returned } = await answer;
        open.feeds.push(...returned);
        const outputs: Tensors = new Map(
          open.program.outputs.map(({ name, shape }, index) => [
            name,
            { shape, data: expect(tensors[index], name) },
          ]),
        );
        if (mode === 'train') return { outputs, state: { id, range, open } };
        open.held--;
        return { outputs };
      } catch (error) {
        open.held--;
        throw error;
      }
    },

    async backward({ id, range, open }: ShardState, outputGradients: Tensors): Promise<BackwardResult> {
      const { program } = open;
      const fields = program.outputGradients.map(({ name, shape }) => ({ name, shape }));
      const seeds = filled(
        open.seeds,
        fields,
        [],
        (name) => {
          const tensor = outputGradients.get(name);
          return tensor && picturesOf(tensor.data, tensor.shape, range);
        },
        true,
      );
      const { answer } = client.ask({ type: 'backward', state: id, seeds }, [seeds.buffer]);
      open.held--;
      const { tensors, returned } = await answer;
      open.feeds.push(...returned.slice(0, 1));
      open.seeds.push(...returned.slice(1));
      const given = program.parameterGradients.length;
      const found = new Map(
        program.parameterGradients.map(({ name }, index) => [name, expect(tensors[index], name)]),
      );
      const gradients = new Map(
        part.parameters.map(({ name, shape }) => [
          name,
          found.get(name) ?? new Float32Array(elementsOf(shape)),
        ]),
      );
      const statistics = new Map(
        program.statistics.map(({ name }, index) => [name, expect(tensors[given + index], name)]),
      );
      return { gradients, statistics };
    },

    discard({ id, open }: ShardState): void {
      open.held--;
      client.tell({ type: 'discard', state: id });
    },
  };
}

function toMessage(
  program: GradientProgram,
  head: Pick<ShardOptions, 'provider' | 'ortLibrary' | 'threads'> & { key: string },
) {
  return {
    type: 'program' as const,
    ...head,
    forward: new Uint8Array(serialize(program.forward)),
    ...(program.backward === undefined ? {} : { backward: new Uint8Array(serialize(program.backward)) }),
    feed: [...program.inputs, ...program.values],
    outputs: program.outputs.map(({ name }) => name),
    kept: program.kept.map(({ name }) => name),
    reread: program.reread,
    seeds: program.outputGradients.map(({ tensor, shape }) => ({ name: tensor, shape })),
    results: program.parameterGradients.map(({ tensor }) => tensor),
    statistics: program.statistics.map(({ tensor }) => tensor),
  };
}

/** The tensors end to end, in an array that was used before where there is one. */
function filled(
  pool: FlatArray[],
  first: readonly NamedShape[],
  second: readonly NamedShape[],
  valuesOf: (name: string) => Float32Array | undefined,
  zeroWhereMissing = false,
): FlatArray {
  const fields = [...first, ...second];
  const flat = pool.pop() ?? new Float32Array(fields.reduce((sum, { shape }) => sum + elementsOf(shape), 0));
  let offset = 0;
  for (const { name, shape } of fields) {
    const length = elementsOf(shape);
    const values = valuesOf(name);
    if (values === undefined && !zeroWhereMissing) throw new Error(`no values were given for ${name}`);
    if (values !== undefined && values.length !== length) {
      throw new Error(`${name} has ${values.length} values, expected [${shape.join(', ')}]`);
    }
    if (values === undefined) flat.fill(0, offset, offset + length);
    else flat.set(values, offset);
    offset += length;
  }
  return flat;
}

function picturesOf(data: Float32Array, shape: readonly number[], { start, count }: Range): Float32Array {
  const each = elementsOf(shape.slice(1));
  return data.subarray(start * each, (start + count) * each);
}

function elementsOf(shape: readonly number[]): number {
  return shape.reduce((count, size) => count * size, 1);
}

function expect(tensor: FlatArray | undefined, name: string): FlatArray {
  if (tensor === undefined) throw new Error(`the worker gave no ${name}`);
  return tensor;
}
