// Feature maps before any decoding: side distributions and class scores per level (raw YOLOv8-style heads).
import type { HeadOutputs } from '../candidates.ts';
import type { RawDflLayout } from '../head-layout.ts';
import { BestClassScan } from './best-class.ts';
import type { CandidateBuffer } from './candidate-buffer.ts';
import { keepDflSurvivors } from './dfl-level.ts';
import { DflSides } from './dfl-sides.ts';
import { logitFloor, type PreparedFloor } from './floor.ts';
import { type HeadReader, PLAIN } from './head-reader.ts';
import { floatsOf, tensorOf } from './outputs.ts';

type RawDflLevel = RawDflLayout['levels'][number];

const CELL_CENTRE = 0.5;

export function createRawDflReader(layout: RawDflLayout, boxVariance: boolean): HeadReader {
  const largest = Math.max(...layout.levels.map(({ columns, rows }) => columns * rows));
  const level = new RawDflLevelReader(layout, new BestClassScan(largest));
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

class RawDflLevelReader {
  readonly #layout: RawDflLayout;
  readonly #scan: BestClassScan;
  readonly #sides: DflSides;

  constructor(layout: RawDflLayout, scan: BestClassScan) {
    this.#layout = layout;
    this.#scan = scan;
    this.#sides = new DflSides(layout.bins, 'logits');
  }

  read(
    level: RawDflLevel,
    firstAnchor: number,
    outputs: HeadOutputs,
    floor: PreparedFloor,
    into: CandidateBuffer,
  ): number {
    const { bins, classCount, scoresAre } = this.#layout;
    const scan = this.#scan;
    const cells = level.columns * level.rows;
    const scores = mapOf(outputs, level.scores, level.firstScoreChannel + classCount, level);
    const distances = mapOf(outputs, level.distances, 4 * bins, level);
    const lowest = scoresAre === 'logits' ? logitFloor(floor.lowest) : floor.lowest;
    const offset = level.firstScoreChannel * cells;
    scan.scanPlanes(scores, { offset, step: cells, classCount, count: cells }, lowest);
    const memory = { data: distances, start: 0, cellStep: 1, sideSteps: { side: bins * cells, bin: cells } };
    const dflLevel = { shape: level, firstAnchor, cellOffset: CELL_CENTRE, scoresAre };
    return keepDflSurvivors(scan, this.#sides, memory, dflLevel, floor, into);
  }
}

/** A map of at least so many channels: one that holds boxes and scores has more than either needs. */
function mapOf(
  outputs: HeadOutputs,
  name: string,
  least: number,
  { columns, rows }: RawDflLevel,
): Float32Array {
  const channels = tensorOf(outputs, name).data.length / (columns * rows);
  const enough = Number.isInteger(channels) && channels >= least;
  return floatsOf(outputs, name, [1, enough ? channels : least, rows, columns]);
}
