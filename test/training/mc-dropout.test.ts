// What our runtime says of a head with dropout passes: how the variance of a score splits, and on which pictures the
// passes disagree.
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDecoder, createRandom, HARD_SUPPRESSION, scoreVariance, splitVariance } from '#core';
import { encodePicture } from '#data/images';
import type { HeadedModel, ModelProto, PartValues } from '#onnx';
import { assembleDetector, buildDetector, reheadHost, serialize } from '#onnx';
import {
  describeCapabilities,
  detectPicture,
  type OpenDetector,
  openDetector,
  toUltralyticsRow,
} from '#runtime';
import { chooseEngine, trainDetector } from '#training';
import { fixedMasks } from '../../training/train.ts';
import { openHost, pictureFeed, understandHost } from '../onnx/heads/hosts.ts';
import { type Feed, runGraph } from '../onnx/heads/run-graph.ts';
import { testData } from '../support/test-data.ts';

const PASSES = 5;
const INPUT = { width: 96, height: 64 };

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mc-dropout-'));
});
afterAll(() => rm(folder, { recursive: true }));

function build(classNames: readonly string[]): HeadedModel {
  return buildDetector({ size: 'n', input: INPUT, classNames, dropout: 0.3 });
}

/** Prediction layers with something to say. */
function opinionated({ trainable }: HeadedModel): PartValues {
  const random = createRandom(11);
  const layers = trainable.parameters.filter(({ name }) =>
    /^head\.\d\.(adapter\.bias|quality|classes)/.test(name),
  );
  return new Map(
    layers.map(({ name, shape }) => {
      const length = shape.reduce((a, b) => a * b, 1);
      return [name, Float32Array.from({ length }, () => 0.5 * random.normal())];
    }),
  );
}

/** The detector under these rows of masks, one row a pass. */
function underPasses(headed: HeadedModel, values: PartValues, rows: readonly number[]): ModelProto {
  const masks = fixedMasks(headed, PASSES, 3).map((mask) => {
    const channels = mask.length / PASSES;
    return Float32Array.from(rows.flatMap((row) => [...mask.slice(row * channels, (row + 1) * channels)]));
  });
  return assembleDetector(headed, values, { monteCarlo: { passes: rows.length, masks } });
}

/** Every location of one picture, as our decoder reads it. */
async function decodeAll(model: ModelProto, feed: Feed) {
  const { layout, input, pictureInput } = await understandHost(model);
  const outputs = await runGraph(model, { [pictureInput]: feed });
  const decoder = createDecoder(layout, { input, boxVariance: false });
  return {
    candidates: decoder.decode(outputs, { default: 0 }),
    law: decoder.scoreLaw!,
    outputs,
    pictureInput,
  };
}

/**
 * Runs the passes together, and each alone, as two passes that agree.
 * @returns the largest epistemic variance of a location
 */
async function expectExactSplit(headed: HeadedModel, values: PartValues, feed: Feed): Promise<number> {
  const rows = Array.from({ length: PASSES }, (_, row) => row);
  const { candidates, law, outputs, pictureInput } = await decodeAll(underPasses(headed, values, rows), feed);
  const alone: Float32Array[] = [];
  for (const row of rows) {
    const single = await runGraph(underPasses(headed, values, [row, row]), { [pictureInput]: feed });
    expect(Math.max(...single.get('quality_epistemic')!.data)).toBeLessThan(1e-9);
    alone.push(single.get('quality')!.data);
  }
  const classes = headed.spec.classNames.length;
  const worst = { epistemic: 0, total: 0, law: 0 };
  let most = 0;
  for (let place = 0; place < candidates.count; place++) {
    const [anchor, classId] = [candidates.anchors[place]!, candidates.classIds[place]!];
    const p = classes > 1 ? outputs.get('class_probs')!.data[classes * anchor + classId]! : 1;
    const means = alone.map((quality) => p * quality[2 * anchor]!);
    // Law of p · Q of one pass: p (Var + E²) − (p E)².
    const variances = alone.map(
      (quality, pass) => p * (quality[2 * anchor + 1]! + quality[2 * anchor]! ** 2) - means[pass]! ** 2,
    );
    const split = splitVariance(means, variances);
    const [total, epistemic] = [
      candidates.scoreVariances![place]!,
      candidates.scoreVariancesEpistemic![place]!,
    ];
    const ofLaw = scoreVariance(law.distribution(anchor, classId)!);
    worst.epistemic = Math.max(worst.epistemic, Math.abs(epistemic - split.epistemic));
    worst.total = Math.max(worst.total, Math.abs(total - split.aleatoric - epistemic));
    worst.law = Math.max(worst.law, Math.abs(ofLaw - total));
    most = Math.max(most, epistemic);
  }
  expect(candidates.count).toBeGreaterThan(100);
  expect(worst.epistemic).toBeLessThan(1e-6);
  expect(worst.total).toBeLessThan(1e-6);
  expect(worst.law).toBeLessThan(1e-6);
  return most;
}

describe('aleatoric and epistemic variance of a score add up to its variance, and to that of its law', () => {
  const random = createRandom(5);
  const noise = {
    data: Float32Array.from({ length: 3 * INPUT.width * INPUT.height }, () => random.next()),
    shape: [1, 3, INPUT.height, INPUT.width],
  };

  it.each([1, 2])(
    'in a network of ours with %i classes',
    async (classes) => {
      const headed = build(Array.from({ length: classes }, (_, id) => `class ${id}`));
      expect(await expectExactSplit(headed, opinionated(headed), noise)).toBeGreaterThan(1e-3);
    },
    120_000,
  );

  const path = testData('models/yolox_nano.onnx');
  const picture = testData('images/bus.jpg');
  it.skipIf(!path || !picture)(
    'on features of YOLOX-nano (skipped: model or picture absent)',
    async () => {
      const host = await openHost(path ?? '');
      const headed = reheadHost(host.model, {
        classNames: ['person', 'bus', 'car'],
        preprocess: host.preprocess,
        dropout: 0.3,
      });
      const feed = await pictureFeed(picture ?? '', host);
      expect(await expectExactSplit(headed, opinionated(headed), feed)).toBeGreaterThan(1e-3);
    },
    120_000,
  );
});

describe('our runtime', () => {
  async function detectOnGrey(name: string, model: ModelProto) {
    const path = join(folder, `${name}.onnx`);
    await writeFile(path, serialize(model));
    const detector = await openDetector(path, { threshold: { kind: 'fixed', base: 0.01 } });
    const grey = new Uint8Array(3 * INPUT.width * INPUT.height).fill(128);
    const { detections } = await detectPicture(detector, await encodePicture(grey, INPUT, 'png'));
    await detector.close();
    expect(detections.length).toBeGreaterThan(0);
    return { detector, rows: detections.map(toUltralyticsRow) };
  }

  it('writes score_var_epistemic for a model with passes, and says that it can', async () => {
    const headed = build(['car', 'bus']);
    const { detector, rows } = await detectOnGrey(
      'passes',
      underPasses(headed, opinionated(headed), [0, 1, 2, 3]),
    );
    expect(detector.capabilities.epistemic).toBe(true);
    expect(describeCapabilities(detector.capabilities)).toContain(
      'variance of the score, its epistemic part',
    );
    for (const { score_var, score_var_epistemic } of rows) {
      expect(score_var_epistemic).toBeGreaterThan(0);
      expect(score_var_epistemic).toBeLessThan(score_var ?? 0);
    }
  });

  it('has no such key for a model of one pass, and says what would give it', async () => {
    const headed = build(['car', 'bus']);
    const { detector, rows } = await detectOnGrey('plain', assembleDetector(headed, opinionated(headed)));
    expect(detector.capabilities).toMatchObject({ scoreVariance: true, epistemic: false });
    expect(detector.capabilities.limits.join()).toMatch(/mc_passes=8/);
    expect(describeCapabilities(detector.capabilities)).not.toContain('epistemic');
    for (const row of rows) expect(row).not.toHaveProperty('score_var_epistemic');
  });
});

/** A location: its score, and the part of its variance that the passes disagree on. */
type Location = readonly [score: number, epistemic: number];

/** The 300 highest scores of each picture, highest first. */
async function locationsOf(
  detector: OpenDetector,
  pictures: readonly string[],
): Promise<readonly (readonly Location[])[]> {
  const found: Location[][] = [];
  for (const picture of pictures) {
    const { detections } = await detectPicture(detector, picture);
    found.push(
      detections.map(({ score, scoreVarianceEpistemic = Number.NaN }) => [score, scoreVarianceEpistemic]),
    );
  }
  return found;
}

const mean = (numbers: readonly number[]) =>
  numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

/** Over the best 50 locations of each picture; `relative` is the deviation between passes as a fraction of the score. */
function summarise(pictures: readonly (readonly Location[])[]) {
  const top = pictures.flatMap((locations) => locations.slice(0, 50));
  return {
    score: mean(top.map(([score]) => score)),
    epistemic: mean(top.map(([, epistemic]) => epistemic)),
    relative: mean(top.map(([score, epistemic]) => Math.sqrt(epistemic) / score)),
  };
}

const SCORE_EDGES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4];

/** Epistemic variance of one set over that of another at equal scores: geometric mean over slices that both have. */
function ratioAtEqualScore(
  set: readonly (readonly Location[])[],
  reference: readonly (readonly Location[])[],
): number {
  const ratios = SCORE_EDGES.slice(1).flatMap((high, slice) => {
    const low = SCORE_EDGES[slice]!;
    const [inSet, inReference] = [set, reference].map((pictures) =>
      pictures
        .flat()
        .filter(([score]) => score >= low && score < high)
        .map(([, epistemic]) => epistemic),
    ) as [number[], number[]];
    return Math.min(inSet.length, inReference.length) < 20 ? [] : [Math.log(mean(inSet) / mean(inReference))];
  });
  return Math.exp(mean(ratios));
}

const CAMERAS = ['2703', '3704', '8701', '8704', '9706'];

/** Day pictures of five cameras: two of three to train on, the others held out. */
function dayPictures(root: string): {
  readonly train: readonly string[];
  readonly heldOut: readonly string[];
} {
  const day = readFileSync(join(root, 'frames.csv'), 'utf8')
    .split('\n')
    .map((line) => line.split(','))
    .filter(([, , camera = '', , period]) => CAMERAS.includes(camera) && period === 'day')
    .map(([file = '']) => join(root, file));
  return {
    train: day.filter((_, index) => index % 3 !== 2),
    heldOut: day.filter((_, index) => index % 3 === 2),
  };
}

const HOST = testData('models/yolox_nano.onnx');
const ROADS = testData('datasets/lta_daynight_2021');
const PHOTOGRAPHS = testData('datasets/coco128_permissive33/images');
const BLOOD_CELLS = testData('datasets/bccd_voc159/JPEGImages');

function someOf(pictures = ''): readonly string[] {
  return readdirSync(pictures)
    .sort()
    .slice(0, 15)
    .map((file) => join(pictures, file));
}

describe.skipIf(!HOST || !ROADS)(
  'passes of a head trained on roads by day (skipped: model or pictures absent)',
  () => {
    let detector: OpenDetector;
    let usual: readonly (readonly Location[])[] = [];
    const { train, heldOut } = ROADS ? dayPictures(ROADS) : { train: [], heldOut: [] };

    beforeAll(async () => {
      await writeFile(join(folder, 'train.txt'), train.join('\n'));
      await writeFile(
        join(folder, 'roads.yaml'),
        'train: train.txt\nnames: [car, lorry_truck, van, bike, bus]\n',
      );
      const request = {
        data: join(folder, 'roads.yaml'),
        model: HOST ?? '',
        singleClass: true,
        epochs: 10,
        variants: 1,
        augment: { dusk: 0 },
        dropout: 0.25,
        monteCarloPasses: 8,
      };
      const events = trainDetector(request, {
        folder,
        signal: new AbortController().signal,
        openEngine: async (part, batch) =>
          (
            await chooseEngine(
              { engine: 'onnx', device: { kind: 'cpu' }, threads: 1, workers: 1 },
              part,
              batch,
            )
          ).engine,
      });
      let path = '';
      for await (const event of events) if (event.type === 'finished') path = event.files.lastPath;
      // Nothing is suppressed: locations are compared, not objects.
      detector = await openDetector(path, {
        threshold: { kind: 'fixed', base: 0 },
        suppression: HARD_SUPPRESSION,
        iou: 1,
      });
      usual = await locationsOf(detector, heldOut);
    }, 240_000);
    afterAll(() => detector?.close());

    it('disagree at all', () => {
      const { score, epistemic } = summarise(usual);
      expect(score).toBeGreaterThan(0.1);
      expect(epistemic).toBeGreaterThan(1e-4);
    });

    // The variance itself falls with the score, of which unlike pictures get little: it is at most E (1 − E). So passes
    // are compared by how far they differ as a fraction of the score, and at equal scores.
    it.skipIf(!PHOTOGRAPHS)(
      'disagree more on photographs of anything (skipped: pictures absent)',
      async () => {
        const unlike = await locationsOf(detector, someOf(PHOTOGRAPHS));
        expect(summarise(unlike).relative).toBeGreaterThan(1.5 * summarise(usual).relative);
        expect(ratioAtEqualScore(unlike, usual)).toBeGreaterThan(1.2);
      },
    );

    it.skipIf(!BLOOD_CELLS)('disagree more on blood cells (skipped: pictures absent)', async () => {
      const unlike = await locationsOf(detector, someOf(BLOOD_CELLS));
      expect(summarise(unlike).relative).toBeGreaterThan(1.5 * summarise(usual).relative);
    });
  },
);
