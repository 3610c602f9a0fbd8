// Which anchors answer for which object: golden assignment, and the cases at the edges.
import { describe, expect, it } from 'vitest';
import { ConfigError, createRandom } from '#core';
import {
  appendInside,
  createAnchorGrid,
  createAnchorList,
  levelOf,
} from '../../../training/assign/anchor-grid.ts';
import { createPredictionReader } from '../../../training/assign/predictions.ts';
import {
  ASSIGNER_DEFAULTS,
  type AssignerConfig,
  createTaskAlignedAssigner,
  type PicturePredictions,
} from '../../../training/assign/task-aligned.ts';
import { createBoxCodec } from '../../../training/losses/box-codec.ts';
import { goldenCase } from '../../support/golden.ts';
import { near } from '../losses/differences.ts';

const level8 = { stride: 8, columns: 4, rows: 4 };
const grid = createAnchorGrid([level8], 1);

function fixed(boxes: number[][], scores: number[][]): PicturePredictions {
  return {
    prepare: () => {},
    boxes: Float64Array.from(boxes.flat()),
    score: (anchor, classId) => scores[anchor]![classId]!,
  };
}

function assign(
  predictions: PicturePredictions,
  boxes: number[][],
  classIds: number[],
  config: Partial<AssignerConfig> = {},
  over = grid,
) {
  const assigner = createTaskAlignedAssigner(over, { ...ASSIGNER_DEFAULTS, ...config });
  const objects = {
    boxes: Float32Array.from(boxes.flat()),
    classIds: Int32Array.from(classIds),
    first: 0,
    last: boxes.length,
  };
  const found = assigner.assign(objects, predictions);
  const owners = new Map<number, { object: number; target: number }>();
  for (let index = 0; index < found.count; index++) {
    owners.set(found.anchors[index]!, { object: found.objects[index]!, target: found.targets[index]! });
  }
  return { owners, finite: found.finite, assigner, objects };
}

describe.each(['tal_topk3', 'tal_topk10'])('%s', (id) => {
  const entry = goldenCase('tal_ciou.json', id);
  const { owners, finite } = assign(
    fixed(entry.pred_boxes_px, entry.pred_scores),
    entry.gt_boxes,
    entry.gt_labels,
    { topk: entry.topk },
  );

  it('assigns as the vector', () => {
    expect(finite).toBe(true);
    const found = entry.expect.assigned_gt.map(
      (_: number, anchor: number) => owners.get(anchor)?.object ?? -1,
    );
    expect(found).toEqual(entry.expect.assigned_gt);
  });

  it('sets the targets of the vector', () => {
    for (const [anchor, row] of entry.expect.target_scores.entries()) {
      const wanted = Math.max(...row);
      expect(near(owners.get(anchor)?.target ?? 0, wanted), `anchor ${anchor}`).toBe(true);
    }
  });
});

it('an anchor claimed twice goes to the object that it overlaps most, not to the higher score', () => {
  const { pred_boxes_px, pred_scores, gt_boxes } = goldenCase('tal_ciou.json', 'tal_topk10');
  // Anchors 6 and 10 lie in both boxes and overlap object 1 more; class 0 scores far higher there.
  const scores = pred_scores.map(() => [0.99, 0.01]);
  const { owners } = assign(fixed(pred_boxes_px, scores), gt_boxes, [0, 1]);
  expect(owners.get(6)?.object).toBe(1);
  expect(owners.get(5)?.object).toBe(0);
});

describe('centres', () => {
  it('are found without visiting others, as a plain search finds them', () => {
    const random = createRandom(11);
    const levels = createAnchorGrid(
      [
        { stride: 8, columns: 13, rows: 9 },
        { stride: 16, columns: 7, rows: 5 },
      ],
      3,
    );
    const list = createAnchorList(2);
    for (let round = 0; round < 200; round++) {
      const box = Float32Array.from([-20 + 100 * random.next(), -20 + 80 * random.next(), 0, 0]);
      // Every fourth box has its edges on centres, which are not inside.
      if (round % 4 === 0) box.set([4 + 8 * random.integer(12), 4 + 8 * random.integer(8)]);
      box.set([box[0]! + 8 * random.integer(8), box[1]! + 60 * random.next()], 2);
      list.length = 0;
      appendInside(list, levels, box, 0);
      const wanted: number[] = [];
      for (let anchor = 0; anchor < levels.count; anchor++) {
        const { start, cells, columns, stride } = levels.levels[levelOf(levels, anchor)]!;
        const cell = (anchor - start) % cells;
        const x = ((cell % columns) + 0.5) * stride;
        const y = (Math.floor(cell / columns) + 0.5) * stride;
        if (Math.min(x - box[0]!, y - box[1]!, box[2]! - x, box[3]! - y) > 1e-9) wanted.push(anchor);
      }
      expect(Array.from(list.anchors.subarray(0, list.length))).toEqual(wanted);
    }
  });
});

describe('edges', () => {
  const points = Array.from(
    { length: 16 },
    (_, cell) => [8 * (cell % 4) + 4, 8 * Math.floor(cell / 4) + 4] as const,
  );
  const around = points.map(([x, y]) => [x - 4, y - 4, x + 4, y + 4]);
  const half = points.map(() => [0.5]);

  it('an object between all centres gets the cell of its own centre, or none when asked so', () => {
    const small = [[9, 9, 11.5, 11]];
    const { owners } = assign(fixed(around, half), small, [0]);
    expect([...owners.keys()]).toEqual([5]);
    expect(owners.get(5)!.target).toBeGreaterThan(0);
    expect(assign(fixed(around, half), small, [0], { smallObjects: 'none' }).owners.size).toBe(0);
  });

  it.each([
    ['no area', [[12, 12, 12, 12]]],
    ['a line', [[2, 12, 30, 12]]],
    ['outside', [[100, 100, 140, 140]]],
    ['inside out', [[30, 30, 2, 2]]],
  ])('an object with %s is left alone', (_, boxes) => {
    const { owners, finite } = assign(fixed(around, half), boxes, [0]);
    expect(owners.size).toBe(0);
    expect(finite).toBe(true);
  });

  it('NaN predictions are said and not assigned', () => {
    const broken = around.map((box, anchor) => (anchor === 5 ? box.map(() => Number.NaN) : box));
    const { owners, finite } = assign(fixed(broken, half), [[0, 0, 20, 20]], [0]);
    expect(finite).toBe(false);
    expect(owners.has(5)).toBe(false);
    expect(owners.size).toBeGreaterThan(0);
  });

  it('more objects than room made at first', () => {
    const boxes = Array.from({ length: 300 }, (_, index) => [index % 7, index % 5, 20 + (index % 9), 25]);
    const { owners } = assign(
      fixed(around, half),
      boxes,
      boxes.map(() => 0),
    );
    expect(owners.size).toBe(9);
  });

  it('the next picture remembers nothing', () => {
    const first = assign(
      fixed(around, half),
      [
        [0, 0, 32, 32],
        [0, 0, 16, 16],
      ],
      [0, 0],
    );
    const before = [...first.owners.keys()];
    first.assigner.assign({ ...first.objects, last: 0 }, fixed(around, half));
    const again = first.assigner.assign(first.objects, fixed(around, half));
    expect(Array.from(again.anchors.subarray(0, again.count))).toEqual(before);
  });

  it.each([{ topk: 0 }, { topk: 1.5 }, { alpha: -1 }, { beta: Number.NaN }, { smallObjects: 'some' }])(
    'refuses %o',
    (config) => {
      expect(() => createTaskAlignedAssigner(grid, { ...ASSIGNER_DEFAULTS, ...(config as object) })).toThrow(
        ConfigError,
      );
    },
  );
});

describe('what the raw outputs say', () => {
  it.each([{ kind: 'dfl', bins: 4 } as const, { kind: 'yolox' } as const])(
    'boxes, expectation times class probability: $kind',
    (boxCode) => {
      const random = createRandom(2);
      const levels = createAnchorGrid(
        [
          { stride: 8, columns: 5, rows: 3 },
          { stride: 16, columns: 3, rows: 2 },
        ],
        2,
      );
      const codec = createBoxCodec(boxCode);
      const bins = 3;
      const map = (channels: number, cells: number) =>
        Float32Array.from({ length: 2 * 2 * channels * cells }, () => random.normal());
      const raw = levels.levels.map(({ cells }) => ({
        quality: map(bins, cells),
        classes: map(4, cells),
        box: map(codec.channels, cells),
      }));
      const reader = createPredictionReader(levels, { bins, classCount: 4, classLaw: 'softmax', boxCode });
      const picture = 1;
      reader.bind(raw, picture);
      reader.prepare(
        Int32Array.from({ length: levels.count }, (_, anchor) => anchor),
        levels.count,
      );
      const corners = new Float64Array(4);
      for (let anchor = 0; anchor < levels.count; anchor++) {
        const level = levelOf(levels, anchor);
        const { start, cells, columns, stride } = levels.levels[level]!;
        const location = Math.floor((anchor - start) / cells);
        const cell = (anchor - start) % cells;
        const first = (channels: number) => (picture * 2 + location) * channels * cells + cell;
        const column = cell % columns;
        const place = {
          raw: raw[level]!.box,
          offset: first(codec.channels),
          stride: cells,
          column,
          row: (cell - column) / columns,
        };
        codec.decodeInto({ ...place, cellPx: stride, level, location }, corners, 0);
        for (const side of [0, 1, 2, 3])
          expect(reader.boxes[4 * anchor + side]).toBeCloseTo(corners[side]!, 9);
        const law = (values: Float32Array, channels: number) => {
          const masses = Array.from({ length: channels }, (_, k) =>
            Math.exp(values[first(channels) + k * cells]!),
          );
          return masses.map((mass) => mass / masses.reduce((sum, other) => sum + other, 0));
        };
        const quality = law(raw[level]!.quality, bins).reduce(
          (sum, p, bin) => sum + (p * bin) / (bins - 1),
          0,
        );
        expect(reader.score(anchor, 2)).toBeCloseTo(quality * law(raw[level]!.classes, 4)[2]!, 9);
      }
    },
  );
});
