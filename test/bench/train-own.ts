// Our side of the training benchmark: engine, criterion and optimiser as the loop puts them together.
import { createRandom } from '../../src/core/random.ts';
import { createDetectionCriterion } from '../../training/detection-criterion.ts';
import type { Tensors } from '../../training/engines/engine.ts';
import { openOnnxEngine } from '../../training/engines/onnx/engine.ts';
import { createOptimizer, OPTIMIZER_DEFAULTS } from '../../training/optimizer.ts';
import { benchSpec, type PictureBoxes, targetsOf } from './train-criterion.ts';
import { benchNet, type NetKind } from './train-nets.ts';
import type { Steps } from './train-torch.ts';

export interface OwnSetting {
  readonly net: NetKind;
  readonly threads: number;
  readonly workers: number;
  readonly steps: number;
  readonly warmUp: number;
  /** One list a picture. */
  readonly objects: readonly PictureBoxes[];
}

const LEARNING_RATE = 1e-3;

export interface OwnSteps extends Steps {
  /** Wall clock of the criterion alone, a part of `wallMs`. */
  readonly criterionMs: readonly number[];
}

export async function ownSteps(setting: OwnSetting): Promise<OwnSteps> {
  const { net, threads, workers, steps, warmUp, objects } = setting;
  const { part, values } = benchNet(net);
  const engine = await openOnnxEngine(part, { threads, workers });
  const criterion = createDetectionCriterion(benchSpec(net));
  const targets = targetsOf(objects);
  const inputs = randomInputs(part.inputs, objects.length);
  const optimizer = createOptimizer({ ...OPTIMIZER_DEFAULTS, weightDecay: 0 }, part.parameters);
  const wallMs: number[] = [];
  const cpuMs: number[] = [];
  const criterionMs: number[] = [];
  const losses: number[] = [];
  for (let step = 0; step < steps + warmUp; step++) {
    const [started, burnt] = [performance.now(), process.cpuUsage()];
    const { outputs, state } = await engine.forward(inputs, values, { mode: 'train' });
    const judged = performance.now();
    const { terms, gradients } = criterion.evaluate(outputs, targets);
    criterionMs.push(performance.now() - judged);
    const result = await engine.backward(state!, gradients);
    optimizer.step(values, result.gradients, LEARNING_RATE);
    const { user, system } = process.cpuUsage(burnt);
    wallMs.push(performance.now() - started);
    cpuMs.push((user + system) / 1000);
    losses.push(terms.total);
  }
  await engine.close();
  const timed = (values: readonly number[]) => values.slice(warmUp);
  return {
    ...{ wallMs: timed(wallMs), cpuMs: timed(cpuMs), criterionMs: timed(criterionMs) },
    losses: losses.slice(0, 7),
  };
}

function randomInputs(
  specs: readonly { readonly name: string; readonly shape: readonly number[] }[],
  batch: number,
): Tensors {
  const random = createRandom(2);
  return new Map(
    specs.map(({ name, shape }) => {
      const length = shape.reduce((product, size) => product * size, batch);
      return [name, { shape: [batch, ...shape], data: Float32Array.from({ length }, () => random.normal()) }];
    }),
  );
}
