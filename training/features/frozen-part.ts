// Runs the frozen part of a detector: one picture in, the tensors at the freeze boundary out.
import { formatShape, ModelError, type Size } from '#core';
import { type ModelProto, serialize } from '#onnx';
import { openOrtNodeSession, type Provider, type Session } from '#runtime';
import type { TensorShape } from '../pictures/tensor-pool.ts';

export interface FrozenPartOptions {
  /** Picture in, boundary tensors out. */
  readonly model: ModelProto;
  readonly inputName: string;
  readonly input: Size;
  /** What is expected at the boundary. */
  readonly features: readonly TensorShape[];
  readonly provider: Provider;
  /**
   * Sessions of one thread each, so that pictures are spread over the cores. A GPU is one session.
   */
  readonly sessions: number;
}

/** Values at the boundary, in the order of `FrozenPartOptions.features`. */
export type FeatureValues = readonly Float32Array[];

export interface FrozenPart {
  /**
   * One picture at a time goes through a session (a neighbour in the batch would change the features of a quantised
   * graph). Calls beyond the number of free inputs wait, so memory is bounded.
   * @param fill writes the picture into float32[3 * H * W]
   */
  extract<Filled>(
    fill: (target: Float32Array) => Promise<Filled>,
  ): Promise<{ readonly filled: Filled; readonly features: FeatureValues }>;
  /** How many calls of `extract` are worth making at once. */
  readonly parallel: number;
  close(): Promise<void>;
}

/** @throws ModelError where the graph cannot be loaded, DeviceError where the provider is not usable */
export async function openFrozenPart(options: FrozenPartOptions): Promise<FrozenPart> {
  const { inputName, input, features, provider } = options;
  const bytes = serialize(options.model);
  const sessions: Session[] = [];
  try {
    for (let index = 0; index < options.sessions; index++) {
      sessions.push(await openOrtNodeSession(bytes, 'the frozen part', { provider, threads: 1 }));
    }
  } catch (error) {
    await Promise.all(sessions.map((session) => session.close()));
    throw error;
  }
  // One picture is prepared while another is computed.
  const lanes = createLanes(2 * sessions.length, 3 * input.width * input.height);
  const waiting = sessions.map(() => 0);
  const spec = { name: inputName, shape: [1, 3, input.height, input.width] };
  return {
    parallel: 2 * sessions.length,
    async extract(fill) {
      let memory = await lanes.take();
      try {
        const filled = await fill(memory);
        const place = waiting.indexOf(Math.min(...waiting));
        waiting[place]!++;
        const result = await sessions[place]!.run(memory, spec).finally(() => waiting[place]!--);
        memory = result.input as Float32Array<ArrayBuffer>;
        const values = features.map(({ name, shape }) =>
          expectFeature(name, shape, result.outputs.get(name)),
        );
        return { filled, features: values };
      } finally {
        lanes.giveBack(memory);
      }
    },
    async close() {
      await Promise.all(sessions.map((session) => session.close()));
    },
  };
}

function expectFeature(
  name: string,
  shape: readonly number[],
  found: { readonly shape: readonly number[]; readonly data: unknown } | undefined,
): Float32Array {
  const expected = [1, ...shape];
  const fits =
    found?.shape.length === expected.length && found.shape.every((axis, i) => axis === expected[i]);
  if (found !== undefined && fits && found.data instanceof Float32Array) return found.data;
  throw new ModelError(
    `the frozen part gave ${name} ${found ? formatShape(found.shape) : 'not at all'}, expected ${formatShape(expected)} of float32`,
    { hint: 'run `edge-detect inspect model=…` on the host and report this with its output' },
  );
}

interface Lanes {
  take(): Promise<Float32Array<ArrayBuffer>>;
  giveBack(memory: Float32Array<ArrayBuffer>): void;
}

/** Input memory that is handed around; whoever finds none waits. */
function createLanes(count: number, length: number): Lanes {
  const free = Array.from({ length: count }, () => new Float32Array(length));
  const queue: ((memory: Float32Array<ArrayBuffer>) => void)[] = [];
  return {
    async take() {
      return free.pop() ?? new Promise((resolve) => queue.push(resolve));
    },
    giveBack(memory) {
      // Memory that a failed run has taken along has no bytes left.
      const whole = memory.length === length ? memory : new Float32Array(length);
      const next = queue.shift();
      if (next) next(whole);
      else free.push(whole);
    },
  };
}
