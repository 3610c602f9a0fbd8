// One feature level of a head with a distribution per box side, whatever the order of its outputs in memory.

import type { Level } from '../head-layout.ts';
import type { BestClassScan } from './best-class.ts';
import type { CandidateBuffer } from './candidate-buffer.ts';
import type { DflSides, SideSteps } from './dfl-sides.ts';
import { type PreparedFloor, sigmoid } from './floor.ts';

/** What of a layout matters after the scores were scanned. */
export interface DflLevel {
  readonly shape: Level;
  /** Location of the level's first cell among all locations of the head. */
  readonly firstAnchor: number;
  /** Cell centre is `(x + cellOffset) * stride`. */
  readonly cellOffset: number;
  readonly scoresAre: 'probabilities' | 'logits';
}

/** Where the distributions lie: bin 0 of the left side of cell n is element `start + n * cellStep`. */
export interface DflMemory {
  readonly data: Float32Array;
  readonly start: number;
  readonly cellStep: number;
  readonly sideSteps: SideSteps;
}

/**
 * Keeps what survived the scan of the level's scores: box from the means of the sides, variances where asked for.
 * @returns how many locations were dropped because a number was NaN or infinite, those of the scan included
 */
export function keepDflSurvivors(
  scan: BestClassScan,
  sides: DflSides,
  { data, start, cellStep, sideSteps }: DflMemory,
  { shape, firstAnchor, cellOffset, scoresAre }: DflLevel,
  floor: PreparedFloor,
  into: CandidateBuffer,
): number {
  const { columns, stride } = shape;
  let dropped = scan.nonFinite;
  for (let index = 0; index < scan.count; index++) {
    const cell = scan.survivors[index]!;
    const raw = scan.best[cell]!;
    const score = scoresAre === 'logits' ? Math.fround(sigmoid(raw)) : raw;
    const classId = scan.bestClass[cell]!;
    if (!floor.passes(classId, score)) continue;
    const place = into.place(firstAnchor + cell, classId, score);
    sides.read(data, start + cell * cellStep, sideSteps);
    const column = cell % columns;
    const x = column + cellOffset;
    const y = (cell - column) / columns + cellOffset;
    const kept = into.keepCorners(
      (x - sides.means[0]!) * stride,
      (y - sides.means[1]!) * stride,
      (x + sides.means[2]!) * stride,
      (y + sides.means[3]!) * stride,
    );
    if (kept && into.boxVariances) sides.writeVariancesInto(into.boxVariances, 4 * place, stride);
    if (!kept || !into.keepIfVarianceFinite()) dropped++;
  }
  return dropped;
}
