// NanoDet, NanoDet-Plus, PicoDet: class scores and a distribution per box side, rows per level or joined.

import type { HeadOutputs } from '../candidates.ts';
import type { GflLayout } from '../head-layout.ts';
import { BestClassScan } from './best-class.ts';
import type { CandidateBuffer } from './candidate-buffer.ts';
import { DflSides } from './dfl-sides.ts';
import { logitFloor, type PreparedFloor, sigmoid } from './floor.ts';
import { type HeadReader, PLAIN } from './head-reader.ts';
import { floatsOf, tensorOf } from './outputs.ts';

type GflLevel = GflLayout['levels'][number];

export function createGflReader(layout: GflLayout, boxVariance: boolean): HeadReader {
  const largest = Math.max(...layout.levels.map(({ columns, rows }) => columns * rows));
  const scan = new BestClassScan(largest);
  const sides = new DflSides(layout.bins, 'logits');
  const level = new GflLevelReader(layout, scan, sides);
  return {
    ...PLAIN,
    boxVariance,
    read(outputs, floor, into) {
      let firstAnchor = 0;
      let dropped = 0;
      for (const shape of layout.levels) {
        dropped += level.read(shape, firstAnchor, outputs, floor, into);
        firstAnchor += shape.columns * shape.rows;
      }
      return dropped;
    },
  };
}

class GflLevelReader {
  readonly #layout: GflLayout;
  readonly #scan: BestClassScan;
  readonly #sides: DflSides;

  constructor(layout: GflLayout, scan: BestClassScan, sides: DflSides) {
    this.#layout = layout;
    this.#scan = scan;
    this.#sides = sides;
  }

  read(
    level: GflLevel,
    firstAnchor: number,
    outputs: HeadOutputs,
    floor: PreparedFloor,
    into: CandidateBuffer,
  ): number {
    const { bins, cellOffset, scoresAre } = this.#layout;
    const scan = this.#scan;
    const sides = this.#sides;
    const { scores, distances, distanceStart, distanceStep } = this.#scanScores(level, outputs, floor);
    let dropped = scan.nonFinite;
    for (let index = 0; index < scan.count; index++) {
      const cell = scan.survivors[index]!;
      const raw = scan.best[cell]!;
      const score = scoresAre === 'logits' ? Math.fround(sigmoid(raw)) : raw;
      const classId = scan.bestClass[cell]!;
      if (!floor.passes(classId, score)) continue;
      const place = into.place(firstAnchor + cell, classId, score);
      sides.read(distances ?? scores, distanceStart + cell * distanceStep, { side: bins, bin: 1 });
      const column = cell % level.columns;
      const row = (cell - column) / level.columns;
      const x = column + cellOffset;
      const y = row + cellOffset;
      const kept = into.keepCorners(
        (x - sides.means[0]!) * level.stride,
        (y - sides.means[1]!) * level.stride,
        (x + sides.means[2]!) * level.stride,
        (y + sides.means[3]!) * level.stride,
      );
      if (kept && into.boxVariances) sides.writeVariancesInto(into.boxVariances, 4 * place, level.stride);
      if (!kept || !into.keepIfVarianceFinite()) dropped++;
    }
    return dropped;
  }

  /** Classes come first; where both share an output, the sides follow in the same row. */
  #scanScores(level: GflLevel, outputs: HeadOutputs, floor: PreparedFloor) {
    const { bins, classCount, scoresAre } = this.#layout;
    const joined = level.scores === level.distances;
    const count = level.columns * level.rows;
    const step = classCount + (joined ? 4 * bins : 0);
    const scores = rowsOf(outputs, level.scores, step, level.firstRow + count);
    const distances = joined ? undefined : rowsOf(outputs, level.distances, 4 * bins, level.firstRow + count);
    const lowest = scoresAre === 'logits' ? logitFloor(floor.lowest) : floor.lowest;
    this.#scan.scanRows(scores, { offset: level.firstRow * step, step, classCount, count }, lowest);
    const distanceStep = joined ? step : 4 * bins;
    const distanceStart = level.firstRow * distanceStep + (joined ? classCount : 0);
    return { scores, distances, distanceStart, distanceStep };
  }
}

/** Rows of a fixed width; an output that joins levels has more rows than this level needs. */
function rowsOf(outputs: HeadOutputs, name: string, width: number, least: number): Float32Array {
  const rows = tensorOf(outputs, name).data.length / width;
  const enough = Number.isInteger(rows) && rows >= least;
  return floatsOf(outputs, name, [1, enough ? rows : least, width]);
}
