// How long decoding, threshold and suppression take, on heads filled as a trained network fills them:
// nearly all locations far below the threshold, about 100 objects with about 15 boxes each.
import { performance } from 'node:perf_hooks';
import type { HeadLayout, HeadOutputs, HeadTensor } from '#core';
import {
  createDecoder,
  createInputWriter,
  createLetterbox,
  createPostprocessor,
  DEFAULT_FIT,
  HARD_SUPPRESSION,
  POSTPROCESS_DEFAULTS,
} from '#core';

export interface DecodeFigure {
  readonly name: string;
  readonly medianMs: number;
  /** The fastest round: what the median would be on a machine with nothing else to do. */
  readonly fastestMs: number;
  /** The bar that the project set itself; absent where there is none. */
  readonly barMs?: number;
  readonly candidates: number;
  readonly detections: number;
}

interface Workload {
  readonly name: string;
  readonly barMs?: number;
  readonly layout: HeadLayout;
  readonly outputs: HeadOutputs;
  readonly inputPx: number;
  readonly conf: number;
}

interface Scene {
  readonly anchorCount: number;
  readonly inputPx: number;
  /** Share of the locations outside objects whose score lies between 0.001 and 0.05. */
  readonly noisy: number;
  readonly objects: number;
  readonly duplicates: number;
}

const CLASS_COUNT = 80;
const YOLOV8 = {
  kind: 'yolov8',
  output: 'o',
  channels: 84,
  classCount: CLASS_COUNT,
  transposed: false,
} as const;
const YOLOV5 = { kind: 'yolov5', output: 'o', stride: 85, classCount: CLASS_COUNT } as const;

/** Repeatable numbers in [0, 1) (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Location {
  readonly box: readonly [number, number, number, number];
  readonly classId: number;
  readonly score: number;
}

function locationsOf(scene: Scene): Location[] {
  const random = createRandom(1);
  const { inputPx } = scene;
  const place = () => ({
    x: random() * inputPx,
    y: random() * inputPx,
    w: 20 + random() * 100,
    h: 20 + random() * 100,
  });
  const objects = Array.from({ length: scene.objects }, () => ({
    ...place(),
    classId: Math.floor(random() * 8),
  }));
  return Array.from({ length: scene.anchorCount }, (_, anchor) => {
    // Strewn over the head by a step that has no common factor with it.
    const order = (anchor * 7919) % scene.anchorCount;
    const object = order < scene.objects * scene.duplicates ? objects[order % scene.objects] : undefined;
    if (object !== undefined) {
      const jitter = () => (random() - 0.5) * 6;
      const box = [
        object.x + jitter(),
        object.y + jitter(),
        object.w + jitter(),
        object.h + jitter(),
      ] as const;
      return { box, classId: object.classId, score: 0.3 + 0.65 * random() };
    }
    const { x, y, w, h } = place();
    const score = random() < scene.noisy ? 0.0011 + 0.05 * random() ** 4 : 0.0009 * random();
    return { box: [x, y, w, h] as const, classId: Math.floor(random() * CLASS_COUNT), score };
  });
}

function fillYoloV8(scene: Scene): HeadTensor {
  const random = createRandom(2);
  const { anchorCount } = scene;
  const data = new Float32Array(84 * anchorCount).map(() => 0.0009 * random());
  for (const [anchor, { box, classId, score }] of locationsOf(scene).entries()) {
    for (const [channel, value] of box.entries()) data[channel * anchorCount + anchor] = value;
    data[(4 + classId) * anchorCount + anchor] = score;
  }
  return { shape: [1, 84, anchorCount], data };
}

function fillYoloV5(scene: Scene): HeadTensor {
  const random = createRandom(2);
  const data = new Float32Array(85 * scene.anchorCount).map(() => 0.01 * random());
  for (const [anchor, { box, classId, score }] of locationsOf(scene).entries()) {
    const objectness = Math.min(0.99, score + 0.02);
    data.set([...box, objectness], 85 * anchor);
    data[85 * anchor + 5 + classId] = score / objectness;
  }
  return { shape: [1, scene.anchorCount, 85], data };
}

function workloads(): Workload[] {
  const usual = { inputPx: 640, noisy: 0.1, objects: 100, duplicates: 15 };
  const full = { anchorCount: 33_600, inputPx: 1280, noisy: 0.89, objects: 100, duplicates: 15 };
  const piled = { ...full, noisy: 0, duplicates: 300 };
  const outputs = (tensor: HeadTensor): HeadOutputs => new Map([['o', tensor]]);
  return [
    {
      name: '[1,84,8400] conf 0.25',
      barMs: 1.5,
      layout: { ...YOLOV8, anchorCount: 8400 },
      outputs: outputs(fillYoloV8({ ...usual, anchorCount: 8400 })),
      inputPx: 640,
      conf: 0.25,
    },
    {
      name: '[1,25200,85] conf 0.25',
      barMs: 3,
      layout: { ...YOLOV5, anchorCount: 25_200 },
      outputs: outputs(fillYoloV5({ ...usual, anchorCount: 25_200 })),
      inputPx: 640,
      conf: 0.25,
    },
    {
      name: '[1,84,33600] conf 0.001, 30,000 candidates strewn',
      barMs: 20,
      layout: { ...YOLOV8, anchorCount: 33_600 },
      outputs: outputs(fillYoloV8(full)),
      inputPx: 1280,
      conf: 0.001,
    },
    {
      name: '[1,84,33600] conf 0.001, 30,000 candidates on 100 objects',
      barMs: 20,
      layout: { ...YOLOV8, anchorCount: 33_600 },
      outputs: outputs(fillYoloV8(piled)),
      inputPx: 1280,
      conf: 0.001,
    },
  ];
}

function measure(workload: Workload, rounds: number): DecodeFigure {
  const size = { width: workload.inputPx, height: workload.inputPx };
  const decoder = createDecoder(workload.layout, { input: size, boxVariance: false });
  const postprocessor = createPostprocessor({
    ...POSTPROCESS_DEFAULTS,
    classNames: Array.from({ length: CLASS_COUNT }, (_, classId) => `class ${classId}`),
    threshold: { kind: 'fixed', base: workload.conf },
    suppression: HARD_SUPPRESSION,
  });
  const letterbox = createLetterbox({ width: 1920, height: 1080 }, size);
  const once = () =>
    postprocessor.process(decoder.decode(workload.outputs, postprocessor.floor), letterbox, decoder);
  const { medianMs, fastestMs, last } = timesOf(once, rounds);
  return {
    name: workload.name,
    medianMs,
    fastestMs,
    ...(workload.barMs !== undefined && { barMs: workload.barMs }),
    candidates: last.candidateCount,
    detections: last.detections.length,
  };
}

function timesOf<T>(once: () => T, rounds: number): { medianMs: number; fastestMs: number; last: T } {
  let last = once();
  for (let round = 0; round < rounds / 4; round++) last = once(); // warm-up
  const times = Array.from({ length: rounds }, () => {
    const start = performance.now();
    last = once();
    return performance.now() - start;
  }).sort((a, b) => a - b);
  const rounded = (ms: number) => Number(ms.toFixed(3));
  return { medianMs: rounded(times[Math.floor(rounds / 2)]!), fastestMs: rounded(times[0]!), last };
}

/** Medians of decode + threshold + suppression + mapping back, per workload. */
export function measureDecode(rounds = 200): DecodeFigure[] {
  return workloads().map((workload) => measure(workload, rounds));
}

/** Median ms to write a 640x360 picture into a 640x640 float32 input. */
export function measureInputWriter(rounds = 200): number {
  const input = { width: 640, height: 640 };
  const letterbox = createLetterbox({ width: 1280, height: 720 }, input);
  const contract = {
    fit: DEFAULT_FIT,
    channels: 'rgb',
    mean: [0, 0, 0],
    std: [255, 255, 255],
    pad: 114,
  } as const;
  const writer = createInputWriter(contract, { type: 'float32', layout: 'nchw' });
  const target = writer.create(input);
  const content = new Uint8Array(3 * letterbox.content.width * letterbox.content.height).fill(77);
  return timesOf(() => writer.writeContentInto(target, content, letterbox), rounds).medianMs;
}

if (process.argv[1] === import.meta.filename) {
  const figures = { decode: measureDecode(), writeContentMs: measureInputWriter() };
  console.log(JSON.stringify(figures, undefined, 2));
}
