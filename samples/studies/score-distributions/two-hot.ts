// The product's loss of a law over bins, one law at a time, and where it is least.
import { createTwoHotLoss, scorePosition } from 'edge-detect/training';

/** @param target in [0, 1] */
export function twoHotLoss(logits: readonly number[], target: number, gamma: number): number {
  return evaluated(logits, target, gamma).value;
}

function evaluated(logits: readonly number[], target: number, gamma: number) {
  const bins = logits.length;
  const gradient = new Float64Array(bins);
  const value = createTwoHotLoss(bins).addInto({
    logits: Float64Array.from(logits),
    offset: 0,
    stride: 1,
    position: scorePosition(target, bins),
    gamma,
    gradient,
    gradientOffset: 0,
    gradientStride: 1,
    scale: 1,
  });
  return { value, gradient };
}

const STEPS = 100;

/**
 * Mass of the right bin of two at which the gradient of a target between them is 0: bisection, as the gradient rises.
 * @param weight of the right bin in the target, in (0, 1)
 */
export function bestRightMass(weight: number, gamma: number): number {
  let [low, high] = [-30, 30];
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (evaluated([0, middle], weight, gamma).gradient[1]! > 0) high = middle;
    else low = middle;
  }
  return 1 / (1 + Math.exp(-(low + high) / 2));
}
