// The loss of the score's law at every anchor: its target on assigned anchors, the background's elsewhere.
import type { AnchorGrid } from '../../assign/anchor-grid.ts';
import type { QualityLossConfig } from '../../criterion-config.ts';
import { BACKGROUND, type BackgroundRow, createBackgroundLoss } from '../law-planes.ts';
import { createSigmoidLoss } from '../sigmoid.ts';
import { createTwoHotLoss, scorePosition, type TwoHotRow } from '../two-hot.ts';
import type { FrozenFactors } from '../types.ts';
import { type Batch, createPlaceFinder } from './batch.ts';

export interface QualityTerm {
  /** Writes scale · d Σ / d logits for every anchor and returns Σ of the loss. */
  evaluate(batch: Batch, scale: number): number;
}

/** @param negative label of the background, 0 unless smoothed */
export function createQualityTerm(
  grid: AnchorGrid,
  bins: number,
  loss: QualityLossConfig,
  negative: number,
): QualityTerm {
  return loss.kind === 'dfl' ? dflTerm(grid, bins, loss, negative) : scalarTerm(grid, loss, negative);
}

function emptyFactors(): FrozenFactors & { values: Float64Array } {
  return { values: new Float64Array(0), offset: 0, held: false };
}

/** Keeps room for `count` factors; what was there is only needed while nothing grows. */
function reserve(factors: { values: Float64Array }, count: number): void {
  if (factors.values.length < count) factors.values = new Float64Array(count);
}

function dflTerm(
  grid: AnchorGrid,
  bins: number,
  { gamma, negativeGamma }: Extract<QualityLossConfig, { kind: 'dfl' }>,
  negative: number,
): QualityTerm {
  const background = createBackgroundLoss(bins);
  const twoHot = createTwoHotLoss(bins);
  const placeOf = createPlaceFinder(grid);
  const positiveFactors = emptyFactors();
  const backgroundFactors = emptyFactors();
  const empty = new Float32Array(0);
  const map: BackgroundRow = {
    logits: empty,
    offset: 0,
    plane: 0,
    cells: 0,
    states: new Uint8Array(0),
    stateOffset: 0,
    gradient: empty,
    scale: 0,
    position: scorePosition(negative, bins),
    gamma: negativeGamma,
    frozen: negativeGamma > 0 ? backgroundFactors : undefined,
  };
  const row: TwoHotRow = {
    logits: empty,
    offset: 0,
    stride: 0,
    position: 0,
    gamma,
    gradient: empty,
    gradientOffset: 0,
    gradientStride: 0,
    scale: 0,
    ...(gamma > 0 && { frozen: positiveFactors }),
  };
  function backgroundSum(batch: Batch, scale: number): number {
    let value = 0;
    map.scale = scale;
    map.states = batch.states;
    for (const [index, { start, cells }] of grid.levels.entries()) {
      map.logits = batch.levels[index]!.quality;
      map.gradient = batch.gradients[index]!.quality;
      map.plane = cells;
      map.cells = cells;
      for (let picture = 0; picture < batch.pictures; picture++) {
        for (let location = 0; location < grid.locations; location++) {
          map.offset = (picture * grid.locations + location) * bins * cells;
          map.stateOffset = picture * grid.count + start + location * cells;
          backgroundFactors.offset = 2 * map.stateOffset;
          value += background.writeInto(map);
        }
      }
    }
    return value;
  }
  return {
    evaluate(batch, scale) {
      const { positives, levels, gradients, held } = batch;
      if (negativeGamma > 0) reserve(backgroundFactors, 2 * batch.pictures * grid.count);
      reserve(positiveFactors, 2 * positives.count);
      positiveFactors.held = held;
      backgroundFactors.held = held;
      let value = backgroundSum(batch, scale);
      row.scale = scale;
      for (let index = 0; index < positives.count; index++) {
        const {
          level,
          map: mapIndex,
          cell,
          cells,
        } = placeOf(positives.pictures[index]!, positives.anchors[index]!);
        row.logits = levels[level]!.quality;
        row.gradient = gradients[level]!.quality;
        row.offset = mapIndex * bins * cells + cell;
        row.gradientOffset = row.offset;
        row.stride = cells;
        row.gradientStride = cells;
        row.position = scorePosition(positives.targets[index]!, bins);
        positiveFactors.offset = 2 * index;
        value += twoHot.addInto(row);
      }
      return value;
    },
  };
}

/** Two bins are a sigmoid of the difference of their logits: d / d z1 = −d / d z0. */
function scalarTerm(
  grid: AnchorGrid,
  { kind, gamma, alpha }: Exclude<QualityLossConfig, { kind: 'dfl' }>,
  negative: number,
): QualityTerm {
  const loss = createSigmoidLoss(kind, {
    ...(gamma !== undefined && { gamma }),
    ...(alpha !== undefined && { alpha }),
  });
  const placeOf = createPlaceFinder(grid);
  const factors = emptyFactors();
  function one(
    batch: Batch,
    level: number,
    first: number,
    cells: number,
    place: number,
    target: number,
    scale: number,
  ) {
    const logits = batch.levels[level]!.quality;
    const gradient = batch.gradients[level]!.quality;
    const held = loss.weightFrozen && batch.held ? factors.values[place] : undefined;
    const result = loss.evaluate(logits[first + cells]! - logits[first]!, target, held);
    if (loss.weightFrozen && !batch.held) factors.values[place] = result.weight;
    gradient[first] = -scale * result.gradient;
    gradient[first + cells] = scale * result.gradient;
    return result.value;
  }
  return {
    evaluate(batch, scale) {
      const { positives, states, gradients } = batch;
      if (loss.weightFrozen) reserve(factors, batch.pictures * grid.count);
      let value = 0;
      for (const [level, { start, cells }] of grid.levels.entries()) {
        const gradient = gradients[level]!.quality;
        for (let map = 0; map < batch.pictures * grid.locations; map++) {
          const picture = Math.floor(map / grid.locations);
          const anchor = picture * grid.count + start + (map - picture * grid.locations) * cells;
          for (let cell = 0; cell < cells; cell++) {
            const first = 2 * map * cells + cell;
            if (states[anchor + cell] === BACKGROUND) {
              value += one(batch, level, first, cells, anchor + cell, negative, scale);
            } else {
              gradient[first] = 0;
              gradient[first + cells] = 0;
            }
          }
        }
      }
      for (let index = 0; index < positives.count; index++) {
        const picture = positives.pictures[index]!;
        const anchor = positives.anchors[index]!;
        const { level, map, cell, cells } = placeOf(picture, anchor);
        const place = picture * grid.count + anchor;
        value += one(batch, level, 2 * map * cells + cell, cells, place, positives.targets[index]!, scale);
      }
      return value;
    },
  };
}
