// What goes into the head finder and what comes out of it.
import type { HeadKind, HeadLayout, Size } from '#core';

/**
 * Extra outputs that a graph must be given before its session is created, so that the distribution over box sides,
 * which most detectors compute and throw away, can be read.
 */
export interface TapPlan {
  readonly boxDistribution?: DistributionTap;
  /** Names to hand to `withExtraOutputs`; empty where there is nothing to tap. */
  readonly outputs: readonly string[];
  /** Why a tap was taken, or why there is none. */
  readonly notes: readonly string[];
}

/** A Softmax over bins whose probabilities are multiplied with 0..bins-1. */
export interface DistributionTap {
  /** Name of the tensor with the probabilities. */
  readonly tensor: string;
  readonly bins: number;
  /** Axis of the bins; negative counts from the end. */
  readonly axis: number;
}

export interface FindHeadOptions {
  /** Size of the network's input in px, as it will be run. */
  readonly input: Size;
  /** Forces a kind where two fit, or where the graph says too little. */
  readonly layout?: HeadKind;
  /** Number of classes where the caller knows it (a names file); otherwise the model's own names count. */
  readonly classCount?: number;
}

export interface HeadFinding {
  readonly layout: HeadLayout;
  /** Extra outputs that the layout really reads, by name. */
  readonly taps: readonly string[];
  /** What this head can say about its uncertainty, and what it cannot and why. */
  readonly capabilities: HeadCapabilities;
  /** Why this layout and no other, in sentences for `inspect` and verbose mode. */
  readonly evidence: readonly string[];
}

export interface HeadCapabilities {
  /** Variance of each box side in px². */
  readonly boxVariance: boolean;
  /** Law of the score (our own heads). */
  readonly scoreDistribution: 'bins' | 'mixture' | 'moments' | 'none';
  /** Whether the epistemic part of the score's variance is an output of its own (MC dropout). */
  readonly epistemic: boolean;
  /** In words, for errors and `inspect`. */
  readonly limits: readonly string[];
}

/** Output shapes as a dry run measured them, by output name. */
export type MeasuredShapes = ReadonlyMap<string, readonly number[]>;
