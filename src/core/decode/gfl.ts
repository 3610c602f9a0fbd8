// NanoDet, NanoDet-Plus, PicoDet: class scores and a distribution per box side, rows per level or joined.

import type { HeadOutputs } from '../candidates.ts';
import type { GflLayout } from '../head-layout.ts';
import { BestClassScan } from './best-class.ts';
import type { CandidateBuffer } from './candidate-buffer.ts';
import { keepDflSurvivors } from './dfl-level.ts';
import { DflSides } from './dfl-sides.ts';
import { logitFloor, type PreparedFloor } from './floor.ts';
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
    const { scores, distances, distanceStart, distanceStep } = this.#scanScores(level, outputs, floor);
    const memory = {
      data: distances ?? scores,
      start: distanceStart,
      cellStep: distanceStep,
      sideSteps: { side: bins, bin: 1 },
    };
    const dflLevel = { shape: level, firstAnchor, cellOffset, scoresAre };
    return keepDflSurvivors(this.#scan, this.#sides, memory, dflLevel, floor, into);
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
