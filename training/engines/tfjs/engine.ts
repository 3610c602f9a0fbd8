// The `tfjs` engine: the trainable graph in operations of TensorFlow.js, differentiated by its tape.
import { setImmediate } from 'node:timers/promises';
import type { TrainablePart } from '#onnx';
import { differentiate } from '../../autodiff/index.ts';
import type {
  BackwardResult,
  Engine,
  ForwardOptions,
  ForwardResult,
  ForwardState,
  ParameterValues,
  Tensors,
} from '../engine.ts';
import { feedOf, gradientsOf, releaseFeed } from './feed.ts';
import type { Feed, Program } from './program.ts';
import { createConstants, evaluate, planProgram } from './program.ts';
import type { LoadedTensorflow, Tensor, Tensorflow, TfjsBackend } from './tensorflow.ts';
import { loadTensorflow } from './tensorflow.ts';
import type { Value } from './value.ts';
import { channelsLastTensor, plainTensor, plainValue } from './value.ts';

export interface TfjsEngineOptions {
  readonly backend: TfjsBackend;
  /** File beside whose `node_modules` a native binding is looked for. Default: this package. */
  readonly searchFrom?: string;
}

/**
 * It computes on the thread that calls it. The backward pass computes the forward pass again: what the tape of
 * TensorFlow.js records cannot be held between two calls.
 * @throws ModelError naming node and operator where the part cannot be differentiated, DeviceError naming what a
 * backend lacks here
 */
export async function openTfjsEngine(
  part: TrainablePart,
  { backend, searchFrom }: TfjsEngineOptions = { backend: 'wasm' },
): Promise<Engine> {
  const { parameterGradients } = differentiate(part, {
    batch: 1,
    mode: 'train',
    composedNormalization: false,
  });
  planProgram(part, 1, 'train');
  const loaded = await loadTensorflow(backend, searchFrom);
  const trained = parameterGradients.map(({ name }) => name);
  return createEngine(part, loaded, trained);
}

/** A forward pass that waits for its backward pass. */
interface Held {
  readonly program: Program;
  readonly feed: Feed;
  readonly statistics: ParameterValues;
}

function createEngine(
  part: TrainablePart,
  { tf, backendName, plan }: LoadedTensorflow,
  trained: readonly string[],
): Engine {
  const programs = new Map<string, Program>();
  const constants = createConstants(tf);
  const states = new Map<number, Held>();
  let nextState = 0;
  const ready = async () => {
    await setImmediate(); // signals and timers get their turn between passes
    if (tf.getBackend() !== backendName) await tf.setBackend(backendName);
  };
  const programFor = (batch: number, mode: ForwardOptions['mode']): Program => {
    const key = `${mode} ${batch}`;
    const program = programs.get(key) ?? planProgram(part, batch, mode);
    programs.set(key, program);
    return program;
  };
  const take = ({ id }: ForwardState): Held => {
    const found = states.get(id);
    if (found === undefined) throw new Error(`forward pass ${id} was used already`);
    states.delete(id);
    return found;
  };
  const run = (program: Program, feed: Feed) =>
    evaluate(tf, program, feed, (name) => constants.get(name, program.graph.constants));
  return {
    plan,
    async forward(inputs, parameters, { mode }): Promise<ForwardResult> {
      await ready();
      const { batch, feed } = feedOf(tf, part, { inputs, parameters, mode });
      try {
        const program = programFor(batch, mode);
        const results = tf.tidy(() => {
          const values = run(program, feed);
          return [...values].map(([name, value]) => ({ name, tensor: tf.clone(plainTensor(tf, value)) }));
        });
        const read = await readAll(results);
        const outputs: Tensors = new Map(
          part.outputs.map(({ name, shape }) => [
            name,
            { shape: [batch, ...shape], data: expectRead(read, name) },
          ]),
        );
        if (mode === 'evaluate') {
          releaseFeed(feed);
          return { outputs };
        }
        const statistics = new Map(
          program.statistics.map(({ name, tensor }) => [name, expectRead(read, tensor)]),
        );
        const id = nextState++;
        states.set(id, { program, feed, statistics });
        return { outputs, state: { id } };
      } catch (error) {
        releaseFeed(feed);
        throw error;
      }
    },
    async backward(state, outputGradients): Promise<BackwardResult> {
      const { program, feed, statistics } = take(state);
      try {
        await ready();
        const seeds = gradientsOf(tf, part, program, outputGradients);
        const computed =
          trained.length === 0
            ? []
            : tf.tidy(() => differentiateOnce(tf, { trained, feed, seeds }, (given) => run(program, given)));
        releaseFeed(seeds);
        const read = await readAll(computed);
        const gradients = new Map(
          part.parameters.map(({ name, shape }) => {
            const size = shape.reduce((count, length) => count * length, 1);
            return [name, read.get(name) ?? new Float32Array(size)];
          }),
        );
        return { gradients, statistics };
      } finally {
        releaseFeed(feed);
      }
    },
    discard(state) {
      releaseFeed(take(state).feed);
    },
    async close() {
      for (const { feed } of states.values()) releaseFeed(feed);
      states.clear();
      constants.release();
    },
  };
}

interface Differentiation {
  /** Parameters that reach an output. */
  readonly trained: readonly string[];
  readonly feed: Feed;
  /** d loss / d output by output. */
  readonly seeds: Feed;
}

function differentiateOnce(
  tf: Tensorflow,
  { trained, feed, seeds }: Differentiation,
  run: (feed: Feed) => ReadonlyMap<string, Value>,
) {
  const parameters = trained.flatMap((name) => feed.get(name)?.tensor ?? []);
  const gradients = tf.grads((...given: Tensor[]) => {
    const own = given.map((tensor, index) => [trained[index] ?? '', plainValue(tensor)] as const);
    const outputs = run(new Map([...feed, ...own]));
    const terms = [...seeds].flatMap(([name, seed]) => {
      const output = outputs.get(name);
      return output === undefined ? [] : seeded(tf, output, seed);
    });
    return terms.reduce((a, b) => tf.add(a, b));
  })(parameters);
  return gradients.map((tensor, index) => ({ name: trained[index] ?? '', tensor }));
}

/** A term whose gradient with respect to the output is the seed; its own value is never used. */
function seeded(tf: Tensorflow, output: Value, seed: Value): Tensor {
  return tf.customGrad(() => ({
    value: tf.scalar(0),
    gradFunc: () => (output.channelsLast ? channelsLastTensor(tf, seed) : tf.clone(seed.tensor)),
  }))(output.tensor);
}

async function readAll(
  results: readonly { readonly name: string; readonly tensor: Tensor }[],
): Promise<Map<string, Float32Array<ArrayBuffer>>> {
  try {
    const arrays = await Promise.all(results.map(({ tensor }) => tensor.data()));
    return new Map(results.map(({ name }, index) => [name, arrays[index] as Float32Array<ArrayBuffer>]));
  } finally {
    for (const { tensor } of results) tensor.dispose();
  }
}

function expectRead(
  read: ReadonlyMap<string, Float32Array<ArrayBuffer>>,
  name: string,
): Float32Array<ArrayBuffer> {
  const found = read.get(name);
  if (found === undefined) throw new Error(`the graph gave no ${name}`);
  return found;
}
