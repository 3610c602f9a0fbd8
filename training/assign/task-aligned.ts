// Task-aligned assignment (Feng et al. 2021, TOOD): which anchors answer for an object, and the quality they are to reach.
import { ConfigError } from '#core';
import { createCiou } from '../losses/ciou.ts';
import {
  type AnchorGrid,
  type AnchorList,
  appendInside,
  appendNearest,
  createAnchorList,
} from './anchor-grid.ts';

export interface AssignerConfig {
  /** Anchors per object at most. Default 10. */
  readonly topk: number;
  /** Exponent of the score in the metric score^alpha · CIoU^beta. Default 0.5. */
  readonly alpha: number;
  /** Exponent of the overlap. Default 6. */
  readonly beta: number;
  /**
   * What becomes of an object inside which no anchor's centre lies: `nearest` gives it the cell of the finest level
   * that holds its centre, `none` leaves it unlearned as the published rule does. Default nearest.
   */
  readonly smallObjects: 'nearest' | 'none';
}

export const ASSIGNER_DEFAULTS: AssignerConfig = { topk: 10, alpha: 0.5, beta: 6, smallObjects: 'nearest' };

/** What the network says at the anchors of one picture. */
export interface PicturePredictions {
  /** Called first, with the anchors that boxes and scores will be asked for (each once). */
  prepare(anchors: Int32Array, count: number): void;
  /** Float64[A * 4], x1 y1 x2 y2 in input px. */
  readonly boxes: Float64Array;
  /** E[Q] · p_c, in [0, 1]. */
  score(anchor: number, classId: number): number;
}

/** Objects [first, last) of a batch. */
export interface PictureObjects {
  readonly boxes: Float32Array;
  readonly classIds: Int32Array;
  readonly first: number;
  readonly last: number;
}

/** Anchors of one picture that an object was assigned to, in no order. Used again by the next call. */
export interface Positives {
  count: number;
  anchors: Int32Array;
  /** Object of each, numbered as in the batch. */
  objects: Int32Array;
  /** t · max CIoU / (max t + 1e-9), in [0, 1]. */
  targets: Float64Array;
  /** False when a box or score among the candidates is NaN or infinite. */
  finite: boolean;
}

export interface Assigner {
  assign(objects: PictureObjects, predictions: PicturePredictions): Positives;
}

const EPS = 1e-9;

/** @throws ConfigError for a value out of range */
export function createTaskAlignedAssigner(grid: AnchorGrid, config: AssignerConfig): Assigner {
  checkConfig(config);
  const state = createState(grid.count, config.topk);
  return {
    assign(objects, predictions) {
      const { positives, unique } = state;
      positives.finite = true;
      state.pairs.length = 0;
      unique.length = 0;
      state.stamp++;
      ensureObjects(state, objects.last - objects.first);
      for (let object = objects.first; object < objects.last; object++) {
        const start = state.pairs.length;
        appendInside(state.pairs, grid, objects.boxes, 4 * object);
        if (state.pairs.length === start && config.smallObjects === 'nearest') {
          appendNearest(state.pairs, grid, objects.boxes, 4 * object);
        }
        state.pairEnds[object - objects.first] = state.pairs.length;
        meetAnchors(state, start);
      }
      predictions.prepare(unique.anchors, unique.length);
      for (let object = objects.first; object < objects.last; object++) {
        claimBest(state, config, objects, object, predictions);
      }
      resolve(state, objects);
      return positives;
    },
  };
}

interface State {
  /** Candidates of all objects, one object after the other. */
  readonly pairs: AnchorList;
  /** End of each object's candidates. */
  pairEnds: Int32Array;
  /** Every candidate once. */
  readonly unique: AnchorList;
  stamp: number;
  /** Per anchor: picture it was last met in, objects that claim it, and what the latest claimer and the closest object give. */
  readonly met: Int32Array;
  readonly claims: Int32Array;
  readonly claimer: Int32Array;
  readonly claimMetric: Float64Array;
  readonly claimOverlap: Float64Array;
  readonly closest: Int32Array;
  readonly closestMetric: Float64Array;
  readonly closestOverlap: Float64Array;
  /** The best anchors of one object, best first. */
  readonly bestAnchors: Int32Array;
  readonly bestMetrics: Float64Array;
  readonly bestOverlaps: Float64Array;
  /** Per object of the picture. */
  maxMetric: Float64Array;
  maxOverlap: Float64Array;
  readonly positives: Positives;
  readonly ciou: ReturnType<typeof createCiou>;
}

function createState(count: number, topk: number): State {
  return {
    pairs: createAnchorList(),
    pairEnds: new Int32Array(64),
    unique: createAnchorList(count),
    stamp: 0,
    met: new Int32Array(count),
    claims: new Int32Array(count),
    claimer: new Int32Array(count),
    claimMetric: new Float64Array(count),
    claimOverlap: new Float64Array(count),
    closest: new Int32Array(count),
    closestMetric: new Float64Array(count),
    closestOverlap: new Float64Array(count),
    bestAnchors: new Int32Array(topk),
    bestMetrics: new Float64Array(topk),
    bestOverlaps: new Float64Array(topk),
    maxMetric: new Float64Array(64),
    maxOverlap: new Float64Array(64),
    positives: {
      count: 0,
      anchors: new Int32Array(count),
      objects: new Int32Array(count),
      targets: new Float64Array(count),
      finite: true,
    },
    ciou: createCiou(),
  };
}

function ensureObjects(state: State, count: number): void {
  if (state.pairEnds.length < count) {
    state.pairEnds = new Int32Array(2 * count);
    state.maxMetric = new Float64Array(2 * count);
    state.maxOverlap = new Float64Array(2 * count);
  }
  state.maxMetric.fill(0, 0, count);
  state.maxOverlap.fill(0, 0, count);
}

function meetAnchors({ pairs, unique, met, claims, closestOverlap, stamp }: State, start: number): void {
  for (let pair = start; pair < pairs.length; pair++) {
    const anchor = pairs.anchors[pair]!;
    if (met[anchor] === stamp) continue;
    met[anchor] = stamp;
    claims[anchor] = 0;
    closestOverlap[anchor] = -1;
    unique.anchors[unique.length++] = anchor;
  }
}

/** Measures every candidate of an object and claims its best ones. */
function claimBest(
  state: State,
  { topk, alpha, beta }: AssignerConfig,
  { boxes, classIds, first }: PictureObjects,
  object: number,
  predictions: PicturePredictions,
): void {
  const { pairs, pairEnds, positives, bestAnchors, bestMetrics, bestOverlaps } = state;
  const local = object - first;
  const classId = classIds[object]!;
  let kept = 0;
  for (let pair = local === 0 ? 0 : pairEnds[local - 1]!; pair < pairEnds[local]!; pair++) {
    const anchor = pairs.anchors[pair]!;
    const score = predictions.score(anchor, classId);
    const { ciou } = state.ciou.value(predictions.boxes, 4 * anchor, boxes, 4 * object);
    const overlap = Math.max(0, ciou);
    if (!Number.isFinite(score + ciou)) positives.finite = false;
    const metric = overlap === 0 ? 0 : alignment(score, overlap, alpha, beta);
    if (overlap > state.closestOverlap[anchor]!) {
      state.closestOverlap[anchor] = overlap;
      state.closest[anchor] = object;
      state.closestMetric[anchor] = metric;
    }
    // Equal metrics go to the lower anchor, which comes first; a NaN is not above 0.
    if (!(metric > 0) || (kept === topk && metric <= bestMetrics[topk - 1]!)) continue;
    let place = kept < topk ? kept++ : topk - 1;
    for (; place > 0 && bestMetrics[place - 1]! < metric; place--) {
      bestAnchors[place] = bestAnchors[place - 1]!;
      bestMetrics[place] = bestMetrics[place - 1]!;
      bestOverlaps[place] = bestOverlaps[place - 1]!;
    }
    bestAnchors[place] = anchor;
    bestMetrics[place] = metric;
    bestOverlaps[place] = overlap;
  }
  for (let place = 0; place < kept; place++) {
    const anchor = bestAnchors[place]!;
    state.claims[anchor]!++;
    state.claimer[anchor] = object;
    state.claimMetric[anchor] = bestMetrics[place]!;
    state.claimOverlap[anchor] = bestOverlaps[place]!;
  }
}

/** score^alpha · overlap^beta; the usual exponents without the slow power. */
function alignment(score: number, overlap: number, alpha: number, beta: number): number {
  if (alpha !== 0.5 || beta !== 6) return score ** alpha * overlap ** beta;
  const cube = overlap * overlap * overlap;
  return Math.sqrt(score) * cube * cube;
}

/** Gives an anchor claimed twice to the object it overlaps most, and turns metrics into targets. */
function resolve(state: State, { first }: PictureObjects): void {
  const { unique, claims, claimMetric, positives, maxMetric, maxOverlap } = state;
  positives.count = 0;
  for (let index = 0; index < unique.length; index++) {
    const anchor = unique.anchors[index]!;
    if (claims[anchor] === 0) continue;
    const contested = claims[anchor]! > 1;
    const owner = contested ? state.closest[anchor]! : state.claimer[anchor]!;
    const overlap = contested ? state.closestOverlap[anchor]! : state.claimOverlap[anchor]!;
    if (contested) claimMetric[anchor] = state.closestMetric[anchor]!;
    const metric = claimMetric[anchor]!;
    const local = owner - first;
    if (metric > maxMetric[local]!) maxMetric[local] = metric;
    if (overlap > maxOverlap[local]!) maxOverlap[local] = overlap;
    positives.anchors[positives.count] = anchor;
    positives.objects[positives.count++] = owner;
  }
  for (let index = 0; index < positives.count; index++) {
    const local = positives.objects[index]! - first;
    const metric = claimMetric[positives.anchors[index]!]!;
    positives.targets[index] = (metric * maxOverlap[local]!) / (maxMetric[local]! + EPS);
  }
}

function checkConfig({ topk, alpha, beta, smallObjects }: AssignerConfig): void {
  if (!(Number.isInteger(topk) && topk > 0)) {
    throw new ConfigError(`topk of the assigner is ${topk}, expected an integer above 0`, {
      hint: 'topk=10 is usual',
    });
  }
  if (!(alpha >= 0 && beta >= 0 && Number.isFinite(alpha + beta))) {
    throw new ConfigError(`alpha ${alpha} and beta ${beta} of the assigner: expected numbers of 0 or more`, {
      hint: 'alpha=0.5 and beta=6 are usual',
    });
  }
  if (smallObjects !== 'nearest' && smallObjects !== 'none') {
    throw new ConfigError(`smallObjects of the assigner is '${String(smallObjects)}'; known: nearest, none`, {
      hint: 'take nearest to learn objects that lie between all cell centres',
    });
  }
}
