// Frames in, results out: order, bounds and ends. The source is a list of frames, the network a real session.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ModelError } from '#core';
import {
  ElementType,
  floats,
  graph,
  ints,
  type ModelProto,
  model,
  node,
  serialize,
  standInDetector,
  valueInfo,
} from '#onnx';
import {
  type DetectionsOptions,
  detections,
  type Frame,
  type FrameRequest,
  type FrameSource,
  type OpenDetector,
  openDetector,
} from '#runtime';

const folder = mkdtempSync(join(tmpdir(), 'detections-'));
let detector: OpenDetector;

beforeAll(async () => {
  const path = join(folder, 'stand-in.onnx');
  writeFileSync(path, serialize(standInDetector({ width: 64, height: 64 })));
  detector = await openDetector(path);
});
afterAll(async () => {
  await detector.close();
  rmSync(folder, { recursive: true });
});

/** A batch of four: the score of each picture is 0.3 plus its mean brightness. YOLOv8 form, one class. */
function brightnessOfFour(): ModelProto {
  const anchors = 64 + 16 + 4;
  const box = Array.from({ length: 4 }, () => [32, 32, 40, 40]).flat();
  return model(
    graph({
      nodes: [
        node('ReduceMean', ['images'], ['mean'], { axes: [1n, 2n, 3n], keepdims: 1n }),
        node('Reshape', ['mean', 'column'], ['flat']),
        node('Add', ['flat', 'floor'], ['score']), // [4, 1, 1]
        node('Concat', ['box', 'score'], ['first'], { axis: 1n }), // [4, 5, 1]
        node('Concat', ['first', 'rest'], ['output0'], { axis: 2n }), // [4, 5, A]
      ],
      inputs: [valueInfo('images', ElementType.FLOAT, [4, 3, 64, 64])],
      outputs: [valueInfo('output0', ElementType.FLOAT, [4, 5, anchors])],
      initializers: [
        ints('column', [4, 1, 1]),
        floats('floor', [], [0.3]),
        floats('box', [4, 4, 1], box),
        floats('rest', [4, 5, anchors - 1], new Float32Array(4 * 5 * (anchors - 1))),
      ],
    }),
    { metadata: { task: 'detect', names: "{0: 'light'}", stride: '32' } },
  );
}

/** A source of 64x64 frames with a white bar: its left edge n is the number of the frame, its width n + 10. */
class Squares implements FrameSource {
  readonly name = 'squares';
  readonly kind: FrameSource['kind'];
  readonly #count: number;
  given = 0;
  released = 0;
  mostOut = 0;
  ended = false;

  constructor(count: number, kind: FrameSource['kind'] = 'video') {
    this.#count = count;
    this.kind = kind;
  }

  async *frames({ fit, signal }: FrameRequest): AsyncIterable<Frame> {
    try {
      for (let index = 0; index < this.#count; index++) {
        signal.throwIfAborted();
        yield this.#frame(index, fit);
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      this.ended = true;
    }
  }

  #frame(index: number, fit: FrameRequest['fit']): Frame {
    const content = new Uint8Array(64 * 64 * 3);
    const left = index % 25;
    for (let y = 20; y < 30; y++) content.fill(255, (y * 64 + left) * 3, (y * 64 + left + 10 + left) * 3);
    this.given++;
    this.mostOut = Math.max(this.mostOut, this.given - this.released);
    let isOut = true;
    const release = () => {
      if (!isOut) throw new Error('released twice');
      isOut = false;
      this.released++;
    };
    return { source: this.name, index, letterbox: fit({ width: 64, height: 64 }), content, release };
  }

  stats() {
    return { frames: this.given, dropped: 0, reconnects: 0, damaged: 0 };
  }
}

function run(source: FrameSource, more: Partial<DetectionsOptions> = {}) {
  return detections({ source, detector, signal: new AbortController().signal, ...more });
}

describe('detections over a source', () => {
  it('gives every frame once, in order, with its own boxes', async () => {
    const source = new Squares(50);
    const lefts: number[] = [];
    for await (const { frame, detections: found } of run(source)) {
      expect(frame.index).toBe(lefts.length);
      lefts.push(Math.round(found[0]?.box.x1 ?? -1));
    }
    expect(lefts).toEqual(Array.from({ length: 50 }, (_, index) => index % 25));
    expect(source.released).toBe(50);
    expect(source.mostOut).toBeLessThanOrEqual(3);
  });

  it('overlaps several sessions and still gives results in order', async () => {
    const path = join(folder, 'two.onnx');
    writeFileSync(path, serialize(standInDetector({ width: 64, height: 64 })));
    const two = await openDetector(path, { sessions: 2 });
    const seen: number[] = [];
    for await (const { frame, detections: found } of run(new Squares(60), { detector: two })) {
      expect(Math.round(found[0]?.box.x1 ?? -1)).toBe(frame.index % 25);
      seen.push(frame.index);
    }
    expect(seen).toEqual(Array.from({ length: 60 }, (_, index) => index));
    await two.close();
  });

  it('takes a live frame only when the consumer is done with the one before', async () => {
    const source = new Squares(10, 'live');
    for await (const { frame } of run(source)) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(source.given).toBe(frame.index + 1);
    }
    expect(source.mostOut).toBe(1);
  });

  it('ends source and frames when the consumer leaves early', async () => {
    const source = new Squares(1000);
    for await (const { frame } of run(source)) if (frame.index === 5) break;
    expect(source.ended).toBe(true);
    expect(source.given).toBeLessThan(12);
    expect(source.released).toBe(source.given);
  });

  it('throws the reason of an abort after the results under way', async () => {
    const source = new Squares(1000);
    const controller = new AbortController();
    const reason = new Error('enough');
    let last = -1;
    const reading = (async () => {
      for await (const { frame } of run(source, { signal: controller.signal })) {
        last = frame.index;
        if (frame.index === 3) controller.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(last).toBeLessThan(8);
    expect(source.released).toBe(source.given);
  });

  it('throws the error of a source after the frames before it', async () => {
    const broken = new Error('cable cut');
    const source = new Squares(3);
    const frames = source.frames.bind(source);
    source.frames = async function* (request) {
      yield* frames(request);
      throw broken;
    };
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { frame } of run(source)) seen.push(frame.index);
    })();
    await expect(reading).rejects.toBe(broken);
    expect(seen).toEqual([0, 1, 2]);
  });

  it('fills up the last batch of a fixed-batch model and drops the filler', async () => {
    const path = join(folder, 'batch.onnx');
    writeFileSync(path, serialize(brightnessOfFour()));
    const batched = await openDetector(path);
    expect(batched.batchSize).toBe(4);
    const scores: number[] = [];
    for await (const { detections: found } of run(new Squares(5), { detector: batched })) {
      expect(found).toHaveLength(1);
      scores.push(found[0]?.score ?? -1);
    }
    // Square n is n + 10 px wide: its share of the picture is what the network measures.
    expect(scores).toHaveLength(5);
    for (const [index, score] of scores.entries())
      expect(score).toBeCloseTo(0.3 + (10 * (index + 10)) / 4096, 4);
    await batched.close();
  });

  it('reports a model that fails, and ends the source', async () => {
    const source = new Squares(100);
    const failing = { ...detector, detect: () => Promise.reject(new ModelError('broken', { hint: 'none' })) };
    const reading = (async () => {
      for await (const _ of run(source, { detector: failing })) expect.unreachable();
    })();
    await expect(reading).rejects.toThrow('broken');
    expect(source.ended).toBe(true);
    expect(source.released).toBe(source.given);
  });
});
