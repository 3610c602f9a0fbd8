// Model files as people have them, through the whole command line: other shapes and precisions work, the rest is named.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { halfTwin, missingKernel } from '../support/probe-models.ts';
import { farthestSide, faultsOfRefusal, RunFolder, solidPng } from '../support/run-folder.ts';
import { testData } from '../support/test-data.ts';
import { distributionDetector } from '../support/tiny-heads.ts';
import {
  channelMeanProbe,
  classifier,
  constantDetector,
  constantGraph,
  externalData,
  modelBytes,
  nmsOnly,
  rawFeatureMaps,
  twoLayoutsFit,
  whiteBoxProbe,
} from '../support/tiny-models.ts';

const folder = new RunFolder();
/** Reds of five pictures, so that each answer tells whose it is. */
const REDS = [90, 120, 150, 180, 210];

beforeAll(async () => {
  for (const [index, red] of REDS.entries()) {
    await folder.write(`five/${index}.png`, await solidPng({ width: 64, height: 64 }, [red, 0, 0]));
  }
  await folder.write('wide.png', await solidPng({ width: 96, height: 48 }, [255, 0, 0]));
  await folder.write('wide/tall.png', await solidPng({ width: 48, height: 96 }, [255, 0, 0]));
});

afterAll(() => folder.remove());

async function refusal(model: string, ...words: string[]): Promise<string> {
  const result = await folder.run(['predict', 'source=wide.png', 'save=False', `model=${model}`, ...words]);
  expect(faultsOfRefusal(result, 5), `${model} ${words.join(' ')}`).toEqual([]);
  expect(result.stderr).toContain(model);
  return result.stderr;
}

/** Two at a time: there are two cores. */
async function refusals(models: readonly string[]): Promise<readonly string[]> {
  const said: string[] = [];
  for (let index = 0; index < models.length; index += 2) {
    said.push(...(await Promise.all(models.slice(index, index + 2).map((model) => refusal(model)))));
  }
  return said;
}

describe('files that are no model, or none for this runtime', () => {
  it('are named for what they are, with what to do', async () => {
    const whole = modelBytes(whiteBoxProbe());
    const output = { name: 'output0', shape: [1, 6, 189] };
    await folder.writeModel('ir.onnx', constantGraph({ outputs: [output], irVersion: 99 }));
    await folder.writeModel('opset.onnx', constantGraph({ outputs: [output], opset: 99 }));
    await folder.write('half.onnx', whole.subarray(0, whole.length / 2));
    await folder.write('page.onnx', '<!DOCTYPE html><html><body>404</body></html>');
    await folder.write('zip.onnx', Buffer.from('PK\x03\x04..........................best/data.pkl'));
    await folder.write('best.pt', Buffer.from('PK\x03\x04..........................best/data.pkl'));
    const [ir, opset, half, page, zip, checkpoint, missing] = await refusals([
      'ir.onnx',
      'opset.onnx',
      'half.onnx',
      'page.onnx',
      'zip.onnx',
      'best.pt',
      'missing.pt',
    ]);
    expect(ir).toMatch(/IR version 99; the runtime takes up to \d+\n.*opset=17/);
    expect(opset).toMatch(/opset 99; the runtime takes up to \d+\n.*opset=17/);
    expect(half).toMatch(/cut off or damaged: its \d+ bytes/);
    expect(page).toMatch(/a web page \(HTML\)/);
    expect(zip).toMatch(/a PyTorch checkpoint/);
    expect(checkpoint).toContain('yolo export model=best.pt format=onnx');
    expect(missing).toContain('yolo export model=missing.pt format=onnx');
  });

  it('are named also where the graph loads and is no detector, or lacks a kernel', async () => {
    await folder.writeModel('classifier.onnx', classifier());
    await folder.writeModel('nms.onnx', nmsOnly());
    await folder.writeModel('maps.onnx', rawFeatureMaps());
    await folder.writeModel('two.onnx', twoLayoutsFit({ width: 96, height: 96 }));
    await folder.writeModel('kernel.onnx', missingKernel());
    const [classes, nms, maps, two, kernel] = await refusals([
      'classifier.onnx',
      'nms.onnx',
      'maps.onnx',
      'two.onnx',
      'kernel.onnx',
    ]);
    expect(classes).toMatch(/classifier.*probabilities \[1, 1000\]/);
    expect(nms).toMatch(/post-processing graph \(NonMaxSuppression\)/);
    expect(maps).toMatch(/raw YOLOv5 feature maps.*\[1, 3, 8, 8, 85\]/);
    expect(two).toMatch(/\[1, 189, 7\].*yolov8 with 3 classes, yolox with 2 classes[\s\S]*layout=yolov8/);
    expect(kernel).toMatch(/no kernel for Conv\(\d+\) \(node first_conv\)\n.*float32/);
    expect((await folder.predict('source=wide.png', 'model=two.onnx', 'layout=yolov8')).stderr).toMatch(
      /two\.onnx: yolov8 head, 3 classes/,
    );
  });
});

describe('weights in a second file', () => {
  it('load from beside the model, whatever that is called, and are named where they are missing', async () => {
    const { model, weights } = externalData('w.bin');
    await folder.writeModel('with/model.onnx', model);
    await folder.write('with/w.bin', weights);
    copyFileSync(folder.join('with/model.onnx'), folder.join('with/renamed.onnx'));
    await folder.writeModel('without/model.onnx', model);
    await folder.writeModel('outside/model.onnx', externalData('../with/w.bin').model);
    const { lines } = await folder.predict('source=wide.png', 'model=with/renamed.onnx');
    expect(lines[0]?.detections.map(({ name }) => name)).toEqual(['car', 'person']);
    const [without, outside] = await refusals(['without/model.onnx', 'outside/model.onnx']);
    expect(without).toMatch(/weights in w\.bin, which is not in \S*without\n.*copy w\.bin/);
    expect(outside).toMatch(/'\.\.\/with\/w\.bin', which is not inside the model's folder/);
  });
});

describe('other shapes', () => {
  const redsOf = (lines: readonly { detections: readonly { confidence: number }[] }[]) =>
    lines.map(({ detections }) => Math.round((detections[0]?.confidence ?? 0) * 255));

  it('a batch of 4 gives five pictures five answers, each its own', async () => {
    await folder.writeModel('batch.onnx', channelMeanProbe({ width: 64, height: 64 }, { batch: 4 }));
    const { lines } = await folder.predict('source=five', 'model=batch.onnx');
    expect(lines.map(({ source }) => source)).toEqual(REDS.map((_, index) => `five/${index}.png`));
    expect(redsOf(lines)).toEqual(REDS);
    expect(lines.every(({ detections }) => detections.length === 1)).toBe(true);
  });

  it.skipIf(!ffmpegAvailable)(`and five frames of a clip${ffmpegNote}`, async () => {
    await folder.writeModel('batch.onnx', channelMeanProbe({ width: 64, height: 64 }, { batch: 4 }));
    const input = ['-framerate', '5', '-i', folder.join('five/%d.png')];
    execFileSync('ffmpeg', [
      '-v',
      'error',
      ...input,
      '-c:v',
      'ffv1',
      '-pix_fmt',
      'yuv444p',
      folder.join('five.mkv'),
    ]);
    const { lines } = await folder.predict('source=five.mkv', 'model=batch.onnx');
    expect(lines).toHaveLength(5);
    redsOf(lines).forEach((red, index) => {
      expect(Math.abs(red - (REDS[index] ?? 0))).toBeLessThan(6);
    });
  });

  it('channels last, as channels first', async () => {
    await folder.writeModel('nhwc.onnx', channelMeanProbe({ width: 64, height: 64 }, { order: 'nhwc' }));
    const { lines } = await folder.predict('source=five', 'model=nhwc.onnx');
    expect(redsOf(lines)).toEqual(REDS);
    expect(lines.every(({ detections }) => detections[0]?.name === 'red')).toBe(true);
  });

  it('48 high and 96 wide: height and width come from the model and are never swapped', async () => {
    await folder.writeModel('rectangle.onnx', channelMeanProbe({ width: 96, height: 48 }));
    await folder.write('shapes/a-wide.png', readFileSync(folder.join('wide.png')));
    await folder.write('shapes/b-tall.png', readFileSync(folder.join('wide/tall.png')));
    const { lines, stderr } = await folder.predict('source=shapes', 'model=rectangle.onnx', 'conf=0.5');
    expect(stderr).toContain('input 96x48');
    expect(lines[0]?.detections).toMatchObject([
      { name: 'red', confidence: 1, box: { x1: 0, y1: 0, x2: 96, y2: 48 } },
    ]);
    // 24 of 96 columns are picture, the others are padding of 114: red is 0.25 + 0.75 * 114 / 255.
    expect(lines[1]?.detections[0]).toMatchObject({ name: 'red', box: { x1: 0, y1: 0, x2: 48, y2: 96 } });
    expect(lines[1]?.detections[0]?.confidence).toBeCloseTo(0.25 + (0.75 * 114) / 255, 3);
  });

  it('free axes take imgsz=, height before width, rounded up to the stride', async () => {
    const free = constantDetector({
      kind: 'yolov8',
      input: { width: 96, height: 64 },
      inputShape: ['batch', 3, 'height', 'width'],
    });
    await folder.writeModel('free.onnx', free);
    const { lines, stderr } = await folder.predict('source=five', 'model=free.onnx', 'imgsz=50,90');
    expect(stderr).toContain('input 96x64');
    expect(lines).toHaveLength(5);
    expect(await refusal('free.onnx')).toMatch(/\[1, 6, 126\] at an input of 640x640/);
    const fixed = await folder.run(['predict', 'source=five', 'model=rectangle.onnx', 'imgsz=640']);
    expect(faultsOfRefusal(fixed, 3)).toEqual([]);
    expect(fixed.stderr).toMatch(/imgsz=640,640: rectangle\.onnx was exported for 48,96 \(height,width\)/);
  });

  it('float16 gives what its float32 twin gives', async () => {
    const probe = whiteBoxProbe({ width: 128, height: 128 });
    await folder.writeModel('float.onnx', probe);
    await folder.writeModel('float16.onnx', halfTwin(probe));
    const white = await solidPng({ width: 40, height: 30 }, [255, 255, 255]);
    await folder.write('white.png', white);
    const [float, half] = await Promise.all(
      ['float.onnx', 'float16.onnx'].map((model) => folder.predict('source=white.png', `model=${model}`)),
    );
    const [wanted, found] = [float?.lines[0]?.detections[0], half?.lines[0]?.detections[0]];
    if (wanted === undefined || found === undefined) throw new Error('nothing was found');
    expect(farthestSide(wanted.box, { x1: 0, y1: 0, x2: 40, y2: 30 })).toBeLessThan(0.5);
    expect(farthestSide(found.box, wanted.box)).toBeLessThan(0.5);
    expect(Math.abs(found.confidence - wanted.confidence)).toBeLessThan(0.01);
  });
});

describe('uncertainty that a model does not have', () => {
  beforeAll(async () => {
    await folder.writeModel('plain.onnx', constantDetector({ kind: 'yolov8' }));
    await folder.writeModel('sides.onnx', distributionDetector());
  });

  it('is refused in words, with what the model can say', async () => {
    const asked = [
      ['plain.onnx', 'nms=uncertainty', /nms=uncertainty cannot work: .*no variance of the score/],
      ['plain.onnx', 'threshold=variance', /threshold=variance cannot work: .*no variance of the score/],
      [
        'plain.onnx',
        'nms=box-uncertainty',
        /nms=box-uncertainty cannot work: .*no variance of (its|the) box/,
      ],
      ['plain.onnx', 'uncertainty=box', /gives no variance of its boxes/],
      ['sides.onnx', 'uncertainty=all', /gives no variance of its scores/],
      [
        'sides.onnx',
        'uncertainty=score',
        /gives no variance of its scores[\s\S]*score, variance of the boxes/,
      ],
      ['plain.onnx', 'preset=published', /no variance of the score/],
    ] as const;
    for (let index = 0; index < asked.length; index += 2) {
      const pair = asked.slice(index, index + 2);
      const answers = await Promise.all(pair.map(([model, word]) => refusal(model, word)));
      for (const [place, said] of answers.entries()) {
        expect(said).toMatch(pair[place]?.[2] ?? /never/);
        expect(said).toMatch(/what to do: it can say: score/);
      }
    }
  });

  for (const model of ['yolov5n_fp16', 'yolox_nano', 'yolo26n_640_int8dyn_end2end']) {
    const path = testData(`models/${model}.onnx`);
    it.skipIf(path === undefined)(
      `${model} has no box variance, and says so (skipped without the test data)`,
      async () => {
        const said = await refusal(path ?? '', 'uncertainty=box');
        expect(said).toMatch(/gives no variance of its boxes: .+\n.*it can say: score; uncertainty=auto/);
      },
    );
  }
});
