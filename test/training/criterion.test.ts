// The criterion as a whole: its gradient against difference quotients in float64, and the batches at the edges.
import { describe, expect, it } from 'vitest';
import { ConfigError, createRandom, DataError, ModelError } from '#core';
import {
  CRITERION_DEFAULTS,
  type CriterionConfig,
  PUBLISHED_CRITERION,
  SMOOTHED_LABELS,
} from '../../training/criterion-config.ts';
import { createDetectionCriterion } from '../../training/detection-criterion.ts';
import type { Tensors } from '../../training/engines/engine.ts';
import { type TestHeadOptions, testHead, testTargets } from './heads.ts';
import { differences, relativeError } from './losses/differences.ts';

const config = (changes: Partial<CriterionConfig>): CriterionConfig => ({
  ...CRITERION_DEFAULTS,
  ...changes,
});
const classification = (
  kind: CriterionConfig['classification']['kind'],
  extra = {},
): Partial<CriterionConfig> => ({
  classification: { ...CRITERION_DEFAULTS.classification, kind, ...extra },
});
/** Narrower than most rows of the test head, and another for each class. */
const RANGES = [
  { least: -0.3, greatest: 0.2 },
  { least: -0.1, greatest: 0.4 },
  { least: -0.2, greatest: 0.1 },
];
const anchors = {
  kind: 'anchors',
  sizes: [
    [
      [8, 9],
      [14, 12],
      [20, 30],
    ],
    [
      [24, 20],
      [30, 40],
      [40, 36],
    ],
  ],
} as const;

/** Two dozen entries that have a gradient, and three that have none. */
function sample(gradient: ArrayLike<number>): number[] {
  const random = createRandom(1);
  const indices = Array.from({ length: gradient.length }, (_, index) => index);
  random.shuffle(indices);
  const live = indices.filter((index) => gradient[index] !== 0).slice(0, 24);
  return [...live, ...indices.filter((index) => gradient[index] === 0).slice(0, 3)];
}

/** Worst relative error, per output, of the gradient against quotients of `evaluateHeld`. */
function worstError(
  options: TestHeadOptions,
  changes: Partial<CriterionConfig>,
  referenceShift?: number,
): number {
  const { spec, outputs, targets } = testHead(options);
  const criterion = createDetectionCriterion(spec, config(changes));
  const reference =
    referenceShift === undefined
      ? undefined
      : (new Map(
          [...outputs].map(([name, { shape, data }]) => [
            name,
            { shape, data: data.map((x) => 0.4 * x + referenceShift) },
          ]),
        ) as Tensors);
  const { terms, gradients } = criterion.evaluate(outputs, targets, reference);
  expect(terms.positives).toBeGreaterThan(3);
  const kept = new Map([...gradients].map(([name, { data }]) => [name, data.slice()]));
  let worst = 0;
  for (const [name, gradient] of kept) {
    const x = outputs.get(name)!.data as unknown as Float64Array;
    const indices = sample(gradient);
    const wanted = indices.map((index) => gradient[index]!);
    const slopes = differences(
      () => criterion.evaluateHeld(outputs, targets, reference).terms.total,
      x,
      1e-4,
      indices,
    );
    worst = Math.max(worst, relativeError(wanted, slopes));
  }
  return worst;
}

describe('gradient of every raw output against central differences', () => {
  const cases: [string, TestHeadOptions, Partial<CriterionConfig>, number?][] = [
    ['defaults', {}, {}],
    ['one class', { classes: 1, objects: [[[0, 3, 2, 30, 25]], [[0, 10, 4, 42, 38]]] }, {}],
    ['YOLOX boxes', { boxCode: { kind: 'yolox' } }, {}],
    ['distances', { boxCode: { kind: 'distance' } }, {}],
    ['three locations with anchors', { boxCode: anchors, locations: 3 }, {}],
    ['focal factors', {}, { quality: { kind: 'dfl', gamma: 2, negativeGamma: 1.5 } }],
    ['published', { bins: 10 }, PUBLISHED_CRITERION],
    ['smoothed labels', {}, { targets: SMOOTHED_LABELS }],
    ['IoU targets', {}, { targets: { kind: 'iou' } }],
    ['sigmoid classes', { classLaw: 'sigmoid' }, classification('gra')],
    ['one weight per anchor', { classLaw: 'sigmoid' }, classification('anchorGra')],
    ['dual focal', {}, classification('dualFocal')],
    ['dual GRA', {}, classification('dualGra')],
    ['LogitNorm', {}, classification('bsceGra', { logitNorm: 0.5 })],
    ['BCE quality', { bins: 2 }, { quality: { kind: 'bce' } }],
    ['GRA quality', { bins: 2 }, { quality: { kind: 'gra', gamma: 2 } }],
    ['QFL quality', { bins: 2 }, { quality: { kind: 'qfl' }, targets: SMOOTHED_LABELS }],
    ['focal quality', { bins: 2 }, { quality: { kind: 'focal', alpha: 0.25 } }],
    ['range penalty', {}, { logitRange: { kind: 'penalty', lambda: 10, reference: 'frozen-layer' } }, 0.1],
    ['penalty to stored ranges', {}, { logitRange: { kind: 'penalty', lambda: 10, reference: RANGES } }],
    ['zs-norm to stored ranges', {}, { logitRange: { kind: 'zs-norm', reference: RANGES } }],
    ['zs-norm', {}, { logitRange: { kind: 'zs-norm', reference: 'frozen-layer' } }, 0.1],
    ['ignored regions', { ignore: [[[0, 20, 20, 40]]] }, {}],
  ];
  it.each(cases)('%s', (_, options, changes, shift) => {
    expect(worstError(options, changes, shift)).toBeLessThan(1e-6);
  });

  it('fails where the detached factors are let go: evaluate is not evaluateHeld', () => {
    const { spec, outputs, targets } = testHead();
    const criterion = createDetectionCriterion(spec);
    const gradient = criterion.evaluate(outputs, targets).gradients.get('classes8')!.data.slice();
    const x = outputs.get('classes8')!.data as unknown as Float64Array;
    const live = differences(() => criterion.evaluate(outputs, targets).terms.classification, x, 1e-3);
    expect(relativeError(gradient, live)).toBeGreaterThan(0.05);
  });
});

describe('terms', () => {
  it('add up, and follow their weights', () => {
    const { spec, outputs, targets } = testHead();
    const { terms } = createDetectionCriterion(spec).evaluate(outputs, targets);
    const { total, box, classification: classes, boxDfl, quality, logitRange } = terms;
    expect(total).toBeCloseTo(box + classes + boxDfl + quality + logitRange, 12);
    expect(Math.min(box, classes, boxDfl, quality)).toBeGreaterThan(0);
    expect(terms.meanWeight).toBeGreaterThan(0);
    expect(terms.meanWeight).toBeLessThan(2);
    const weights = { ...CRITERION_DEFAULTS.weights, quality: 3, box: 0 };
    const heavier = createDetectionCriterion(spec, config({ weights })).evaluate(outputs, targets).terms;
    expect(heavier.quality).toBeCloseTo(3 * quality, 9);
    expect(heavier.box).toBe(0);
  });

  it('are the sums that the formulas give, written down plainly', () => {
    const { spec, outputs, targets } = testHead({ classes: 1, objects: [[[0, 3, 2, 30, 25]]] });
    const { terms } = createDetectionCriterion(spec, config({ qualityReduction: 'anchors' })).evaluate(
      outputs,
      testTargets(1, []),
    );
    let sum = 0;
    for (const { quality, columns, rows } of spec.levels) {
      const { data } = outputs.get(quality)!;
      const cells = columns * rows;
      for (let cell = 0; cell < cells; cell++) {
        const law = Array.from({ length: 5 }, (_, bin) => Math.exp(data[bin * cells + cell]!));
        sum -= Math.log(law[0]! / law.reduce((total, mass) => total + mass, 0));
      }
    }
    expect(terms.quality).toBeCloseTo(sum / (30 + 9), 10);
    expect(targets.starts[1]).toBe(1);
  });

  it('do not depend on what was evaluated before, nor on smaller batches in between', () => {
    const big = testHead();
    const small = testHead({ objects: [[[2, 20, 3, 45, 30]]] });
    const criterion = createDetectionCriterion(big.spec);
    const copy = (result: ReturnType<typeof criterion.evaluate>) =>
      [...result.gradients].map(([name, { shape, data }]) => [name, shape, Array.from(data)]);
    const first = copy(criterion.evaluate(big.outputs, big.targets));
    const alone = copy(createDetectionCriterion(big.spec).evaluate(small.outputs, small.targets));
    expect(copy(criterion.evaluate(small.outputs, small.targets))).toEqual(alone);
    expect(copy(criterion.evaluate(big.outputs, big.targets))).toEqual(first);
  });

  it('float32 outputs give float32 gradients close to the float64 ones', () => {
    const single = testHead({ float32: true });
    const double = testHead();
    const found = createDetectionCriterion(single.spec).evaluate(single.outputs, single.targets).gradients;
    const wanted = createDetectionCriterion(double.spec).evaluate(double.outputs, double.targets).gradients;
    for (const [name, { data, shape }] of found) {
      expect(data).toBeInstanceOf(Float32Array);
      expect(shape).toEqual(single.outputs.get(name)!.shape);
      expect(relativeError(data, wanted.get(name)!.data)).toBeLessThan(1e-5);
    }
  });
});

describe('batches at the edges', () => {
  it('without any object: background alone, finite, normalised by 1', () => {
    const { spec, outputs } = testHead();
    const { terms, gradients } = createDetectionCriterion(spec).evaluate(outputs, testTargets(2, []));
    expect(terms).toMatchObject({
      positives: 0,
      targetSum: 0,
      box: 0,
      classification: 0,
      boxDfl: 0,
      meanWeight: 0,
    });
    expect(terms.total).toBe(terms.quality);
    expect(Number.isFinite(terms.total)).toBe(true);
    expect(gradients.get('box8')!.data.every((slope) => slope === 0)).toBe(true);
  });

  it('one picture; objects of no area, smaller than a cell, and outside', () => {
    const objects = [
      [
        [0, 12, 12, 12, 12],
        [1, 9, 9, 11, 10.5],
        [2, 90, 90, 99, 99],
      ],
    ];
    const { spec, outputs, targets } = testHead({ objects });
    const { terms } = createDetectionCriterion(spec).evaluate(outputs, targets);
    expect(Number.isFinite(terms.total)).toBe(true);
    expect(terms.positives).toBeLessThanOrEqual(1);
  });

  it('anchors in a crowd take no loss unless an object has them', () => {
    const objects = [[[1, 2, 2, 22, 22]]];
    const plain = testHead({ objects });
    const crowd = testHead({ objects, ignore: [[[0, 0, 48, 40]]] });
    const criterion = createDetectionCriterion(plain.spec);
    const open = criterion.evaluate(plain.outputs, plain.targets);
    const openGradient = open.gradients.get('quality8')!.data.slice();
    const { terms, gradients } = criterion.evaluate(crowd.outputs, crowd.targets);
    expect(terms.positives).toBe(open.terms.positives);
    expect(terms.quality).toBeLessThan(open.terms.quality);
    const { data } = gradients.get('quality8')!;
    expect(openGradient.every((slope) => slope !== 0)).toBe(true);
    let touched = 0;
    for (let cell = 0; cell < 30; cell++) if (data[cell] !== 0) touched++;
    expect(touched).toBeGreaterThan(0);
    expect(touched).toBeLessThanOrEqual(terms.positives);
  });

  it.each([
    ['a law', 5, CRITERION_DEFAULTS.quality],
    ['a scalar', 2, { kind: 'bce' } as const],
  ])('with three locations a cell, %s is background wherever it is not assigned', (_, bins, quality) => {
    const shape = { boxCode: anchors, locations: 3, bins };
    const open = testHead(shape);
    const crowd = testHead({ ...shape, ignore: [[[-9, -9, 99, 99]], [[-9, -9, 99, 99]]] });
    const criterion = createDetectionCriterion(open.spec, config({ quality }));
    const all = criterion.evaluate(open.outputs, open.targets).terms;
    const { terms, gradients } = criterion.evaluate(crowd.outputs, crowd.targets);
    let background = 0;
    let assigned = 0;
    for (const { quality: name, columns, rows } of open.spec.levels) {
      const { data } = open.outputs.get(name)!;
      const cells = columns * rows;
      for (let map = 0; map < 6; map++) {
        for (let cell = 0; cell < cells; cell++) {
          const at = map * bins * cells + cell;
          if (gradients.get(name)!.data[at] !== 0) assigned++;
          else {
            const masses = Array.from({ length: bins }, (_unused, bin) => Math.exp(data[at + bin * cells]!));
            background -= Math.log(masses[0]! / masses.reduce((sum, mass) => sum + mass, 0));
          }
        }
      }
    }
    expect(assigned).toBe(terms.positives);
    expect(all.quality - terms.quality).toBeCloseTo(background / Math.max(all.targetSum, 1), 8);
  });

  it.each(['quality8', 'quality16', 'classes8', 'box8', 'box16'])(
    'NaN in %s makes the total NaN and throws nothing',
    (name) => {
      const { spec, outputs, targets } = testHead();
      outputs.get(name)!.data.fill(Number.NaN);
      expect(createDetectionCriterion(spec).evaluate(outputs, targets).terms.total).toBeNaN();
    },
  );

  it('an infinite box makes the total NaN', () => {
    const { spec, outputs, targets } = testHead({ boxCode: { kind: 'yolox' } });
    outputs.get('box8')!.data.fill(1000);
    expect(createDetectionCriterion(spec).evaluate(outputs, targets).terms.total).toBeNaN();
  });

  it('a frozen box branch has neither loss nor gradient', () => {
    const { spec, outputs, targets } = testHead();
    const { terms, gradients } = createDetectionCriterion(spec, config({ trainBox: false })).evaluate(
      outputs,
      targets,
    );
    expect(terms).toMatchObject({ box: 0, boxDfl: 0 });
    expect([...gradients.keys()].sort()).toEqual(['classes16', 'classes8', 'quality16', 'quality8']);
  });
});

describe('target policies', () => {
  const sums = (targets: CriterionConfig['targets']) => {
    const head = testHead();
    return createDetectionCriterion(head.spec, config({ targets })).evaluate(head.outputs, head.targets)
      .terms;
  };
  it('task-aligned targets lie below IoU, which lies below smoothed labels', () => {
    const aligned = sums({ kind: 'task-aligned' });
    const iou = sums({ kind: 'iou' });
    const hard = sums(SMOOTHED_LABELS);
    expect(aligned.targetSum).toBeLessThan(iou.targetSum);
    expect(iou.targetSum).toBeLessThan(hard.targetSum);
    expect(hard.targetSum / hard.positives).toBeGreaterThanOrEqual(0.8);
    expect(hard.targetSum / hard.positives).toBeLessThanOrEqual(0.95);
    // All are met badly by random boxes when the limit is 1.
    expect(sums({ ...SMOOTHED_LABELS, hardBelowIou: 1.1 }).targetSum).toBeCloseTo(0.8 * hard.positives, 9);
  });
});

describe('assigned anchors', () => {
  it('are shown with the class of their object and the logits of their place', () => {
    const { spec, outputs, targets } = testHead();
    const criterion = createDetectionCriterion(spec);
    const { gradients, terms } = criterion.evaluate(outputs, targets);
    const seen: (readonly [classId: number, logits: number[], gradient: number[]])[] = [];
    criterion.visitPositives((classId, { logits, offset, stride, classes }) => {
      const name = spec.levels.find(({ classes: map = '' }) => outputs.get(map)!.data === logits)!.classes!;
      const of = (values: ArrayLike<number>) =>
        Array.from({ length: classes }, (_, index) => values[offset + index * stride]!);
      seen.push([classId, of(logits), of(gradients.get(name)!.data)]);
    });
    expect(seen).toHaveLength(terms.positives);
    expect(new Set(seen.map(([classId]) => classId))).toEqual(new Set([0, 1, 2]));
    // The class loss pulls the logit of the object's class up, and no other.
    for (const [classId, , gradient] of seen) {
      expect(gradient.findIndex((slope) => slope < 0)).toBe(classId);
    }
  });

  it('have no class logits at one class', () => {
    const { spec, outputs, targets } = testHead({ classes: 1, objects: [[[0, 3, 2, 30, 25]]] });
    const criterion = createDetectionCriterion(spec);
    expect(criterion.evaluate(outputs, targets).terms.positives).toBeGreaterThan(0);
    criterion.visitPositives(() => expect.unreachable());
  });
});

describe('refusals', () => {
  const { spec, outputs, targets } = testHead();
  const refused: [string, Partial<CriterionConfig>, RegExp][] = [
    ['an unknown quality loss', { quality: { kind: 'dlf' } as never }, /known: dfl, bce, focal/],
    ['a scalar loss on many bins', { quality: { kind: 'bce' } }, /5 bins/],
    ['an unknown class loss', classification('bsce_gra' as never), /known: ce, focal/],
    ['a sigmoid loss of softmax classes', classification('bce'), /softmax classes/],
    ['an unknown target policy', { targets: { kind: 'soft' } as never }, /known: task-aligned, iou, hard/],
    [
      'a label above 1',
      { targets: { ...SMOOTHED_LABELS, positive: 1.2 } as never },
      /targets.positive is 1.2/,
    ],
    ['a negative weight', { weights: { ...CRITERION_DEFAULTS.weights, box: -1 } }, /weights.box is -1/],
    [
      'ranges for other classes',
      { logitRange: { kind: 'zs-norm', reference: RANGES.slice(1) } },
      /2 ranges for 3/,
    ],
    [
      'a range upside down',
      {
        logitRange: {
          kind: 'penalty',
          lambda: 1,
          reference: [...RANGES.slice(1), { least: 1, greatest: 0 }],
        },
      },
      /of class 2 is 1 to 0/,
    ],
  ];
  it.each(refused)('%s', (_, changes, message) => {
    expect(() => createDetectionCriterion(spec, config(changes))).toThrow(ConfigError);
    expect(() => createDetectionCriterion(spec, config(changes))).toThrow(message);
  });

  it.each([1, 2])('zs-norm with %i classes', (classes) => {
    const head = testHead({ classes });
    const changes = config({ logitRange: { kind: 'zs-norm', reference: 'frozen-layer' } });
    expect(() => createDetectionCriterion(head.spec, changes)).toThrow(ConfigError);
  });

  it('a reference that did not run, outputs of another batch, a class that the head does not know', () => {
    const penalty = config({ logitRange: { kind: 'penalty', lambda: 10, reference: 'frozen-layer' } });
    expect(() => createDetectionCriterion(spec, penalty).evaluate(outputs, targets)).toThrow(ModelError);
    expect(() => createDetectionCriterion(spec).evaluate(outputs, testTargets(1, []))).toThrow(/quality8/);
    expect(() =>
      createDetectionCriterion(spec).evaluate(outputs, testTargets(2, [[[7, 0, 0, 9, 9]]])),
    ).toThrow(DataError);
  });
});
