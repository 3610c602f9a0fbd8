// Every head kind with random outputs: what the graph decodes is what the decoders of src/core decode.
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import type { CornersLayout, HeadLayout, HeadOutputs, Level } from '#core';
import { createDecoder, createRandom, levelsFor, ModelError } from '#core';
import { type ModelProto, serialize } from '#onnx';
import { decodeInGraph } from '../../../export/passes/decode-in-graph.ts';
import { type ConstantOutput, constantGraph } from '../../support/tiny-models.ts';

const INPUT = { width: 96, height: 64 };
const LEVELS: readonly Level[] = levelsFor(INPUT, [8, 16, 32]);
const ANCHORS = LEVELS.reduce((sum, { columns, rows }) => sum + columns * rows, 0);
const CLASSES = 3;

type Fill = (index: number) => number;

interface Case {
  readonly layout: HeadLayout;
  readonly outputs: readonly {
    readonly name: string;
    readonly shape: readonly number[];
    readonly fill: Fill;
  }[];
  readonly boxVariance?: boolean;
}

const numbers = createRandom(7);
const random = () => numbers.next();
const probability: Fill = () => random();
const logit: Fill = () => 6 * random() - 3;
const pixel: Fill = () => 4 + 60 * random();

/** Rows of columns, each filled in its own way. */
function columns(width: number, fill: (column: number) => number): Fill {
  return (index) => fill(index % width);
}

function planes(length: number, fill: (channel: number) => number): Fill {
  return (index) => fill(Math.floor(index / length));
}

const boxThenScores = (place: number) => (place < 4 ? pixel(0) : random());

const CASES: Readonly<Record<string, Case>> = {
  yolov5: {
    layout: { kind: 'yolov5', output: 'out', anchorCount: 3 * ANCHORS, classCount: CLASSES, stride: 10 },
    outputs: [{ name: 'out', shape: [1, 3 * ANCHORS, 10], fill: columns(10, boxThenScores) }],
  },
  'yolov5 without a batch axis': {
    layout: { kind: 'yolov5', output: 'out', anchorCount: ANCHORS, classCount: CLASSES, stride: 8 },
    outputs: [{ name: 'out', shape: [ANCHORS, 8], fill: columns(8, boxThenScores) }],
  },
  'yolov8 with masks behind the classes': {
    layout: yolov8({ transposed: false, channels: 9 }),
    outputs: [{ name: 'out', shape: [1, 9, ANCHORS], fill: planes(ANCHORS, boxThenScores) }],
  },
  'yolov8 transposed': {
    layout: yolov8({ transposed: true, channels: 7 }),
    outputs: [{ name: 'out', shape: [1, ANCHORS, 7], fill: columns(7, boxThenScores) }],
  },
  ...Object.fromEntries(
    (
      [
        ['bins-sides-anchors', [8, 4, ANCHORS]],
        ['sides-bins-anchors', [4, 8, ANCHORS]],
        ['anchors-sides-bins', [ANCHORS, 4, 8]],
        ['sides-anchors-bins', [4, ANCHORS, 8]],
      ] as const
    ).flatMap(([order, dims]) =>
      (['probabilities', 'logits'] as const).map((values) => [
        `yolov8 with a tap of ${values} in the order ${order}`,
        {
          layout: yolov8({
            transposed: false,
            channels: 7,
            boxDistribution: { output: 'tap', bins: 8, order, values, levels: LEVELS },
          }),
          outputs: [
            { name: 'out', shape: [1, 7, ANCHORS], fill: planes(ANCHORS, boxThenScores) },
            // Probabilities that do not sum to 1, as a quantised softmax gives them.
            { name: 'tap', shape: [1, ...dims], fill: values === 'logits' ? logit : probability },
          ],
          boxVariance: true,
        },
      ]),
    ),
  ),
  yolox: {
    layout: { kind: 'yolox', output: 'out', levels: LEVELS, classCount: CLASSES },
    outputs: [
      {
        name: 'out',
        shape: [1, ANCHORS, 5 + CLASSES],
        fill: columns(5 + CLASSES, (column) => (column < 4 ? logit(0) / 2 : random())),
      },
    ],
  },
  'gfl per level': {
    layout: gfl('probabilities', 0.5, ({ stride }) => [`cls${stride}`, `dis${stride}`, 0]),
    outputs: LEVELS.flatMap(({ columns: across, rows, stride }) => [
      { name: `cls${stride}`, shape: [1, across * rows, CLASSES], fill: probability },
      { name: `dis${stride}`, shape: [1, across * rows, 32], fill: logit },
    ]),
    boxVariance: true,
  },
  'gfl joined': {
    layout: gfl('logits', 0, (_, firstRow) => ['out', 'out', firstRow]),
    outputs: [{ name: 'out', shape: [1, ANCHORS, CLASSES + 32], fill: logit }],
    boxVariance: true,
  },
  'raw-dfl with maps apart': {
    layout: rawDfl(({ stride }) => ({
      scores: `cls${stride}`,
      distances: `box${stride}`,
      firstScoreChannel: 0,
    })),
    outputs: LEVELS.flatMap(({ columns: across, rows, stride }) => [
      { name: `box${stride}`, shape: [1, 32, rows, across], fill: logit },
      { name: `cls${stride}`, shape: [1, CLASSES, rows, across], fill: logit },
    ]),
    boxVariance: true,
  },
  'raw-dfl with joined maps': {
    layout: rawDfl(({ stride }) => ({
      scores: `map${stride}`,
      distances: `map${stride}`,
      firstScoreChannel: 32,
    })),
    outputs: LEVELS.map(({ columns: across, rows, stride }) => ({
      name: `map${stride}`,
      shape: [1, 32 + CLASSES, rows, across],
      fill: logit,
    })),
    boxVariance: true,
  },
  fastestdet: {
    layout: { kind: 'fastestdet', output: 'out', classCount: CLASSES, level: LEVELS[1]! },
    outputs: [
      {
        name: 'out',
        shape: [1, 5 + CLASSES, LEVELS[1]!.rows, LEVELS[1]!.columns],
        fill: planes(LEVELS[1]!.rows * LEVELS[1]!.columns, (channel) =>
          channel === 0 || channel > 4 ? random() : logit(0),
        ),
      },
    ],
  },
  'corners of parts with a background': {
    layout: corners({ normalized: true, background: true }),
    // The very names that decoding gives its own outputs.
    outputs: [
      { name: 'scores', shape: [1, ANCHORS, CLASSES + 1], fill: probability },
      { name: 'boxes', shape: [1, ANCHORS, 4], fill: probability },
    ],
  },
  'corners in px with their variance': {
    layout: corners({ normalized: false, background: false, boxVar: 'spread' }),
    outputs: [
      { name: 'boxes', shape: [1, ANCHORS, 4], fill: pixel },
      { name: 'scores', shape: [1, ANCHORS, CLASSES], fill: probability },
      { name: 'spread', shape: [1, ANCHORS, 4], fill: pixel },
    ],
    boxVariance: true,
  },
  yunet: {
    layout: {
      kind: 'yunet',
      classCount: 1,
      levels: LEVELS.map((level) => ({
        ...level,
        cls: `cls${level.stride}`,
        obj: `obj${level.stride}`,
        bbox: `box${level.stride}`,
      })),
    },
    outputs: LEVELS.flatMap(({ columns: across, rows, stride }) => [
      { name: `cls${stride}`, shape: [1, across * rows, 1], fill: () => 1.2 * random() - 0.1 },
      { name: `obj${stride}`, shape: [1, across * rows, 1], fill: probability },
      { name: `box${stride}`, shape: [1, across * rows, 4], fill: logit },
    ]),
  },
  'edge-detect with three classes': {
    layout: {
      kind: 'edge-detect',
      classCount: CLASSES,
      anchorCount: ANCHORS,
      boxes: 'boxes',
      quality: 'quality',
      classProbs: 'class_probs',
      boxVar: 'box_var',
    },
    outputs: [
      { name: 'boxes', shape: [1, ANCHORS, 4], fill: pixel },
      {
        name: 'quality',
        shape: [1, ANCHORS, 2],
        fill: columns(2, (column) => random() * (column ? 0.2 : 1)),
      },
      { name: 'class_probs', shape: [1, ANCHORS, CLASSES], fill: probability },
      { name: 'box_var', shape: [1, ANCHORS, 4], fill: pixel },
    ],
    boxVariance: true,
  },
};

function yolov8(
  parts: Pick<Extract<HeadLayout, { kind: 'yolov8' }>, 'transposed' | 'channels' | 'boxDistribution'>,
): HeadLayout {
  return { kind: 'yolov8', output: 'out', anchorCount: ANCHORS, classCount: CLASSES, ...parts };
}

function corners(parts: Pick<CornersLayout, 'normalized' | 'background' | 'boxVar'>): CornersLayout {
  return {
    kind: 'corners',
    boxes: 'boxes',
    scores: 'scores',
    anchorCount: ANCHORS,
    classCount: CLASSES,
    ...parts,
  };
}

function gfl(
  scoresAre: 'probabilities' | 'logits',
  cellOffset: number,
  of: (level: Level, firstRow: number) => readonly [scores: string, distances: string, firstRow: number],
): HeadLayout {
  let row = 0;
  const levels = LEVELS.map((level) => {
    const [scores, distances, firstRow] = of(level, row);
    row += level.columns * level.rows;
    return { ...level, scores, distances, firstRow };
  });
  return { kind: 'gfl', classCount: CLASSES, bins: 8, cellOffset, scoresAre, levels };
}

function rawDfl(
  of: (level: Level) => { scores: string; distances: string; firstScoreChannel: number },
): HeadLayout {
  const levels = LEVELS.map((level) => ({ ...level, ...of(level) }));
  return { kind: 'raw-dfl', classCount: CLASSES, bins: 8, scoresAre: 'logits', levels };
}

async function run(model: ModelProto): Promise<HeadOutputs> {
  const session = await ort.InferenceSession.create(serialize(model), { logSeverityLevel: 3 });
  const picture = new ort.Tensor('float32', new Float32Array(3 * 96 * 64), [1, 3, 64, 96]);
  const results = await session.run({ images: picture });
  await session.release();
  return new Map(
    Object.entries(results).map(([name, { dims, data }]) => [
      name,
      { shape: dims, data: data as Float32Array },
    ]),
  );
}

function modelOf({ outputs }: Case, opset: number): ModelProto {
  return constantGraph({
    inputShape: [1, 3, INPUT.height, INPUT.width],
    opset,
    outputs: outputs.map(({ name, shape, fill }): ConstantOutput => {
      const length = shape.reduce((product, size) => product * size, 1);
      return { name, shape, values: Float32Array.from({ length }, (_, index) => fill(index)) };
    }),
  });
}

describe('decoding in the graph', () => {
  for (const [name, head] of Object.entries(CASES)) {
    for (const opset of [9, 11, 17, 20]) {
      it(`${name}, opset ${opset}`, async () => {
        const { layout, boxVariance = false } = head;
        const model = modelOf(head, opset);
        const decoded = decodeInGraph(model, { layout, input: INPUT, boxVariance });
        expect(decoded.decoded).toBe(true);
        const read = corners({
          normalized: false,
          background: false,
          ...(boxVariance ? { boxVar: 'box_var' } : {}),
        });
        const outputs = await run(decoded.model);
        expect([...outputs.keys()].toSorted()).toEqual([...decoded.outputs].toSorted());
        const anchorCount = outputs.get('boxes')!.shape[1]!;
        const options = { input: INPUT, boxVariance };
        const expected = createDecoder(layout, options).decode(await run(model), { default: 0 });
        const found = createDecoder({ ...read, anchorCount, classCount: layout.classCount }, options).decode(
          outputs,
          { default: 0 },
        );
        expect(found.count).toBe(expected.count);
        expect(found.count).toBeGreaterThan(20);
        const { count } = found;
        expect(found.classIds.subarray(0, count)).toEqual(expected.classIds.subarray(0, count));
        expectNear(found.scores.subarray(0, count), expected.scores.subarray(0, count), 1e-6);
        expectNear(found.boxes.subarray(0, 4 * count), expected.boxes.subarray(0, 4 * count), 1e-3);
        if (!boxVariance) return;
        const [is, was] = [found.boxVariances!, expected.boxVariances!];
        expectNear(is.subarray(0, 4 * count), was.subarray(0, 4 * count), 0.02);
      });
    }
  }
});

function expectNear(found: Float32Array, expected: Float32Array, tolerance: number): void {
  const worst = found.reduce((most, value, index) => Math.max(most, Math.abs(value - expected[index]!)), 0);
  expect(worst).toBeLessThanOrEqual(tolerance);
}

describe('heads that choose their own rows', () => {
  const layout: HeadLayout = {
    kind: 'end-to-end',
    classCount: 2,
    output: 'rows',
    rowCount: 5,
    stride: 8,
    suppressed: true,
  };

  it('are passed on with what lies behind the class cut off', async () => {
    const values = Float32Array.from({ length: 40 }, (_, index) => index);
    const model = constantGraph({
      inputShape: [1, 3, 64, 96],
      outputs: [
        { name: 'rows', shape: [1, 5, 8], values },
        { name: 'masks', shape: [1, 2, 4, 4] },
      ],
    });
    const {
      model: passed,
      decoded,
      outputs,
      notes,
    } = decodeInGraph(model, {
      layout,
      input: INPUT,
      boxVariance: false,
    });
    expect({ decoded, outputs }).toEqual({ decoded: false, outputs: ['rows'] });
    expect(notes).toEqual([
      expect.stringMatching(/rows of corners, score and class by itself: they are passed on/),
    ]);
    const found = await run(passed);
    expect([...found.keys()]).toEqual(['rows']);
    expect(Array.from(found.get('rows')?.data as Float32Array).slice(6, 12)).toEqual([8, 9, 10, 11, 12, 13]);
  });

  it('are refused where suppression gives its boxes in four outputs', () => {
    const model = constantGraph({ outputs: [{ name: 'count', shape: [1, 1] }] });
    const nms: HeadLayout = {
      kind: 'nms-outputs',
      classCount: 2,
      count: 'count',
      boxes: 'b',
      scores: 's',
      classes: 'c',
    };
    expect(() => decodeInGraph(model, { layout: nms, input: INPUT, boxVariance: false })).toThrow(
      /nms-outputs head suppresses its boxes inside the graph/,
    );
  });

  it('have no variance of their boxes to give', () => {
    const model = constantGraph({ outputs: [{ name: 'rows', shape: [1, 5, 8] }] });
    expect(() => decodeInGraph(model, { layout, input: INPUT, boxVariance: true })).toThrow(ModelError);
  });
});
