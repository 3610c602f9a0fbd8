// One law read in several ways: its expectation, its peak, its middle. Nothing is trained for it.
import {
  detectionEce,
  evaluateDetections,
  HARD_SUPPRESSION,
  localisationEce,
  scoreQuantile,
} from 'edge-detect/core';
import type { Predictions } from 'edge-detect/evaluate';
import { heldOutTables } from '../common/cross-fit.ts';
import type { HeldOut } from '../common/hold-out.ts';
import type { Figures } from '../common/seeded-tables.ts';
import { suppressAll } from '../policies/boxes.ts';

/** Overlap above which a box suppresses another, as `stream` has it. */
export const SUPPRESSION_IOU = 0.7;

/** Small enough to order boxes of one peak and to change no other order: bins lie 1 / 9 apart. */
const TIE_BREAK = 1e-3;

const READINGS = ['expectation', 'argmax', 'argmax, ties by expectation', 'median'] as const;
type Reading = (typeof READINGS)[number];

/** @param expectation of the same law, in [0, 1] */
export function readLaw(probabilities: Float32Array, expectation: number, reading: Reading): number {
  switch (reading) {
    case 'expectation':
      return expectation;
    case 'argmax':
      return peakOf(probabilities);
    case 'argmax, ties by expectation':
      return (peakOf(probabilities) + TIE_BREAK * expectation) / (1 + TIE_BREAK);
    case 'median':
      return scoreQuantile({ probabilities }, 0.5);
    default:
      return reading satisfies never;
  }
}

function peakOf(probabilities: Float32Array): number {
  let peak = 0;
  for (let bin = 1; bin < probabilities.length; bin++)
    if (probabilities[bin]! > probabilities[peak]!) peak = bin;
  return peak / (probabilities.length - 1);
}

/** @param proposed all boxes with their laws, before suppression: the reading orders them there, too */
export function readingFigures(proposed: Predictions, heldOut: HeldOut): ReadonlyMap<Reading, Figures> {
  return new Map(
    READINGS.map((reading) => {
      const read: Predictions = {
        classNames: proposed.classNames,
        pictures: proposed.pictures.map(({ detections, size }) => ({
          size,
          detections: detections.map((detection) => ({
            ...detection,
            score: readLaw(detection.distribution?.probabilities ?? NO_LAW, detection.score, reading),
          })),
        })),
      };
      const kept = suppressAll(read, HARD_SUPPRESSION, SUPPRESSION_IOU);
      const { truth, detections, classNames } = heldOutTables(heldOut, kept);
      const classCount = classNames.length;
      const { ap50, ap } = evaluateDetections(truth, detections, { classCount });
      const quality = localisationEce(truth, detections, { classCount });
      const dEce = detectionEce(truth, detections, { classCount });
      return [
        reading,
        {
          ap50,
          ap,
          dEce: dEce.measured?.error ?? null,
          laEce0: quality.laEce.mean,
          signed: quality.signed,
          'boxes above 0': detections.scores.filter((score) => score > 0).length / heldOut.pictures.length,
        },
      ];
    }),
  );
}

const NO_LAW = new Float32Array([1, 0]);
