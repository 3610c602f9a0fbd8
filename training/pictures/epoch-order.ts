// Which picture comes when, and with which luck: by seed, epoch and place alone, so that a resumed run meets the same.
import { createRandom, deriveSeed, type Random } from '#core';

/** Purposes of `deriveSeed`, so that order and augmentation do not share their draws. */
const ORDER = 1;
const SAMPLE = 2;

/** A permutation of 0 … pictureCount − 1. */
export function epochOrder(seed: number, epoch: number, pictureCount: number): Uint32Array {
  const order = Uint32Array.from({ length: pictureCount }, (_, index) => index);
  createRandom(deriveSeed(seed, ORDER, epoch)).shuffle(order);
  return order;
}

/** The generator of one picture in one epoch (or of one of its variants), wherever it comes in the order. */
export function sampleRandom(seed: number, epoch: number, index: number): Random {
  return createRandom(deriveSeed(seed, SAMPLE, epoch, index));
}
