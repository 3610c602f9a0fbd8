// B27: look-alikes are told apart, what cannot be told apart is said to be so, and other models are refused by name.
import { describe, expect, it } from 'vitest';
import { ModelError } from '#core';
import { describeModel, planTaps } from '#onnx';
import { bestClassRows, joinedRows } from '../support/tiny-heads.ts';
import {
  cellCount,
  classifier,
  constantDetector,
  constantGraph,
  nmsOnly,
  pythonNames,
  rawFeatureMaps,
  twoLayoutsFit,
  whiteBoxProbe,
} from '../support/tiny-models.ts';
import { find } from './dry-run.ts';

const input = { width: 96, height: 96 };
const cells = cellCount(input);
const names = (count: number) => pythonNames(Array.from({ length: count }, (_, id) => `c${id}`));
const rows = (shape: readonly number[], metadata: Record<string, string> = {}) =>
  constantGraph({ outputs: [{ name: 'output0', shape }], metadata });

async function refusal(promise: Promise<unknown>): Promise<ModelError> {
  const error = await promise.then(
    (value) => value,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}

describe('constant detectors of each form', () => {
  it.each([
    [{ kind: 'yolov8' as const }, { kind: 'yolov8', classCount: 2, channels: 6, transposed: false }],
    [
      { kind: 'yolov8' as const, transposed: true },
      { kind: 'yolov8', classCount: 2, transposed: true },
    ],
    [{ kind: 'yolov5' as const }, { kind: 'yolov5', classCount: 2, anchorCount: 3 * cells, stride: 7 }],
    [{ kind: 'end-to-end' as const }, { kind: 'end-to-end', classCount: 2, suppressed: true }],
    [
      { kind: 'nms-outputs' as const },
      { kind: 'nms-outputs', count: 'num_dets', scores: 'det_scores', classes: 'det_classes' },
    ],
    [
      { kind: 'yolov8' as const, batch: 4 },
      { kind: 'yolov8', anchorCount: cells },
    ],
    [
      { kind: 'yolov8' as const, inputShape: [1, 96, 96, 3] },
      { kind: 'yolov8', anchorCount: cells },
    ],
    [{ kind: 'yolov8' as const, inputType: 'uint8' as const }, { kind: 'yolov8' }],
    [
      { kind: 'yolov8' as const, inputType: 'float16' as const, outputType: 'float16' as const },
      { kind: 'yolov8' },
    ],
  ])('%j', async (spec, layout) => {
    expect((await find(constantDetector(spec))).layout).toMatchObject(layout);
  });

  it('a stand-in is recognised like a YOLOv8 of one class', async () => {
    expect((await find(whiteBoxProbe())).layout).toMatchObject({
      kind: 'yolov8',
      classCount: 1,
      channels: 5,
    });
  });
});

describe('one class', () => {
  it('YOLOv8 [1, 5, A]', async () => {
    expect((await find(rows([1, 5, cells], { names: names(1) }))).layout).toMatchObject({
      kind: 'yolov8',
      classCount: 1,
      transposed: false,
    });
  });

  it('YOLOv5 [1, A, 6] has three anchors per cell', async () => {
    expect((await find(rows([1, 3 * cells, 6]))).layout).toMatchObject({ kind: 'yolov5', classCount: 1 });
  });

  it('DeepStream [1, A, 6] takes the best class in the graph', async () => {
    for (const anchors of [cells, 3 * cells]) {
      expect((await find(bestClassRows(input, anchors))).layout).toMatchObject({
        kind: 'end-to-end',
        suppressed: false,
        rowCount: anchors,
      });
    }
  });

  it('end-to-end [1, 300, 6] has as many rows as no level set', async () => {
    expect((await find(rows([1, 300, 6]))).layout).toMatchObject({ kind: 'end-to-end', suppressed: true });
  });

  it('YOLOX [1, A, 6] comes raw out of convolutions', async () => {
    const model = joinedRows([
      { width: 4 },
      { width: 1, through: 'Sigmoid' },
      { width: 1, through: 'Sigmoid' },
    ]);
    expect((await find(model)).layout).toMatchObject({ kind: 'yolox', classCount: 1 });
  });
});

describe('equal shapes', () => {
  it('4 + C == 5 + C′: the class names decide', async () => {
    expect((await find(rows([1, cells, 85], { names: names(81) }))).layout).toMatchObject({
      kind: 'yolov8',
      transposed: true,
    });
    expect((await find(rows([1, cells, 85], { names: names(80) }))).layout).toMatchObject({ kind: 'yolox' });
    expect((await find(rows([1, cells, 85]), { classCount: 80 })).layout).toMatchObject({ kind: 'yolox' });
  });

  it('nobody says: an error that names both, and layout= decides', async () => {
    const error = await refusal(find(twoLayoutsFit()));
    expect(error.message).toMatch(/yolov8 with 3 classes/);
    expect(error.message).toMatch(/yolox with 2 classes/);
    expect(error.hint).toMatch(/layout=yolov8 or layout=yolox/);
    for (const layout of ['yolov8', 'yolox', 'yolov5'] as const) {
      expect((await find(twoLayoutsFit(), { layout })).layout.kind).toBe(layout);
    }
  });

  it('a square [1, 4 + C, A] with 4 + C == A could be either way round', async () => {
    const error = await refusal(find(rows([1, cells, cells], { names: names(cells - 4) })));
    expect(error.message).toMatch(/fit several layouts/);
  });

  it('YOLOX raw, YOLOX decoded, YOLOv6 and YOLOv8 turned, by structure alone', async () => {
    const sigmoid = (width: number) => ({ width, through: 'Sigmoid' });
    const raw = joinedRows([{ width: 4 }, sigmoid(1), sigmoid(3)]);
    const decoded = joinedRows([{ width: 2 }, { width: 2, through: 'Exp' }, sigmoid(4)], { grid: true });
    const distances = joinedRows([{ width: 4 }, sigmoid(1), sigmoid(3)], { grid: true });
    const turned = joinedRows([{ width: 4 }, sigmoid(4)], { grid: true });
    expect((await find(raw)).layout).toMatchObject({ kind: 'yolox', classCount: 3 });
    expect((await find(decoded)).layout).toMatchObject({ kind: 'yolov5', classCount: 3, anchorCount: cells });
    expect((await find(distances)).layout).toMatchObject({ kind: 'yolov5', classCount: 3 });
    const inPlace = joinedRows([{ width: 4, through: 'Exp' }, sigmoid(4)], { grid: true });
    expect((await find(inPlace)).layout).toMatchObject({ kind: 'yolov5', classCount: 3 });
    expect((await find(turned)).layout).toMatchObject({ kind: 'yolov8', classCount: 4, transposed: true });
  });

  it('NanoDet-Plus [1, A, C + 4 * bins] has its Sigmoid before the raw distances', async () => {
    const anchors = cellCount(input, [8, 16, 32, 64]);
    const model = joinedRows([{ width: 80, through: 'Sigmoid' }, { width: 32 }], { anchors });
    expect((await find(model)).layout).toMatchObject({
      kind: 'gfl',
      classCount: 80,
      bins: 8,
      cellOffset: 0,
      levels: [8, 16, 32, 64].map((stride) => expect.objectContaining({ stride })),
    });
  });
});

describe('further values and outputs', () => {
  const masks = { name: 'output1', shape: [1, 32, 24, 24] };

  it('segmentation [1, 116, A]: 80 classes, not 112, with names or without', async () => {
    const outputs = [{ name: 'output0', shape: [1, 116, cells] }, masks];
    for (const metadata of [{ names: names(80), task: 'segment' }, undefined]) {
      const model = constantGraph({ outputs, ...(metadata ? { metadata } : {}) });
      expect((await find(model)).layout).toMatchObject({ kind: 'yolov8', classCount: 80, channels: 116 });
    }
  });

  it('pose [1, 56, A]: one class and 17 keypoints', async () => {
    for (const shape of [{}, { kpt_shape: '[17, 3]' }]) {
      const model = rows([1, 56, cells], { names: names(1), task: 'pose', ...shape });
      expect((await find(model)).layout).toMatchObject({ kind: 'yolov8', classCount: 1, channels: 56 });
    }
  });

  it('end-to-end with masks and with keypoints', async () => {
    const seg = constantGraph({
      outputs: [{ name: 'output0', shape: [1, 300, 38] }, masks],
      metadata: { names: names(80), task: 'segment', end2end: 'True' },
    });
    expect((await find(seg)).layout).toMatchObject({ kind: 'end-to-end', stride: 38 });
    const pose = rows([1, 300, 57], { names: names(1), task: 'pose', kpt_shape: '[17, 3]' });
    expect((await find(pose)).layout).toMatchObject({ kind: 'end-to-end', stride: 57 });
  });

  it('YOLOv5 with its three maps beside the decoded output', async () => {
    const maps = [12, 6, 3].map((side, level) => ({ name: `map${level}`, shape: [1, 3, side, side, 7] }));
    const model = constantGraph({ outputs: [{ name: 'output', shape: [1, 3 * cells, 7] }, ...maps] });
    expect((await find(model)).layout).toMatchObject({ kind: 'yolov5', output: 'output', classCount: 2 });
  });

  it('rows without a batch axis', async () => {
    expect((await find(rows([3 * cells, 7]))).layout).toMatchObject({ kind: 'yolov5', classCount: 2 });
  });

  it('other level sets: YOLOv5 P6 and tiny', async () => {
    for (const strides of [
      [8, 16, 32, 64],
      [16, 32],
    ]) {
      const layout = (await find(rows([1, 3 * cellCount(input, strides), 7]))).layout;
      expect(layout).toMatchObject({ kind: 'yolov5', classCount: 2 });
    }
  });

  it('an input that is not square', async () => {
    const wide = { width: 128, height: 64 };
    const model = constantDetector({ kind: 'yolov8', input: wide });
    expect((await find(model)).layout).toMatchObject({ kind: 'yolov8', anchorCount: cellCount(wide) });
  });
});

describe('outputs per level', () => {
  const sides = [12, 6, 3];

  it('PicoDet: four levels of scores and distributions', async () => {
    const strides = [8, 16, 32, 64];
    const counts = strides.map((stride) => cellCount(input, [stride]));
    const outputs = [
      ...counts.map((count, i) => ({ name: `s${i}`, shape: [1, count, 80], through: 'Sigmoid' })),
      ...counts.map((count, i) => ({ name: `d${i}`, shape: [1, count, 32] })),
    ];
    expect((await find(constantGraph({ outputs }))).layout).toMatchObject({
      kind: 'gfl',
      bins: 8,
      classCount: 80,
      scoresAre: 'probabilities',
      levels: strides.map((stride, i) =>
        expect.objectContaining({ stride, scores: `s${i}`, distances: `d${i}` }),
      ),
    });
  });

  it('raw DFL maps, joined and apart', async () => {
    const joined = sides.map((side, i) => ({ name: `map${i}`, shape: [1, 144, side, side] }));
    expect((await find(constantGraph({ outputs: joined }))).layout).toMatchObject({
      kind: 'raw-dfl',
      bins: 16,
      classCount: 80,
      scoresAre: 'logits',
      levels: [8, 16, 32].map((stride) => expect.objectContaining({ stride, firstScoreChannel: 64 })),
    });
    const apart = sides.flatMap((side, i) => [
      { name: `box${i}`, shape: [1, 64, side, side] },
      { name: `cls${i}`, shape: [1, 3, side, side], through: 'Sigmoid' },
    ]);
    expect((await find(constantGraph({ outputs: apart }))).layout).toMatchObject({
      kind: 'raw-dfl',
      classCount: 3,
      scoresAre: 'probabilities',
    });
  });

  it('corners in px without background, and in parts with', async () => {
    const values = new Float32Array(4 * cells).fill(50);
    const px = constantGraph({
      outputs: [
        { name: 'boxes', shape: [1, cells, 4], values },
        { name: 'scores', shape: [1, cells, 3], through: 'Sigmoid' },
      ],
    });
    expect((await find(px)).layout).toMatchObject({
      kind: 'corners',
      normalized: false,
      background: false,
      classCount: 3,
    });
    const parts = constantGraph({
      outputs: [
        { name: 'scores', shape: [1, cells, 2], through: 'Softmax' },
        { name: 'boxes', shape: [1, cells, 4], values: values.map(() => 0.5) },
      ],
    });
    expect((await find(parts)).layout).toMatchObject({
      kind: 'corners',
      boxes: 'boxes',
      normalized: true,
      background: true,
      classCount: 1,
    });
  });
});

describe('our own format', () => {
  const outputs = [
    { name: 'boxes', shape: [1, cells, 4] },
    { name: 'class_probs', shape: [1, cells, 2] },
    { name: 'quality', shape: [1, cells, 2] },
    { name: 'quality_bins', shape: [1, cells, 10] },
    { name: 'box_var', shape: [1, cells, 4] },
  ];

  it('is read by its outputs', async () => {
    const finding = await find(constantGraph({ outputs, metadata: { edge_detect: '{"version": 1}' } }));
    expect(finding.layout).toEqual({
      kind: 'edge-detect',
      classCount: 2,
      anchorCount: cells,
      boxes: 'boxes',
      classProbs: 'class_probs',
      quality: 'quality',
      qualityBins: { output: 'quality_bins', bins: 10 },
      boxVar: 'box_var',
    });
    expect(finding.capabilities).toMatchObject({
      boxVariance: true,
      scoreDistribution: 'bins',
      epistemic: false,
    });
    expect(finding.capabilities.limits).toEqual([expect.stringMatching(/no epistemic part.*mc_passes=8/)]);
  });

  it('has an epistemic part where its passes are told apart', async () => {
    const passes = [...outputs, { name: 'quality_epistemic', shape: [1, cells, 1] }];
    const model = constantGraph({ outputs: passes, metadata: { edge_detect: '{"version": 1}' } });
    const finding = await find(model);
    expect(finding.layout).toMatchObject({ qualityEpistemic: 'quality_epistemic' });
    expect(finding.capabilities).toMatchObject({ epistemic: true, limits: [] });
    expect(describeModel(model, { taps: planTaps(model), finding }).head?.can).toEqual([
      'variance of each box side (px²)',
      'variance of the score (bins)',
      'epistemic part of that variance (MC dropout)',
    ]);
  });

  it('a newer version, broken JSON and missing outputs are named', async () => {
    const made = (edge_detect: string, list = outputs) =>
      find(constantGraph({ outputs: list, metadata: { edge_detect } }));
    expect((await refusal(made('{"version": 2}'))).message).toMatch(/format 2.*up to 1/);
    expect((await refusal(made('{'))).message).toMatch(/no JSON/);
    expect((await refusal(made('{"version": 1}', outputs.slice(0, 2)))).message).toMatch(
      /lacks the output quality/,
    );
  });
});

describe('refused by name', () => {
  it('a classifier', async () => {
    expect((await refusal(find(classifier()))).message).toMatch(/classifier.*probabilities \[1, 1000\]/);
    expect((await refusal(find(classifier(2)))).message).toMatch(/classifier/);
  });

  it('a suppression graph', async () => {
    expect((await refusal(find(nmsOnly()))).message).toMatch(/post-processing graph/);
  });

  it('rotated boxes', async () => {
    const model = rows([1, 20, cells], { names: names(15), task: 'obb' });
    expect((await refusal(find(model))).message).toMatch(/rotated boxes/);
  });

  it.each([{ joined: false }, { joined: true }, { joined: false, classCount: 2 }])(
    'raw YOLOv5 maps %j',
    async (options) => {
      const error = await refusal(find(rawFeatureMaps(options)));
      expect(error.message).toMatch(/raw YOLOv5 feature maps.*map0 \[1, /);
      expect(error.hint).toMatch(/with decoding/);
    },
  );

  it('transformers and other unknown outputs: shapes and known layouts are shown', async () => {
    const detr = constantGraph({
      outputs: [
        { name: 'logits', shape: [1, 300, 91] },
        { name: 'pred_boxes', shape: [1, 300, 4], through: 'Sigmoid' },
      ],
    });
    const error = await refusal(find(detr));
    expect(error.message).toMatch(/logits \[1, 300, 91\], pred_boxes \[1, 300, 4\] at an input of 96x96/);
    expect(error.hint).toMatch(/yolov8 \[1, 4\+C, A\]/);
    expect((await refusal(find(rows([1, 84, 8400])))).message).toMatch(
      /\[1, 84, 8400\] at an input of 96x96/,
    );
  });

  it('layout= that does not fit', async () => {
    const error = await refusal(find(constantDetector({ kind: 'yolov8' }), { layout: 'yolov5' }));
    expect(error.message).toMatch(/layout=yolov5 does not fit/);
  });

  it('a class count that fits nothing is part of the message', async () => {
    const error = await refusal(find(constantDetector({ kind: 'yolov8' }), { classCount: 7 }));
    expect(error.message).toMatch(/with 7 class names/);
  });
});
