// Before and after the network, through the whole command line: the same box whatever carries the picture, colours in
// their order, suppression at its boundaries, limits that are said, and boxes that stay inside the picture.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromRgb, rectanglePixels } from '../data/images/pictures.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { farthestSide, RunFolder, solidPng } from '../support/run-folder.ts';
import { channelMeanProbe, constantDetector, type KnownBox, whiteBoxProbe } from '../support/tiny-models.ts';

const folder = new RunFolder();

afterAll(() => folder.remove());

/** A box by its corners. */
function box(x1: number, y1: number, x2: number, y2: number, classId: number, score: number): KnownBox {
  return { cx: (x1 + x2) / 2, cy: (y1 + y2) / 2, w: x2 - x1, h: y2 - y1, classId, score };
}

function ffmpeg(...words: string[]): void {
  execFileSync('ffmpeg', ['-v', 'error', ...words]);
}

describe.skipIf(!ffmpegAvailable)(`a picture and a clip of it${ffmpegNote}`, () => {
  it('give the same box within 1 px, at every size of the input', async () => {
    const sizes = [
      { name: 'large', size: { width: 640, height: 360 }, white: { x1: 200, y1: 100, x2: 440, y2: 260 } },
      { name: 'small', size: { width: 96, height: 64 }, white: { x1: 8, y1: 8, x2: 40, y2: 24 } },
    ];
    for (const { name, size, white } of sizes) {
      const picture = await folder.write(
        `same/${name}.png`,
        await fromRgb(rectanglePixels(size, white), size).png().toBuffer(),
      );
      ffmpeg('-i', picture, '-c:v', 'ffv1', '-pix_fmt', 'yuv420p', folder.join(`same/${name}.mkv`));
    }
    for (const side of [128, 640]) {
      await folder.writeModel(`probe${side}.onnx`, whiteBoxProbe({ width: side, height: side }));
      const { lines } = await folder.predict('source=same', `model=probe${side}.onnx`);
      expect(lines).toHaveLength(4);
      for (const [place, { size, white }] of sizes.entries()) {
        const boxes = [0, 1].map((kind) => {
          const line = lines[place * 2 + kind];
          expect(line).toMatchObject(size);
          return line?.detections[0]?.box ?? { x1: 0, y1: 0, x2: 0, y2: 0 };
        });
        // A px of the input that the edge only half covers is not white to the probe.
        const inputPx = Math.max(size.width, size.height) / side;
        for (const found of boxes)
          expect(farthestSide(found, white), `${side}`).toBeLessThanOrEqual(Math.max(1, inputPx));
        const [ofClip, ofPicture] = boxes;
        if (ofClip && ofPicture) expect(farthestSide(ofClip, ofPicture)).toBeLessThan(1);
      }
    }
  });

  it('keep red, green and blue in their places and in 0..1', async () => {
    const colours = [
      [200, 40, 10],
      [40, 200, 10],
      [10, 40, 200],
    ] as const;
    const size = { width: 64, height: 64 };
    for (const [index, colour] of colours.entries())
      await folder.write(`colours/${index}.png`, await solidPng(size, colour));
    ffmpeg(
      ...['-framerate', '3', '-i', folder.join('colours/%d.png')],
      ...['-c:v', 'libx264', '-crf', '10', '-pix_fmt', 'yuv420p', folder.join('colours/clip.mp4')],
    );
    await folder.writeModel('colours.onnx', channelMeanProbe(size));
    const { lines } = await folder.predict('source=colours', 'model=colours.onnx');
    expect(lines.map(({ detections }) => detections.map(({ name }) => name))).toEqual(
      ['red', 'green', 'blue', 'red', 'green', 'blue'].map((name) => [name]),
    );
    for (const [index, { detections }] of lines.entries()) {
      const tolerance = index < 3 ? 0.02 : 0.05;
      expect(Math.abs((detections[0]?.confidence ?? 0) - 0.78)).toBeLessThanOrEqual(tolerance);
    }
    const turned = await folder.predict('source=colours/0.png', 'model=colours.onnx', 'preprocess=bgr');
    expect(turned.lines[0]?.detections[0]?.name).toBe('blue');
  });
});

describe('suppression', () => {
  const input = { width: 320, height: 320 };

  beforeAll(async () => {
    await folder.write('plain.png', await solidPng(input, [24, 24, 24]));
  });

  const namesOf = (lines: readonly { detections: readonly { name: string; confidence: number }[] }[]) =>
    lines[0]?.detections.map(({ name, confidence }) => `${name} ${confidence}`);

  it('acts within a class, above the threshold and not at it, or across classes where asked', async () => {
    const boxes = [
      box(0, 0, 100, 40, 0, 0.9), // A
      box(0, 0, 90, 40, 1, 0.8), // B: IoU 0.9 with A, another class
      box(0, 100, 100, 140, 0, 0.7),
      box(0, 100, 44, 140, 0, 0.65), // C: IoU 0.44
      box(0, 200, 100, 240, 0, 0.6),
      box(0, 200, 46, 240, 0, 0.55), // D: IoU 0.46
      box(160, 0, 200, 40, 1, 0.5),
      box(160, 0, 200, 18, 1, 0.45), // E: IoU 0.45
    ];
    await folder.writeModel('overlap.onnx', constantDetector({ kind: 'yolov8', input, boxes }));
    const words = ['source=plain.png', 'model=overlap.onnx'];
    const [within, across, again] = await Promise.all([
      folder.predict(...words, 'iou=0.45'),
      folder.predict(...words, 'iou=0.45', 'agnostic_nms=True'),
      folder.predict(...words, 'iou=0.45'),
    ]);
    const kept = ['car 0.9', 'person 0.8', 'car 0.7', 'car 0.65', 'car 0.6', 'person 0.5'];
    // E sits at 0.45 within float32, on which side is the arithmetic's; the exact half below tells "equal" apart.
    expect(namesOf(within.lines)?.filter((name) => name !== 'person 0.45')).toEqual(kept);
    expect(namesOf(across.lines)).not.toContain('person 0.8');
    expect(again.lines).toEqual(within.lines);
    const half = [box(0, 0, 64, 64, 0, 0.9), box(0, 0, 64, 32, 0, 0.8), box(96, 0, 160, 64, 0, 0.7)];
    await folder.writeModel('half.onnx', constantDetector({ kind: 'yolov8', input, boxes: half }));
    const [equal, above] = await Promise.all([
      folder.predict('source=plain.png', 'model=half.onnx', 'iou=0.5'),
      folder.predict('source=plain.png', 'model=half.onnx', 'iou=0.49'),
    ]);
    expect(namesOf(equal.lines)).toEqual(['car 0.9', 'car 0.8', 'car 0.7']);
    expect(namesOf(above.lines)).toEqual(['car 0.9', 'car 0.7']);
  });

  it('keeps 1000 disjoint boxes where max_det allows them, and says where it does not', async () => {
    const boxes = Array.from({ length: 1000 }, (_, index) => {
      const [x, y] = [(index % 40) * 8, Math.floor(index / 40) * 8];
      return box(x, y, x + 6, y + 6, index % 2, 0.5);
    });
    await folder.writeModel('crowd.onnx', constantDetector({ kind: 'yolov8', input, boxes }));
    const words = ['source=plain.png', 'model=crowd.onnx'];
    const [limited, all] = await Promise.all([
      folder.predict(...words),
      folder.predict(...words, 'max_det=1000'),
    ]);
    expect(limited.lines[0]?.detections).toHaveLength(300);
    expect(limited.stderr).toMatch(/max_det reached in 1 frame/);
    expect(all.lines[0]?.detections).toHaveLength(1000);
    // Equal scores keep the order of the model's rows.
    expect(limited.lines[0]?.detections).toEqual(all.lines[0]?.detections.slice(0, 300));
    expect(limited.lines[0]?.detections[1]?.box).toEqual({ x1: 8, y1: 0, x2: 14, y2: 6 });
  });

  it('holds classes apart on a picture of 8000 px', async () => {
    const wide = { width: 8000, height: 64 };
    const boxes = [
      box(0, 10, 40, 50, 1, 0.9),
      box(4096, 10, 4136, 50, 0, 0.8),
      box(7680, 10, 7720, 50, 0, 0.7),
      box(7960, 10, 8000, 50, 1, 0.6),
    ];
    await folder.writeModel('wide.onnx', constantDetector({ kind: 'yolov8', input: wide, boxes }));
    await folder.write('wide.png', await solidPng(wide, [0, 0, 0]));
    const { lines } = await folder.predict('source=wide.png', 'model=wide.onnx');
    expect(lines[0]?.detections.map(({ box: found }) => found.x1)).toEqual([0, 4096, 7680, 7960]);
  });
});

describe('boxes that leave the picture', () => {
  it('are clipped to it or dropped, and written labels read back without complaint', async () => {
    const boxes = [
      box(-20, -10, 30, 30, 0, 0.9),
      box(50, 50, 90, 90, 1, 0.8),
      box(5, 2, 25, 12, 0, 0.7), // in the padding of a 64x32 picture
      box(64, 20, 80, 40, 0, 0.6), // wholly outside; touches the edge
    ];
    const size = { width: 64, height: 64 };
    await folder.writeModel('outside.onnx', constantDetector({ kind: 'yolov8', input: size, boxes }));
    await folder.write('sizes/a.png', await solidPng(size, [0, 0, 0]));
    await folder.write('sizes/b.png', await solidPng({ width: 64, height: 32 }, [0, 0, 0]));
    const { lines } = await folder.predict('source=sizes', 'model=outside.onnx', 'save_txt=True');
    expect(lines[0]?.detections.map(({ box: found }) => found)).toEqual([
      { x1: 0, y1: 0, x2: 30, y2: 30 },
      { x1: 50, y1: 50, x2: 64, y2: 64 },
      { x1: 5, y1: 2, x2: 25, y2: 12 },
    ]);
    expect(lines[1]?.detections.map(({ box: found }) => found)).toEqual([{ x1: 0, y1: 0, x2: 30, y2: 14 }]);
    const rows = ['a', 'b'].flatMap((name) =>
      readFileSync(folder.join(`runs/detect/predict/labels/${name}.txt`), 'utf8')
        .trim()
        .split('\n'),
    );
    expect(rows).toHaveLength(4);
    for (const row of rows) {
      const [classId, cx = 0, cy = 0, w = 0, h = 0] = row.split(' ').map(Number);
      expect([0, 1]).toContain(classId);
      expect(Math.min(w, h, cx - w / 2 + 1e-6, cy - h / 2 + 1e-6)).toBeGreaterThan(0);
      expect(Math.max(cx + w / 2, cy + h / 2)).toBeLessThanOrEqual(1 + 1e-6);
    }
  });
});

describe('a model that gives no numbers', () => {
  it('is said to, and its other boxes stay', async () => {
    await folder.write('nan/grey.png', await solidPng({ width: 96, height: 96 }, [99, 99, 99]));
    const boxes = [box(10, 10, 40, 40, 0, Number.NaN), box(50, 50, 90, 90, 1, 0.8)];
    await folder.writeModel('nan.onnx', constantDetector({ kind: 'yolov8', boxes }));
    const { lines, stderr } = await folder.predict('source=nan', 'model=nan.onnx');
    expect(lines[0]?.detections.map(({ confidence }) => confidence)).toEqual([0.8]);
    expect(stderr).toMatch(/NaN or infinite values from the model in 1 frame \(a broken export\?\)/);
  });
});
